//! The client against a server in memory.

#[cfg(test)]
mod cuts;
