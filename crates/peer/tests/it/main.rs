//! The peer over real streams.

#[cfg(test)]
mod connection;
#[cfg(test)]
mod smoke;
