//! Method groups: what a group has, and how a request finds its handler.
//!
//! A group is a value (`Group`) in a folder of its own under `groups`; the one list there is all that knows it. The
//! coverage tests and `proto-schema/` are made from its rows.

use std::borrow::Cow;
use std::fmt;

use bobbin_agent_api::Services;
use bobbin_core::{Broadcast, WireMessage};
use bobbin_model::UnixMillis;
use bobbin_peer::{CallContext, Responder};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use crate::client::{Client, refuse};
use crate::connection::Server;
use crate::groups::GROUPS;
use crate::wire::{ErrorCode, RpcError, ServerCapabilities, decode};

/// One method group.
pub(crate) struct Group {
    /// Its methods and notifications, in both directions.
    pub(crate) methods: &'static [Method],
    /// Says in `initialize` what of the group this server has.
    pub(crate) capabilities: fn(&Server, &mut ServerCapabilities),
    /// Returns the notification of a broadcast, if the broadcast is of this group.
    pub(crate) broadcast: fn(&Broadcast, UnixMillis) -> Option<WireMessage>,
}

impl Group {
    /// A group without anything.
    pub(crate) const EMPTY: Self = Self {
        methods: &[],
        capabilities: |_, _| {},
        broadcast: |_, _| None,
    };
}

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

/// Serves one request.
type Serve = for<'a> fn(Call<'a>) -> BoxFuture<'a, ()>;

/// One row of a group.
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
    serve: Option<Serve>,
}

/// The rows of a group: kind (a constructor of [`Method`]), name, types of the wire, errors, how it is served, sentence.
macro_rules! rows {
    (@serve $how:ident $handler:path) => { |call| call.$how($handler) };
    (@serve $how:ident ($service:ident) $handler:path) => {
        |call| call.$how(|of| of.$service.as_ref(), $handler)
    };
    ($($(@$later:ident)? $kind:ident $name:tt ($($type:ident)=>+)
        $([$($error:ident),*])? $($how:ident $(($service:ident))? $handler:path)?: $summary:literal;)+) => {
        &[$($crate::group::Method::$kind::<$($crate::wire::$type),+>(
            $name,
            $summary
            $(, &[$($crate::wire::ErrorCode::$error),*])?
            $(, rows!(@serve $how $(($service))? $handler))?
        )$(.$later())?),+]
    };
}
pub(crate) use rows;

/// Errors that any request of a client may get.
pub const COMMON_ERRORS: &[ErrorCode] = &[
    ErrorCode::InvalidRequest,
    ErrorCode::MethodNotFound,
    ErrorCode::InvalidParams,
    ErrorCode::InternalError,
    ErrorCode::Overloaded,
    ErrorCode::NotInitialized,
];

/// Returns every method of the protocol.
pub fn methods() -> impl Iterator<Item = &'static Method> {
    GROUPS.iter().flat_map(|group| group.methods)
}

impl Method {
    /// A request of a client.
    pub(crate) const fn request<P: JsonSchema, R: JsonSchema>(
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
    pub(crate) const fn client_notification<P: JsonSchema>(
        name: &'static str,
        summary: &'static str,
    ) -> Self {
        Self::row::<P>(Direction::ClientNotification, name, summary)
    }

    /// A notification of the server.
    pub(crate) const fn notification<P: JsonSchema>(name: &'static str, summary: &'static str) -> Self {
        Self::row::<P>(Direction::Notification, name, summary)
    }

    /// A request of the server.
    pub(crate) const fn server_request<P: JsonSchema, R: JsonSchema>(
        name: &'static str,
        summary: &'static str,
    ) -> Self {
        Self {
            result: Some(Shape::of::<R>()),
            ..Self::row::<P>(Direction::ServerRequest, name, summary)
        }
    }

    /// The same row, whose shape is settled and which the server does not serve yet.
    pub(crate) const fn later(self) -> Self {
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
        }
    }

    /// Returns the row for a name and a direction.
    pub fn find(direction: Direction, name: &str) -> Option<&'static Self> {
        methods().find(|method| method.direction == direction && method.name == name)
    }
}

/// One request on its way to its handler.
pub(crate) struct Call<'a> {
    client: &'a Client,
    request: &'a CallContext,
    responder: Responder,
}

impl<'a> Call<'a> {
    /// Hands a request to the handler of its method. Handlers return once the connection's next request may be served.
    pub(crate) async fn serve(client: &'a Client, request: &'a CallContext, responder: Responder) {
        let method = Method::find(Direction::Request, &request.method);
        match method.and_then(|method| method.serve) {
            Some(serve) => {
                serve(Self {
                    client,
                    request,
                    responder,
                })
                .await;
            }
            None => absent(responder),
        }
    }

    /// Serves with a handler that returns at once.
    pub(crate) fn now<P: DeserializeOwned>(self, handler: fn(&'a Client, P, Responder)) -> BoxFuture<'a, ()> {
        self.wait(move |client, params, responder| {
            handler(client, params, responder);
            std::future::ready(())
        })
    }

    /// Serves with a handler that the connection's next request waits for.
    pub(crate) fn wait<P, F>(self, handler: impl FnOnce(&'a Client, P, Responder) -> F) -> BoxFuture<'a, ()>
    where
        P: DeserializeOwned,
        F: Future<Output = ()> + Send + 'a,
    {
        match decode::params(self.request.params.as_deref()) {
            Ok(params) => handler(self.client, params, self.responder).boxed(),
            Err(error) => {
                refuse(self.responder, error.into());
                std::future::ready(()).boxed()
            }
        }
    }

    /// As [`Call::now`], with a service. Where the server has none, there is no such method.
    pub(crate) fn now_with<S: 'a, P: DeserializeOwned>(
        self,
        service: fn(&Services) -> Option<&S>,
        handler: fn(&'a Client, &'a S, P, Responder),
    ) -> BoxFuture<'a, ()> {
        self.wait_with(service, move |client, service, params, responder| {
            handler(client, service, params, responder);
            std::future::ready(())
        })
    }

    /// As [`Call::wait`], with a service. Where the server has none, there is no such method.
    pub(crate) fn wait_with<S: 'a, P, F>(
        self,
        service: fn(&Services) -> Option<&S>,
        handler: impl FnOnce(&'a Client, &'a S, P, Responder) -> F,
    ) -> BoxFuture<'a, ()>
    where
        P: DeserializeOwned,
        F: Future<Output = ()> + Send + 'a,
    {
        if let Some(service) = service(self.client.services()) {
            self.wait(move |client, params, responder| handler(client, service, params, responder))
        } else {
            absent(self.responder);
            std::future::ready(()).boxed()
        }
    }
}

fn absent(responder: Responder) {
    let error = RpcError::method_not_found(responder.method());
    refuse(responder, error);
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
