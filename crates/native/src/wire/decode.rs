//! Reads messages of clients, as leniently as AppServer protocol 01 §1 and §1.1 require.

pub use crate::lenient::{DecodeError, lenient, params, result, tag};

#[cfg(test)]
mod tests;
