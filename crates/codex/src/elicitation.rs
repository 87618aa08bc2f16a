//! Questions of MCP servers, put to the client as forms and links.

use std::sync::Arc;

use bobbin_agent_api::elicitation::{
    Elicit, ElicitAction, Elicitation, Elicited, ElicitingClient, NotElicited,
};
use bobbin_model::{ThreadId, TurnId};
use bobbin_peer::{CallError, PeerHandle, SendError};
use bobbin_session::Session;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::dialect::Codex;

const REQUEST: &str = "mcpServer/elicitation/request";

/// A connection that MCP servers can ask.
pub(crate) struct Elicits {
    pub(crate) codex: Arc<Codex>,
    pub(crate) session: Arc<Session>,
    pub(crate) peer: PeerHandle,
}

impl ElicitingClient for Elicits {
    fn follows(&self, thread: &ThreadId) -> bool {
        self.session.is_subscribed(thread)
    }

    fn has_started(&self, _: &ThreadId, _: TurnId) -> bool {
        false
    }

    fn elicit<'a>(&'a self, asked: &'a Elicitation) -> BoxFuture<'a, Result<Elicited, NotElicited>> {
        async move {
            let answer: Result<Value, CallError> = self.peer.call(REQUEST, &self.params(asked)).await;
            let answer = answer.map_err(|error| match error {
                CallError::Decode(error) => NotElicited::Unfit(error.to_string()),
                CallError::ShutDown | CallError::Send(SendError::Closed) => NotElicited::Gone,
                CallError::Remote(_) | CallError::TimedOut(_) | CallError::Send(_) => NotElicited::Refused,
            })?;
            let action = match answer["action"].as_str() {
                Some("accept") => ElicitAction::Accept,
                Some("decline") => ElicitAction::Decline,
                Some("cancel") => ElicitAction::Cancel,
                _ => return Err(NotElicited::Unfit("it names no action".to_owned())),
            };
            Ok(Elicited {
                action,
                content: Some(answer["content"].clone()).filter(|_| action == ElicitAction::Accept),
                meta: None,
            })
        }
        .boxed()
    }
}

impl Elicits {
    fn params(&self, asked: &Elicitation) -> Value {
        let mut params = json!({
            "threadId": self.codex.ids.uuid(&asked.thread),
            "turnId": asked.turn.map(|turn| turn.to_string()),
            "serverName": asked.server,
            "message": asked.message,
        });
        match &asked.ask {
            Elicit::Form { schema } => {
                params["mode"] = "form".into();
                params["requestedSchema"] = schema.clone();
            }
            Elicit::Url { url, id } => {
                params["mode"] = "url".into();
                params["url"] = url.clone().into();
                params["elicitationId"] = id.clone().unwrap_or_default().into();
            }
        }
        params
    }
}
