//! `mcpServer/elicitation/request`: a connection as MCP servers ask it (AppServer protocol 07 §7.5).
//!
//! There is one for each connection whose client declared `mcpElicitation`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::elicitation::{
    Elicit, ElicitAction, Elicitation, Elicited, ElicitingClient, NotElicited, elicit_from,
};
use bobbin_agent_api::tool::Questions;
use bobbin_core::Threads;
use bobbin_model::{Inquiry, Json, QuestionAnswer, ThreadId, TurnId};
use bobbin_native_wire::handshake::capabilities::ClientCapabilities;
use bobbin_native_wire::lenient;
use bobbin_native_wire::mcp_runtime::types::{
    McpElicitationAction, McpElicitationMode, McpElicitationRequestParams, McpElicitationRequestResult,
};
use bobbin_peer::{CallError, PeerHandle, SendError};
use bobbin_session::Session;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::ELICITATION_REQUEST;

/// Limit of known Turns; the oldest is forgotten first, and has usually ended.
const MAX_TURNS: usize = 64;
/// Longest wait until the events before a question are written.
const BEFORE: Duration = Duration::from_secs(10);
/// Largest `_meta` of an answer.
const MAX_META: usize = 64 << 10;

/// A connection that MCP servers can ask.
pub(crate) struct Asked {
    peer: PeerHandle,
    session: Arc<Session>,
    /// The newest Turns that it has started.
    started: Mutex<VecDeque<(ThreadId, TurnId)>>,
}

impl Asked {
    /// Returns the connection, if its client takes questions of MCP servers.
    pub(crate) fn of(
        capabilities: &ClientCapabilities,
        peer: &PeerHandle,
        session: &Arc<Session>,
    ) -> Option<Arc<Self>> {
        let declared = capabilities.mcp_elicitation.as_ref();
        declared.filter(|declared| declared.get() == "true")?;
        Some(Arc::new(Self {
            peer: peer.clone(),
            session: session.clone(),
            started: Mutex::default(),
        }))
    }

    /// Notes that the client has started a Turn.
    pub(crate) fn started(&self, thread: &ThreadId, turn: TurnId) {
        let mut started = self.started.lock();
        if started.len() == MAX_TURNS {
            started.pop_front();
        }
        started.push_back((thread.clone(), turn));
    }

    /// Takes questions from now on.
    pub(crate) fn join(self: &Arc<Self>, threads: &Threads) {
        threads.elicitors().join(self.clone());
    }

    /// Takes no more questions: the connection is gone.
    pub(crate) fn leave(self: &Arc<Self>, threads: &Threads) {
        let client: Arc<dyn ElicitingClient> = self.clone();
        threads.elicitors().leave(&client);
    }
}

impl ElicitingClient for Asked {
    fn follows(&self, thread: &ThreadId) -> bool {
        self.session.is_subscribed(thread)
    }

    fn has_started(&self, thread: &ThreadId, turn: TurnId) -> bool {
        let started = self.started.lock();
        started.iter().any(|(of, known)| of == thread && *known == turn)
    }

    fn elicit<'a>(&'a self, asked: &'a Elicitation) -> BoxFuture<'a, Result<Elicited, NotElicited>> {
        async move {
            // The call's Item comes first. A client that does not read is asked all the same.
            drop(tokio::time::timeout(BEFORE, self.session.flushed(&asked.thread)).await);
            let result = self.peer.call_raw(ELICITATION_REQUEST, params(asked), None).await;
            let result = result.map_err(|error| match error {
                CallError::Decode(error) => NotElicited::Unfit(error.to_string()),
                CallError::ShutDown | CallError::Send(SendError::Closed) => NotElicited::Gone,
                CallError::Remote(_) | CallError::TimedOut(_) | CallError::Send(_) => NotElicited::Refused,
            })?;
            let result: McpElicitationRequestResult =
                lenient::result(&result).map_err(|error| NotElicited::Unfit(error.to_string()))?;
            Ok(answer(result))
        }
        .boxed()
    }
}

fn params(asked: &Elicitation) -> McpElicitationRequestParams {
    let base = McpElicitationRequestParams {
        server_name: asked.server.clone(),
        mode: McpElicitationMode::Form,
        thread_id: Some(asked.thread.to_string()),
        turn_id: asked.turn.map(|turn| turn.to_string()),
        message: Some(asked.message.clone()),
        requested_schema: None,
        url: None,
        elicitation_id: None,
        meta: asked.meta.clone(),
    };
    match &asked.ask {
        Elicit::Form { schema } => McpElicitationRequestParams {
            requested_schema: Json::of(schema).ok(),
            ..base
        },
        Elicit::Url { url, id } => McpElicitationRequestParams {
            mode: McpElicitationMode::Url,
            url: Some(url.clone()),
            elicitation_id: id.clone(),
            ..base
        },
    }
}

fn answer(result: McpElicitationRequestResult) -> Elicited {
    Elicited {
        action: match result.action {
            McpElicitationAction::Accept => ElicitAction::Accept,
            McpElicitationAction::Decline => ElicitAction::Decline,
            McpElicitationAction::Cancel => ElicitAction::Cancel,
        },
        content: result.content,
        meta: result.meta.filter(|meta| meta.get().len() <= MAX_META),
    }
}

/// Questions during a call that a client makes outside of a Turn.
pub(super) struct Outside {
    pub(super) threads: Arc<Threads>,
    /// The root of the Thread's tree.
    pub(super) root: ThreadId,
    /// The client, if it takes such questions.
    pub(super) caller: Option<Arc<Asked>>,
}

impl Questions for Outside {
    fn ask(&self, _: Inquiry) -> BoxFuture<'_, Option<QuestionAnswer>> {
        std::future::ready(None).boxed()
    }

    fn elicit(&self, asked: Elicitation) -> BoxFuture<'_, Result<Elicited, NotElicited>> {
        async move {
            let limit = self.threads.settings().approval_max_wait;
            match &self.caller {
                Some(caller) => elicit_from(&**caller, &asked, limit).await,
                None => self.threads.elicitors().elicit(&asked, &self.root, limit).await,
            }
        }
        .boxed()
    }
}
