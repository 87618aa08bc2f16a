//! Requests and notifications of a client on their way to their handlers.

use bobbin_agent_api::Services;
use bobbin_native_wire::{RpcError, lenient};
use bobbin_peer::{CallContext, NotificationContext, Responder};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;

use crate::client::{Client, refuse};
use crate::group::Direction;

/// One request on its way to its handler.
pub struct Call<'a> {
    client: &'a Client,
    request: &'a CallContext,
    responder: Responder,
}

impl<'a> Call<'a> {
    /// Passes a request to the handler of its method. Handlers return once the connection's next request may be served.
    pub(crate) async fn serve(client: &'a Client, request: &'a CallContext, responder: Responder) {
        let groups = &client.server.groups;
        let method = groups.find(Direction::Request, &request.method);
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
    pub fn now<P: DeserializeOwned>(self, handler: fn(&'a Client, P, Responder)) -> BoxFuture<'a, ()> {
        self.wait(move |client, params, responder| {
            handler(client, params, responder);
            std::future::ready(())
        })
    }

    /// Serves with a handler that the connection's next request waits for.
    pub fn wait<P, F>(self, handler: impl FnOnce(&'a Client, P, Responder) -> F) -> BoxFuture<'a, ()>
    where
        P: DeserializeOwned,
        F: Future<Output = ()> + Send + 'a,
    {
        match lenient::params(self.request.params.as_deref()) {
            Ok(params) => handler(self.client, params, self.responder).boxed(),
            Err(error) => {
                refuse(self.responder, error.into());
                std::future::ready(()).boxed()
            }
        }
    }

    /// As [`Call::now`], with a service. The method does not exist if the server lacks the service.
    pub fn now_with<S: 'a, P: DeserializeOwned>(
        self,
        service: fn(&Services) -> Option<&S>,
        handler: fn(&'a Client, &'a S, P, Responder),
    ) -> BoxFuture<'a, ()> {
        self.wait_with(service, move |client, service, params, responder| {
            handler(client, service, params, responder);
            std::future::ready(())
        })
    }

    /// As [`Call::wait`], with a service. The method does not exist if the server lacks the service.
    pub fn wait_with<S: 'a, P, F>(
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

/// One notification of a client on its way to its handler.
pub struct Notified<'a> {
    client: &'a Client,
    notification: &'a NotificationContext,
}

impl<'a> Notified<'a> {
    /// Passes a notification to the handler of its method. Unknown ones are ignored.
    pub(crate) async fn serve(client: &'a Client, notification: &'a NotificationContext) {
        let groups = &client.server.groups;
        let method = groups.find(Direction::ClientNotification, &notification.method);
        if let Some(take) = method.and_then(|method| method.take) {
            take(Self { client, notification }).await;
        }
    }

    /// Serves with a handler that the connection's next message waits for. Unreadable params are ignored.
    pub fn wait<P, F>(self, handler: impl FnOnce(&'a Client, P) -> F) -> BoxFuture<'a, ()>
    where
        P: DeserializeOwned,
        F: Future<Output = ()> + Send + 'a,
    {
        match lenient::params(self.notification.params.as_deref()) {
            Ok(params) => handler(self.client, params).boxed(),
            Err(_) => std::future::ready(()).boxed(),
        }
    }
}
