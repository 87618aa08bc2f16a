//! The policy that judges an agent's calls by the rules of users.
//!
//! `bobbin-rules` judges texts. This crate knows the disk: where a path leads, which places belong to git and the server, which
//! programs the agent may write, whether git is safe to run here, which files usually have secrets. Tools resolve paths
//! with the same functions, so that a path means the same to a command and to a tool. Reads names and small files only.

mod contents;
mod programs;
mod refused;
pub mod repository;
mod reserved;
mod rules_policy;
mod ruling;
mod run_later;
mod secrets;
pub mod settings;
#[cfg(test)]
mod shells_tests;
mod shown;
mod trace;

pub use programs::Programs;
pub use reserved::{Reserved, ordinary};
pub use rules_policy::RulesPolicy;
pub use ruling::ruling;
pub use shown::{Hidden, Shown};
pub use trace::{Trace, TraceStatus, resolve, trace};
