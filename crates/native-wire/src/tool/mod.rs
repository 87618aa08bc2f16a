//! `tool/list`: the tools that the server brings (AppServer protocol 07 §8.1).

pub mod types;
