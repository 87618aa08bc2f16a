//! The ECA dialect as one connection speaks it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_core::{ENCODINGS, Encoded, Frame, FrameBody, Notice, WireMessage};
use bobbin_model::{Approval, Decision, Event, Mode, Question, QuestionAnswer, ThreadId, TurnFeatures};
use bobbin_peer::PeerHandle;
use bobbin_session::{Dialect, Through};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::Tenure;
use crate::chats::Chats;
use crate::far::MAX_READERS;
use crate::question;
use crate::wire::config::HostedServer;
use crate::wire::content::Told;
use crate::wire::{self, Notification};

/// One client's side of the conversation.
pub(crate) struct Eca {
    client: String,
    /// It takes `chat/askQuestion` (21.1).
    asks_questions: bool,
    tenure: Tenure,
    pub(crate) chats: Chats,
    /// What is chosen for prompts that say nothing.
    pub(crate) chosen: Mutex<Chosen>,
    /// It speaks a later version than the first (20.8).
    current: AtomicBool,
    /// `shutdown` was asked for; `exit` comes next.
    pub(crate) shutting_down: AtomicBool,
    /// Whether the client has been told of the tool servers there are; from then on it is told of changes. Held
    /// while either is put on its way, so that nothing old follows what is new.
    pub(crate) servers_told: Mutex<bool>,
    /// One place for each prompt whose files are being read.
    pub(crate) readers: Arc<Semaphore>,
}

/// What a connection has chosen outside of any chat.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chosen {
    pub(crate) mode: Option<Mode>,
    pub(crate) model: Option<String>,
    pub(crate) trust: Option<bool>,
}

impl Eca {
    pub(crate) fn new(client: String, chosen: Chosen, tenure: Tenure, asks_questions: bool) -> Self {
        Self {
            client,
            asks_questions,
            tenure,
            chats: Chats::default(),
            chosen: Mutex::new(chosen),
            current: AtomicBool::new(false),
            shutting_down: AtomicBool::new(false),
            servers_told: Mutex::new(false),
            readers: Arc::new(Semaphore::new(MAX_READERS)),
        }
    }

    /// Whether the client has shown that it speaks a later version than the first.
    pub(crate) fn is_current(&self) -> bool {
        self.current.load(Ordering::Acquire)
    }

    /// Takes note that it has.
    pub(crate) fn speaks_currently(&self) {
        self.current.store(true, Ordering::Release);
    }

    /// What every client of this dialect can do for the Turns it starts.
    pub(crate) fn features() -> TurnFeatures {
        TurnFeatures {
            command_execution: false,
            tool_execution: false,
            approvals: true,
        }
    }

    /// Returns the notifications that tell something of a chat.
    pub(crate) fn notifications(&self, thread: &ThreadId, told: &[Told]) -> Vec<Notification> {
        let id = self.chats.with(thread, |chat| chat.id.clone());
        id.map_or_else(Vec::new, |id| {
            told.iter().filter_map(|told| told.notification(&id)).collect()
        })
    }
}

impl Dialect for Eca {
    fn slot(&self, _: Through) -> usize {
        // Kept nowhere: contents name the chat as this connection does and depend on what it was told.
        ENCODINGS
    }

    fn encode(&self, frame: &Frame, _: Through) -> Encoded {
        if let FrameBody::Notice(Notice::ToolServer(server)) = &frame.body {
            let told = *self.servers_told.lock();
            let message = told.then(|| wire::message("tool/serverUpdated", &HostedServer::new(server)));
            return message.flatten().into_iter().collect();
        }
        let shown = self.chats.with(&frame.thread, |chat| {
            let told = chat.view.frame(frame);
            let notifications = told.iter().filter_map(|told| told.notification(&chat.id));
            notifications
                .map(Notification::into_message)
                .collect::<Vec<WireMessage>>()
        });
        if let FrameBody::Recorded(event) = &frame.body
            && matches!(**event, Event::ThreadDeleted)
        {
            self.chats.forget(&frame.thread);
        }
        shown.unwrap_or_default().into()
    }

    fn wants(&self, _message: &WireMessage) -> bool {
        true
    }

    fn approves(&self) -> bool {
        true
    }

    fn is_asked(&self) -> bool {
        self.asks_questions
    }

    fn inquire<'a>(
        &'a self,
        peer: &'a PeerHandle,
        question: &'a Question,
    ) -> BoxFuture<'a, Option<QuestionAnswer>> {
        async move {
            // Of a chat that the client does not show it is not asked.
            let chat = self.chats.with(&question.thread, |chat| chat.id.clone())?;
            question::ask(peer, &chat, question).await
        }
        .boxed()
    }

    fn outlives_core(&self) -> bool {
        self.tenure == Tenure::Sole && self.shutting_down.load(Ordering::Acquire)
    }

    fn client_name(&self) -> String {
        self.client.clone()
    }

    fn ask<'a>(
        &'a self,
        peer: &'a PeerHandle,
        _thread: &'a ThreadId,
        _approval: &'a Approval,
    ) -> BoxFuture<'a, Option<Decision>> {
        // The question is a content, its answer a notification (section 9): nothing to wait for here.
        async move {
            peer.closed().await;
            None
        }
        .boxed()
    }
}
