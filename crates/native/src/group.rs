//! Method groups: the parts of a group, and tables of groups.
//!
//! A group is a value (`Group`) in a folder of its own. A crate offers a table of its groups, and the server joins the
//! tables ([`Groups`]). Coverage tests and `proto-schema/` are made from the same tables.

use std::borrow::Cow;
use std::fmt;

use bobbin_core::{Broadcast, WireMessage};
use bobbin_model::UnixMillis;
use bobbin_peer::PeerHandle;
use futures_util::future::BoxFuture;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::call::{Call, Notified};
use crate::client::Client;
use crate::connection::{Endpoint, Server};
use crate::wire::{ClientCapabilities, ErrorCode, ServerCapabilities};

/// One method group.
pub struct Group {
    /// Its methods and notifications, in both directions.
    pub methods: &'static [Method],
    /// Adds the group's capabilities to the answer to `initialize`.
    pub capabilities: fn(&Server, &mut ServerCapabilities),
    /// Returns the notifications that a client with these capabilities does not receive.
    pub unwanted: fn(&ClientCapabilities) -> Vec<&'static str>,
    /// Called once for each client, after `initialize` is answered. Only this hook can refuse a client before its
    /// handshake is done.
    pub greeted: fn(&Server, &ClientCapabilities, &Endpoint, &PeerHandle),
    /// Called once for each client, after its handshake.
    pub ready: fn(&Client),
    /// Returns the notification of a broadcast, if the broadcast is of this group.
    pub broadcast: fn(&Broadcast, UnixMillis) -> Option<WireMessage>,
}

impl Group {
    /// A group without any part.
    pub const EMPTY: Self = Self {
        methods: &[],
        capabilities: |_, _| {},
        unwanted: |_| Vec::new(),
        greeted: |_, _, _, _| {},
        ready: |_| {},
        broadcast: |_, _| None,
    };
}

/// The groups that a server has: the tables of several crates, joined.
#[derive(Clone)]
pub struct Groups(Vec<&'static Group>);

impl Groups {
    /// Joins tables of groups.
    pub fn of(tables: &[&[&'static Group]]) -> Self {
        Self(tables.concat())
    }

    /// Returns the groups.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static Group> {
        self.0.iter().copied()
    }

    /// Returns every method.
    pub fn methods(&self) -> impl Iterator<Item = &'static Method> {
        self.iter().flat_map(|group| group.methods)
    }

    /// Returns the row for a name and a direction.
    pub fn find(&self, direction: Direction, name: &str) -> Option<&'static Method> {
        self.methods()
            .find(|method| method.direction == direction && method.name == name)
    }

    /// Returns the notifications that a client with these capabilities does not receive.
    pub fn unwanted(&self, capabilities: &ClientCapabilities) -> Vec<&'static str> {
        self.iter()
            .flat_map(|group| (group.unwanted)(capabilities))
            .collect()
    }

    /// Returns the notification of a broadcast, if one of the groups knows it.
    pub(crate) fn broadcast(&self, news: &Broadcast, at: UnixMillis) -> Option<WireMessage> {
        self.iter().find_map(|group| (group.broadcast)(news, at))
    }
}

/// The sender of a message, and whether it is answered.
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

/// Whether this server serves a method already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Availability {
    /// This version serves it.
    Now,
    /// The shape is final; the server does not serve it yet.
    Later,
}

/// Serves one request.
type Serve = for<'a> fn(Call<'a>) -> BoxFuture<'a, ()>;
/// Serves one notification of a client.
type Take = for<'a> fn(Notified<'a>) -> BoxFuture<'a, ()>;

/// One row of a group.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Its name on the wire.
    pub name: &'static str,
    /// The sender.
    pub direction: Direction,
    /// Whether this version serves it.
    pub availability: Availability,
    /// One or a few sentences.
    pub summary: &'static str,
    /// The type of the params.
    pub params: Shape,
    /// The type of the result, if the method is answered.
    pub result: Option<Shape>,
    /// The method's own errors. Errors that any request may get are in [`COMMON_ERRORS`].
    pub errors: &'static [ErrorCode],
    pub(crate) serve: Option<Serve>,
    pub(crate) take: Option<Take>,
}

/// Makes the rows of a group: kind (a constructor of [`Method`]), name, types of the wire, errors, how it is served,
/// sentence.
///
/// `wait handler` and `now handler` are [`Call::wait`] and [`Call::now`]. `now_with(prompts) handler` serves with a
/// field of [`Services`](bobbin_agent_api::Services), and `now_with(of Feature) handler` with a feature of another
/// crate.
#[macro_export]
macro_rules! rows {
    (@serve $how:ident $handler:path) => { |call| call.$how($handler) };
    (@serve $how:ident (of $feature:ty) $handler:path) => {
        |call| call.$how(|services| services.others.get::<$feature>(), $handler)
    };
    (@serve $how:ident ($service:ident) $handler:path) => {
        |call| call.$how(|services| services.$service.as_ref(), $handler)
    };
    ($($(@$later:ident)? $kind:ident $name:tt ($($type:ty)=>+)
        $([$($error:ident),*])? $($how:ident $(($($service:tt)+))? $handler:path)?: $summary:literal;)+) => {
        &[$($crate::group::Method::$kind::<$($type),+>(
            $name,
            $summary
            $(, &[$($crate::wire::ErrorCode::$error),*])?
            $(, $crate::rows!(@serve $how $(($($service)+))? $handler))?
        )$(.$later())?),+]
    };
}
pub use rows;

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
    /// A request of a client.
    pub const fn request<P: JsonSchema, R: JsonSchema>(
        name: &'static str,
        summary: &'static str,
        errors: &'static [ErrorCode],
        serve: Serve,
    ) -> Self {
        Self {
            errors,
            result: Some(Shape::of::<R>()),
            serve: Some(serve),
            ..Self::row::<P>(Direction::Request, name, summary)
        }
    }

    /// The request that the connection serves before there is a [`Client`].
    pub(crate) const fn first_request<P: JsonSchema, R: JsonSchema>(
        name: &'static str,
        summary: &'static str,
        errors: &'static [ErrorCode],
    ) -> Self {
        Self {
            errors,
            result: Some(Shape::of::<R>()),
            ..Self::row::<P>(Direction::Request, name, summary)
        }
    }

    /// A notification of a client.
    pub const fn client_notification<P: JsonSchema>(
        name: &'static str,
        summary: &'static str,
        take: Take,
    ) -> Self {
        Self {
            take: Some(take),
            ..Self::first_notification::<P>(name, summary)
        }
    }

    /// A notification that the connection or the peer processes itself.
    pub(crate) const fn first_notification<P: JsonSchema>(name: &'static str, summary: &'static str) -> Self {
        Self::row::<P>(Direction::ClientNotification, name, summary)
    }

    /// A notification of the server.
    pub const fn notification<P: JsonSchema>(name: &'static str, summary: &'static str) -> Self {
        Self::row::<P>(Direction::Notification, name, summary)
    }

    /// A request of the server.
    pub const fn server_request<P: JsonSchema, R: JsonSchema>(
        name: &'static str,
        summary: &'static str,
    ) -> Self {
        Self {
            result: Some(Shape::of::<R>()),
            ..Self::row::<P>(Direction::ServerRequest, name, summary)
        }
    }

    /// Returns the same row, marked as not served yet.
    #[must_use]
    pub const fn later(self) -> Self {
        Self {
            availability: Availability::Later,
            ..self
        }
    }

    const fn row<P: JsonSchema>(direction: Direction, name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            direction,
            availability: Availability::Now,
            summary,
            params: Shape::of::<P>(),
            result: None,
            errors: &[],
            serve: None,
            take: None,
        }
    }
}

/// A type of the wire, as a schema needs it.
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

    /// Returns the type's schema. Types that it mentions go into the generator's definitions.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}
