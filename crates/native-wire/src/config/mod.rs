//! `workspace/config/*`: the settings of configuration files (AppServer protocol 05 §11).

pub mod types;
