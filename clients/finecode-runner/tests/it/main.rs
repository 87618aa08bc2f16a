//! The library as a manager sees it.

#[cfg(test)]
mod served;
