//! Requests and notifications of a client on their way to their handlers.

use bobbin_agent_api::Services;
use bobbin_model::{Actor, Need};
use bobbin_native_wire::{RpcError, lenient};
use bobbin_peer::{CallContext, NotificationContext, Responder};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};

use crate::audit;
use crate::client::{Client, refuse};
use crate::group::Direction;
use crate::group::need::Member;

/// One request on its way to its handler.
pub struct Call<'a> {
    client: &'a Client,
    request: &'a CallContext,
    responder: Responder,
    /// The members of the params that need another right than the method.
    members: &'static [Member],
}

impl<'a> Call<'a> {
    /// Passes a request to the handler of its method, if the client may send it. Handlers return once the connection's next request may be served.
    pub(crate) async fn serve(client: &'a Client, request: &'a CallContext, responder: Responder) {
        let groups = &client.server.groups;
        let method = groups.find(Direction::Request, &request.method);
        let Some((method, serve)) = method.and_then(|method| Some((method, method.serve?))) else {
            return absent(responder);
        };
        if !client.actor().may(method.need) {
            return refuse(responder, forbidden(client.actor(), method.name, method.need));
        }
        if audit::names(method) {
            audit::record(client, method, request).await;
        }
        serve(Self {
            client,
            request,
            responder,
            members: method.members,
        })
        .await;
    }

    /// Serves with a handler that returns at once.
    pub fn now<P: DeserializeOwned + Serialize>(
        self,
        handler: fn(&'a Client, P, Responder),
    ) -> BoxFuture<'a, ()> {
        self.wait(move |client, params, responder| {
            handler(client, params, responder);
            std::future::ready(())
        })
    }

    /// Serves with a handler that the connection's next request waits for.
    pub fn wait<P, F>(self, handler: impl FnOnce(&'a Client, P, Responder) -> F) -> BoxFuture<'a, ()>
    where
        P: DeserializeOwned + Serialize,
        F: Future<Output = ()> + Send + 'a,
    {
        let read = lenient::params(self.request.params.as_deref()).map_err(RpcError::from);
        match read.and_then(|params| permitted(self.client.actor(), self.members, params)) {
            Ok(params) => handler(self.client, params, self.responder).boxed(),
            Err(error) => {
                refuse(self.responder, error);
                std::future::ready(()).boxed()
            }
        }
    }

    /// As [`Call::now`], with a service. The method does not exist if the server lacks the service.
    pub fn now_with<S: 'a, P: DeserializeOwned + Serialize>(
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
        P: DeserializeOwned + Serialize,
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

/// The params of a method that has none: whatever a client sends counts as none.
#[derive(Debug, Default, Serialize)]
pub struct NoParams {}

impl<'de> Deserialize<'de> for NoParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self {})
    }
}

/// Returns params that have no member which the actor may not send. The params are looked at as they were read, so it does not
/// matter how the client has spelled them.
///
/// # Errors
/// They have one.
fn permitted<P: Serialize>(actor: &Actor, members: &[Member], params: P) -> Result<P, RpcError> {
    let mut withheld = members.iter().filter(|(_, need)| !actor.may(*need)).peekable();
    if withheld.peek().is_some() {
        let read =
            serde_json::to_value(&params).map_err(|error| RpcError::internal_error(error.to_string()))?;
        let is_given = |path: &str| {
            let given = path.split('.').try_fold(&read, |value, name| value.get(name));
            given.is_some_and(|value| !value.is_null())
        };
        if let Some((path, need)) = withheld.find(|(path, _)| is_given(path)) {
            return Err(forbidden(actor, path, *need));
        }
    }
    Ok(params)
}

/// Returns the error of a request that an actor may not send, as it is or with a member.
pub(crate) fn forbidden(actor: &Actor, what: &str, need: Need) -> RpcError {
    RpcError::forbidden(what, need, actor.role())
}

/// One notification of a client on its way to its handler.
pub struct Notified<'a> {
    client: &'a Client,
    notification: &'a NotificationContext,
}

impl<'a> Notified<'a> {
    /// Passes a notification to the handler of its method. Those that are unknown, or that the client may not send, are
    /// ignored.
    pub(crate) async fn serve(client: &'a Client, notification: &'a NotificationContext) {
        let groups = &client.server.groups;
        let method = groups.find(Direction::ClientNotification, &notification.method);
        let method = method.filter(|method| client.actor().may(method.need));
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

#[cfg(test)]
mod tests {
    use bobbin_model::{Person, Role};
    use serde_json::value::RawValue;

    use super::*;
    use crate::groups::thread::LOOSENING;
    use bobbin_native_wire::thread::params::ThreadStartParams;

    fn actor(role: Role) -> Actor {
        Actor::Person(Box::new(Person {
            name: "ana".to_owned(),
            role,
            device: None,
        }))
    }

    #[test]
    fn a_member_is_found_however_it_is_spelled_and_one_that_counts_as_absent_is_not() {
        let permitted = |role, config: &str| {
            let text = format!(r#"{{"identity":{{"channelName":"c"}},{config}}}"#);
            let raw = RawValue::from_string(text).unwrap();
            let read: ThreadStartParams = lenient::params(Some(&*raw)).unwrap();
            permitted(&actor(role), LOOSENING, read).is_ok()
        };
        for (config, expected) in [
            (r#""config":{"approvalPolicy":"autoApprove"}"#, false),
            (r#""CONFIG":{"APPROVALPOLICY":"default"}"#, false),
            (r#""config":{"toolDenyList":[]}"#, false),
            (r#""config":{"engine":null,"approvalPolicy":null}"#, true),
            (r#""config":null"#, true),
            (r#""config":{"model":"m","approval_policy":"autoApprove"}"#, true),
        ] {
            assert_eq!(permitted(Role::Author, config), expected, "{config}");
            assert_eq!(permitted(Role::Approver, config), expected, "{config}");
            assert!(permitted(Role::Owner, config), "{config}");
        }
    }

    #[test]
    fn what_is_forbidden_says_what_to_ask_whom_for() {
        let error = forbidden(&actor(Role::Viewer), "turn/start", Need::Prompt);
        let data = serde_json::to_value(error.data.unwrap()).unwrap();
        assert_eq!(
            (error.code, &data["need"], &data["role"]),
            (-32004, &"prompt".into(), &"viewer".into())
        );
        let detail = data["detail"].as_str().unwrap();
        assert!(
            detail.contains("author") && detail.contains("owner of the server"),
            "{detail}"
        );
    }
}
