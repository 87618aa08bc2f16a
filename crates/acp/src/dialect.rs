//! The ACP dialect of one connection.

use std::sync::Arc;

use bobbin_acp_wire::ClientCapabilities;
use bobbin_agent_api::engines::EngineList;
use bobbin_core::{ENCODINGS, Encoded, Ephemeral, Frame, FrameBody, WireMessage};
use bobbin_editor_kit::{EditorModels, MAX_READERS};
use bobbin_model::{
    Actor, Approval, ClientKeys, Decision, Event, Question, QuestionAnswer, ThreadId, TurnFeatures,
};
use bobbin_peer::PeerHandle;
use bobbin_session::{Dialect, LogSource};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::form;
use crate::options::Choices;
use crate::permission;
use crate::sessions::{Sessions, encoded};
use crate::view::{Shows, model_of};

/// The state of one client.
pub(crate) struct Acp {
    client: String,
    /// Whether the client shows forms.
    asks_questions: bool,
    pub(crate) capabilities: Mutex<ClientCapabilities>,
    pub(crate) sessions: Sessions,
    models: Arc<dyn EditorModels>,
    engines: Option<EngineList>,
    /// One permit for each prompt whose files are being read.
    pub(crate) readers: Arc<Semaphore>,
}

impl Acp {
    pub(crate) fn new(
        client: String,
        capabilities: ClientCapabilities,
        models: Arc<dyn EditorModels>,
        engines: Option<EngineList>,
    ) -> Self {
        let elicitation = capabilities.elicitation.unwrap_or_default();
        Self {
            client,
            asks_questions: elicitation.form.is_some(),
            capabilities: Mutex::new(capabilities),
            sessions: Sessions::default(),
            models,
            engines,
            readers: Arc::new(Semaphore::new(MAX_READERS)),
        }
    }

    /// Returns the news that the client shows.
    pub(crate) fn shows(&self) -> Shows {
        let session = self.capabilities.lock().session.unwrap_or_default();
        Shows {
            notices: session.notices.is_some(),
            compaction: session.compaction.is_some(),
        }
    }

    /// Returns the features of every client of this dialect for its Turns. `keys` are this client's.
    pub(crate) fn features(keys: ClientKeys) -> TurnFeatures {
        TurnFeatures {
            approvals: true,
            person: true,
            command_execution: true,
            keys,
            ..TurnFeatures::default()
        }
    }

    /// Returns the news of a session whose configuration has changed.
    fn configured(&self, frame: &Frame, event: &Event) -> Vec<WireMessage> {
        let Event::ThreadConfigured { config } = event else {
            return Vec::new();
        };
        let choices = Choices::new(Some(config), &*self.models, self.engines.as_ref());
        let limit = match model_of(Some(config)) {
            Some(model) => self.models.limit(model),
            None => self.models.limit(&self.models.usual()),
        };
        let news = self.sessions.with(&frame.thread, |open| {
            open.view.facts.window = limit.map(|limit| limit.context);
            let news = choices.news(&open.choices);
            open.choices = choices;
            news
        });
        encoded(&frame.thread, None, Some(frame.seq), news.unwrap_or_default())
    }
}

impl Dialect for Acp {
    fn slot(&self, _: LogSource) -> usize {
        // No cache: updates depend on this connection's earlier ones.
        ENCODINGS
    }

    fn encode(&self, frame: &Frame, _: LogSource) -> Encoded {
        match &frame.body {
            FrameBody::Ephemeral(Ephemeral::Subagent { root, question }) => {
                self.sessions.subagent(root, question)
            }
            FrameBody::Ephemeral(_) => Vec::new(),
            FrameBody::Recorded(event) => {
                let mut messages = self.configured(frame, event);
                messages.extend(self.sessions.frame(frame));
                messages
            }
            FrameBody::Delta(_) => self.sessions.frame(frame),
        }
        .into()
    }

    fn remind(&self, root: &ThreadId, approval: &Approval) -> Encoded {
        self.sessions.remind(root, approval).into()
    }

    fn wants(&self, _message: &WireMessage, _thread: &ThreadId) -> bool {
        true
    }

    fn approves(&self) -> bool {
        true
    }

    fn is_asked(&self) -> bool {
        self.asks_questions
    }

    fn actor(&self) -> Actor {
        Actor::Owner
    }

    fn client_name(&self) -> String {
        self.client.clone()
    }

    fn ask<'a>(
        &'a self,
        peer: &'a PeerHandle,
        thread: &'a ThreadId,
        approval: &'a Approval,
    ) -> BoxFuture<'a, Option<Decision>> {
        permission::ask(self, peer, thread, approval).boxed()
    }

    fn inquire<'a>(
        &'a self,
        peer: &'a PeerHandle,
        question: &'a Question,
    ) -> BoxFuture<'a, Option<QuestionAnswer>> {
        form::ask(self, peer, question).boxed()
    }
}
