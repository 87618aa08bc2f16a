//! Profiles as clients meet them, over the wire.

#[cfg(test)]
mod methods;
