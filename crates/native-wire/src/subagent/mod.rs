//! `subagent/*`: the Threads that a Turn of another Thread started (AppServer protocol 05 §10.2).

pub mod types;
