//! `workspace/trust/*`: the items of the folder that need trust, and the user's decision.

pub mod types;
