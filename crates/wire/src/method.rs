//! The table of methods: names, shapes and errors, each method one row.
//!
//! The name constants, the tests of coverage and `proto-schema/` are all made from the table in `table.rs`;
//! nothing about a method is said twice.

mod table;

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::ErrorCode;

pub use table::{METHODS, client_notification, notification, request, server_request};

/// Who sends a message, and whether it wants an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Client to server, answered.
    Request,
    /// Client to server, not answered.
    ClientNotification,
    /// Server to client, not answered.
    Notification,
    /// Server to client, answered.
    ServerRequest,
}

/// Whether this server does it already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Availability {
    /// This version serves it.
    Now,
    /// The shape is settled, the server does not serve it yet.
    Later,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Its name on the wire.
    pub name: &'static str,
    /// Who sends it.
    pub direction: Direction,
    /// Whether this version serves it.
    pub availability: Availability,
    /// One or a few sentences.
    pub summary: &'static str,
    /// What is sent.
    pub params: Shape,
    /// What is answered, when it is.
    pub result: Option<Shape>,
    /// The errors of its own. The ones that any request may get are [`COMMON_ERRORS`].
    pub errors: &'static [ErrorCode],
}

/// Errors that any request of a client may get.
pub const COMMON_ERRORS: &[ErrorCode] = &[
    ErrorCode::InvalidRequest,
    ErrorCode::MethodNotFound,
    ErrorCode::InvalidParams,
    ErrorCode::InternalError,
    ErrorCode::Overloaded,
    ErrorCode::NotInitialized,
];

impl Method {
    /// Returns the row for a name and a direction.
    pub fn find(direction: Direction, name: &str) -> Option<&'static Self> {
        METHODS
            .iter()
            .find(|method| method.direction == direction && method.name == name)
    }
}

/// A type of the wire, as far as a schema needs it.
#[derive(Clone, Copy)]
pub struct Shape {
    name: fn() -> Cow<'static, str>,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

impl Shape {
    const fn of<T: JsonSchema>() -> Self {
        Self {
            name: T::schema_name,
            schema: T::json_schema,
        }
    }

    /// Returns the type's name.
    pub fn name(&self) -> Cow<'static, str> {
        (self.name)()
    }

    /// Returns the type's schema; types that it mentions go into the generator's definitions.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(test)]
mod tests;
