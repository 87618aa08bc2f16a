//! Reads JSON that users and many programs write, as leniently as they need and no more.
//!
//! * Names of members match without regard to case, and unknown members are ignored.
//! * Numbers may be given as text.
//! * A member that is `null` counts as absent; absent or `null` params count as `{}`.
//! * A known member of the wrong type is an error that a user can read.
//!
//! The member names come from a type's `Deserialize`, so the rules apply at every level of typed JSON. They do not
//! apply inside raw JSON (`serde_json::value::RawValue`) or to a map's own keys.
//!
//! There is no separate fast way: matching names while reading costs as much as a check whether they need it. Recursion
//! is as deep as the type, never as deep as the input.

mod error;
mod read;
mod value;

pub use error::DecodeError;
pub use read::{lenient, params, result, tag};

#[cfg(test)]
mod tests;
