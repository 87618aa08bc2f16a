//! Method groups: the parts of a group, and tables of groups.
//!
//! A group is a value (`Group`) in a folder of its own. A crate offers a table of its groups, and the server joins the
//! tables ([`Groups`]). Coverage tests and `proto-schema/` are made from the same tables.

pub mod need;
pub mod page;

use std::borrow::Cow;
use std::fmt;

use bobbin_core::{Broadcast, WireMessage};
use bobbin_model::UnixMillis;
use bobbin_native_wire::handshake::capabilities::{ClientCapabilities, ServerCapabilities};
use bobbin_peer::PeerHandle;
use futures_util::future::BoxFuture;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use self::need::{Member, Need};
use self::page::Page;
use crate::call::{Call, Notified};
use crate::client::Client;
use crate::connection::{Endpoint, Server};
#[doc(hidden)]
pub use bobbin_native_wire::ErrorCode;

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

    /// Returns the notifications of a broadcast, in the order of the groups that know it.
    pub(crate) fn broadcast<'a>(
        &'a self,
        news: &'a Broadcast,
        at: UnixMillis,
    ) -> impl Iterator<Item = WireMessage> + 'a {
        self.iter().filter_map(move |group| (group.broadcast)(news, at))
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

/// The share of a method that this server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Availability {
    /// All.
    Whole,
    /// The method, without the parts that its note names.
    Partial,
    /// Its final shape; the server does not serve it yet.
    Later,
}

/// Serves one request.
type Serve = for<'a> fn(Call<'a>) -> BoxFuture<'a, ()>;
/// Serves one notification of a client.
type Take = for<'a> fn(Notified<'a>) -> BoxFuture<'a, ()>;

/// One row of a group.
///
/// The schema, the reference and the page of the protocol's coverage are printed from rows. The example of a method is
/// the first message of that name in a play of `tests/server/protocol/plays`.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Its name on the wire.
    pub name: &'static str,
    /// The sender.
    pub direction: Direction,
    /// The share of it that this version has.
    pub availability: Availability,
    /// One or a few sentences.
    pub summary: &'static str,
    /// The type of the params.
    pub params: Shape,
    /// The type of the result, if the method is answered.
    pub result: Option<Shape>,
    /// The method's own errors. Errors that any request may get are in [`COMMON_ERRORS`].
    pub errors: &'static [ErrorCode],
    /// The right that the client needs: to send it, to be sent it, or to answer it.
    pub need: Need,
    /// Members of the params that need another right.
    pub members: &'static [Member],
    /// Its page in the reference.
    pub page: Page,
    /// The capability of the server that announces it.
    pub capability: Option<&'static str>,
    /// The section of the AppServer protocol that has it; none for an extension.
    pub spec: Option<&'static str>,
    /// The missing parts, or what else a client should know. Empty if there is nothing to say.
    pub note: &'static str,
    /// A test that shows it, as `crate/file: function`.
    pub test: Option<&'static str>,
    /// The reason why no play shows it.
    pub unplayed: Option<&'static str>,
    pub(crate) serve: Option<Serve>,
    pub(crate) take: Option<Take>,
}

/// Makes the rows of a group: its page and capability, then kind (a constructor of [`Method`]), name, types of the
/// wire, errors, how it is served, what it needs, sentence, and further facts by the methods of [`Method`].
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
    ($page:expr, $capability:expr; $(
        $(@$later:ident)? $kind:ident $name:tt ($($type:ty)=>+)
        $([$($error:ident),*])? $($how:ident $(($($service:tt)+))? $handler:path)? $(, needs $need:ident)?:
        $summary:literal $(, $fact:ident $value:expr)*;
    )+) => {
        &[$($crate::group::Method::$kind::<$($type),+>(
            $name,
            $summary
            $(, &[$($crate::group::ErrorCode::$error),*])?
            $(, $crate::rows!(@serve $how $(($($service)+))? $handler))?
            $(, $crate::group::need::Need::$need)?
        ).page($page).capability($capability)$(.$fact($value))*$(.$later())?),+]
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
    ErrorCode::Forbidden,
];

impl Method {
    /// A request of a client.
    pub const fn request<P: JsonSchema, R: JsonSchema>(
        name: &'static str,
        summary: &'static str,
        errors: &'static [ErrorCode],
        serve: Serve,
        need: Need,
    ) -> Self {
        Self {
            errors,
            result: Some(Shape::of::<R>()),
            serve: Some(serve),
            ..Self::row::<P>(Direction::Request, name, summary, need)
        }
    }

    /// The request that the connection serves before there is a [`Client`].
    pub(crate) const fn first_request<P: JsonSchema, R: JsonSchema>(
        name: &'static str,
        summary: &'static str,
        errors: &'static [ErrorCode],
        need: Need,
    ) -> Self {
        Self {
            errors,
            result: Some(Shape::of::<R>()),
            ..Self::row::<P>(Direction::Request, name, summary, need)
        }
    }

    /// A notification of a client.
    pub const fn client_notification<P: JsonSchema>(
        name: &'static str,
        summary: &'static str,
        take: Take,
        need: Need,
    ) -> Self {
        Self {
            take: Some(take),
            ..Self::first_notification::<P>(name, summary, need)
        }
    }

    /// A notification that the connection or the peer processes itself.
    pub(crate) const fn first_notification<P: JsonSchema>(
        name: &'static str,
        summary: &'static str,
        need: Need,
    ) -> Self {
        Self::row::<P>(Direction::ClientNotification, name, summary, need)
    }

    /// A notification of the server. A client that may read is sent it.
    pub const fn notification<P: JsonSchema>(name: &'static str, summary: &'static str) -> Self {
        Self::row::<P>(Direction::Notification, name, summary, Need::Read)
    }

    /// A request of the server.
    pub const fn server_request<P: JsonSchema, R: JsonSchema>(
        name: &'static str,
        summary: &'static str,
        need: Need,
    ) -> Self {
        Self {
            result: Some(Shape::of::<R>()),
            ..Self::row::<P>(Direction::ServerRequest, name, summary, need)
        }
    }

    const fn row<P: JsonSchema>(
        direction: Direction,
        name: &'static str,
        summary: &'static str,
        need: Need,
    ) -> Self {
        Self {
            name,
            direction,
            availability: Availability::Whole,
            summary,
            params: Shape::of::<P>(),
            result: None,
            errors: &[],
            need,
            members: &[],
            page: Page::CONNECTION,
            capability: None,
            spec: None,
            note: "",
            test: None,
            unplayed: None,
            serve: None,
            take: None,
        }
    }
}

/// Facts of a row.
impl Method {
    /// Sets its page in the reference.
    #[must_use]
    pub const fn page(self, page: Page) -> Self {
        Self { page, ..self }
    }

    /// Sets the capability of the server that announces it.
    #[must_use]
    pub const fn capability(self, capability: Option<&'static str>) -> Self {
        Self { capability, ..self }
    }

    /// Sets the members of the params that need another right.
    #[must_use]
    pub const fn members(self, members: &'static [Member]) -> Self {
        Self { members, ..self }
    }

    /// Sets the section of the AppServer protocol that has it.
    #[must_use]
    pub const fn spec(self, spec: &'static str) -> Self {
        Self {
            spec: Some(spec),
            ..self
        }
    }

    /// Names a test that shows it.
    #[must_use]
    pub const fn test(self, test: &'static str) -> Self {
        Self {
            test: Some(test),
            ..self
        }
    }

    /// Gives the reason why no play shows it.
    #[must_use]
    pub const fn unplayed(self, unplayed: &'static str) -> Self {
        Self {
            unplayed: Some(unplayed),
            ..self
        }
    }

    /// Says what else a client should know.
    #[must_use]
    pub const fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// Says what is missing.
    #[must_use]
    pub const fn partial(self, missing: &'static str) -> Self {
        Self {
            availability: Availability::Partial,
            note: missing,
            ..self
        }
    }

    /// Marks it as not served yet.
    #[must_use]
    pub const fn later(self) -> Self {
        Self {
            availability: Availability::Later,
            ..self
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
