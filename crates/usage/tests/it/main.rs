//! The group over a real core and a real database.

#[cfg(test)]
mod usage;
