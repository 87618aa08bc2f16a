//! Reading JSON that people and many programs write, as leniently as they need and no more.
//!
//! Names of members match without regard to case, numbers may come as text, absent or `null` params count as `{}`, a
//! member that is `null` counts as absent, unknown members are ignored, and a known member of the wrong type is an
//! error that a person can read. The names of a type are known from its `Deserialize`, so the rules hold at every
//! level of typed JSON, and nowhere inside raw JSON (`serde_json::value::RawValue`) or a map's own keys.
//!
//! There is one way through, not a fast one and a tolerant one: matching names while reading costs as much as finding
//! out whether they need matching. Recursion is as deep as the type, never as deep as the input.

mod error;
mod read;
mod value;

pub use error::DecodeError;
pub use read::{lenient, params, result, tag};
