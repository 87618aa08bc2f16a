//! `policy/explain` and `approval/rules/*`: the outcome of commands by the rules, and the user's standing permissions.

pub mod types;
