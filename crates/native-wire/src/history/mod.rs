//! History: searching it, a Turn's pictures and changes, undoing these, and a fork as a Thread of its own.

pub mod types;
