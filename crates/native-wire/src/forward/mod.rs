//! `forward/*`: ports of a Thread's commands on the machine's loopback. Served if commands can have their own network.

pub mod types;
