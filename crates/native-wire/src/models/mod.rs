//! `model/list`: the models that a Thread can use (AppServer protocol 05 §7).

pub mod types;
