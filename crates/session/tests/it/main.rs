//! A Session between a core over a real store and a client in memory that reads when a test says so.

#[cfg(test)]
mod cursors;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod support;
