//! The peer over real streams.

#[cfg(test)]
mod connection;
