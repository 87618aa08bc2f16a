//! Bobbin.
fn main() {}
