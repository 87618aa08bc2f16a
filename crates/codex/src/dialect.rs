//! The Codex dialect of one connection.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bobbin_core::{ENCODINGS, Encoded, Frame, FrameBody, WireMessage};
use bobbin_editor_kit::EditorModels;
use bobbin_model::state::ThreadState;
use bobbin_model::{
    Actor, Approval, ApprovalId, ClientKeys, Decision, Event, ItemBody, Question, QuestionAnswer, Seq,
    ThreadId, TurnFeatures,
};
use bobbin_peer::PeerHandle;
use bobbin_session::{Dialect, LogSource};
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::ids::Ids;
use crate::questions;
use crate::settings;
use crate::view::{Out, View, broadcast};

/// The state of one client.
pub(crate) struct Codex {
    client: String,
    pub(crate) ids: Ids,
    pub(crate) models: Arc<dyn EditorModels>,
    root: String,
    /// Notifications that the client does not want.
    unwanted: HashSet<String>,
    views: Mutex<HashMap<ThreadId, View>>,
    /// Requests that wait for an answer, by their questions.
    asked: Mutex<HashMap<ApprovalId, (ThreadId, u64)>>,
}

impl Codex {
    pub(crate) fn new(
        client: String,
        unwanted: HashSet<String>,
        root: String,
        models: Arc<dyn EditorModels>,
    ) -> Self {
        Self {
            client,
            ids: Ids::default(),
            models,
            root,
            unwanted,
            views: Mutex::default(),
            asked: Mutex::default(),
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

    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    /// Follows a Thread from a state on.
    pub(crate) fn follow(&self, thread: &ThreadId, state: &ThreadState, at: Seq) {
        let view = View::new(self.ids.uuid(thread), self.root.clone(), state, at);
        self.views.lock().insert(thread.clone(), view);
    }

    pub(crate) fn leave(&self, thread: &ThreadId) {
        self.views.lock().remove(thread);
    }

    pub(crate) fn with_view<T>(&self, thread: &ThreadId, work: impl FnOnce(&mut View) -> T) -> Option<T> {
        self.views.lock().get_mut(thread).map(work)
    }

    /// Notes the request of a question, so that its end can name it.
    pub(crate) fn note_asked(&self, question: &ApprovalId, thread: &ThreadId, request: u64) {
        self.asked
            .lock()
            .insert(question.clone(), (thread.clone(), request));
    }

    /// Returns the end of a question's request.
    fn resolved(&self, question: &ApprovalId, out: &mut Out) {
        if let Some((thread, request)) = self.asked.lock().remove(question) {
            let params = json!({ "threadId": self.ids.uuid(&thread), "requestId": request });
            out.push(("serverRequest/resolved", params));
        }
    }

    fn of_thread(&self, frame: &Frame, out: &mut Out) {
        if let FrameBody::Recorded(event) = &frame.body {
            match &**event {
                Event::ApprovalResolved { approval, .. } => self.resolved(approval, out),
                Event::ItemAdded { item, .. } => {
                    if let ItemBody::UserInputResponse { request_id, .. } = &item.body {
                        self.resolved(request_id, out);
                    }
                }
                Event::ThreadConfigured { config } => {
                    let uuid = self.ids.uuid(&frame.thread);
                    let params = settings::settings(&uuid, Some(config), &self.root, &*self.models);
                    out.push(("thread/settings/updated", params));
                }
                _ => {}
            }
        }
        self.with_view(&frame.thread, |view| view.frame(frame, out));
    }

    /// Returns a notification as it is sent.
    pub(crate) fn encoded(&self, out: Out) -> Encoded {
        out.into_iter()
            .filter(|(method, _)| !self.unwanted.contains(*method))
            .map(|(method, params)| WireMessage {
                method,
                json: message(method, &params),
            })
            .collect()
    }
}

/// Returns a notification as JSON text.
pub(crate) fn message(method: &str, params: &Value) -> Bytes {
    Bytes::from(json!({ "method": method, "params": params }).to_string())
}

impl Dialect for Codex {
    fn slot(&self, _: LogSource) -> usize {
        // No cache: an item depends on this connection's earlier ones.
        ENCODINGS
    }

    fn encode(&self, frame: &Frame, source: LogSource) -> Encoded {
        let mut out = Out::new();
        broadcast(|| self.ids.uuid(&frame.thread), &frame.body, &mut out);
        if source == LogSource::Thread {
            self.of_thread(frame, &mut out);
        }
        self.encoded(out)
    }

    fn wants(&self, _message: &WireMessage, _thread: &ThreadId) -> bool {
        true
    }

    fn approves(&self) -> bool {
        true
    }

    fn is_asked(&self) -> bool {
        true
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
        questions::approval(self, peer, thread, approval).boxed()
    }

    fn inquire<'a>(
        &'a self,
        peer: &'a PeerHandle,
        question: &'a Question,
    ) -> BoxFuture<'a, Option<QuestionAnswer>> {
        questions::input(self, peer, question).boxed()
    }
}
