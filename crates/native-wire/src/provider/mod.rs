//! `provider/*`: the providers of models (AppServer protocol 07 §8.6).

pub mod types;
