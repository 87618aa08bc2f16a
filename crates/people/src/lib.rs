//! The people to whom the user of a server has given roles: their record, and who of them is connected.
//!
//! [`PeopleFile`] is `people.json` in the user's state directory, with roles and digests of tokens. [`People`] reads it for a
//! listener, and ends the connections of people whom the record no longer has. The user's own token is not in it.
//!
//! Knows no method: what a role may do is said by the tables of the dialects.

mod file;
mod people;

pub use file::{PeopleError, PeopleFile, PersonRecord, TokenRecord};
pub use people::{People, Scope};
