//! A running server, made of all other crates. It opens a workspace, wires its parts, listens, and ends in order.
//!
//! The command line is `cli`. This crate parses no subcommand. It reads the environment for both.

mod alerts;
pub mod attach;
pub mod config;
pub mod config_files;
mod confine;
pub mod console;
pub mod database;
pub mod doctor;
pub mod eca;
pub mod environment;
pub mod exit;
pub mod finecode;
mod groups;
pub mod held_sockets;
pub mod hermes;
mod hooks;
mod lease;
pub mod listen;
mod listeners;
mod local;
pub mod managed;
pub mod models;
pub mod opened;
mod page_origin;
mod pages;
mod plugins;
mod profiles;
mod prompts;
pub mod sandbox;
pub mod server;
pub mod shell;
pub mod signals;
mod small_requests;
pub mod state;
pub mod telemetry;
pub mod token;
pub mod trust;
pub mod undo;
