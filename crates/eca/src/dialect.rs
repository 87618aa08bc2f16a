//! The ECA dialect as one connection speaks it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_agent_api::terminal::TerminalNews;
use bobbin_agent_api::tool_server::ToolServerNews;
use bobbin_core::{ENCODINGS, Encoded, Ephemeral, Frame, FrameBody, WireMessage};
use bobbin_editor_kit::{MAX_READERS, NoticeKind};
use bobbin_model::{
    Approval, ApprovalPolicy, ClientKeys, Decision, Effort, Event, Mode, Question, ServerState,
    TerminalChange, ThreadId, ToolServer, TurnFeatures,
};
use bobbin_peer::PeerHandle;
use bobbin_session::{Dialect, LogSource, QuestionReply};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

use crate::chats::Chats;
use crate::question;
use crate::view::View;
use crate::wire::config::HostedServer;
use crate::wire::content::ChatContent;
use crate::wire::lifecycle::ShowMessage;
use crate::wire::{self, Notification};

/// One client's side of the conversation.
pub(crate) struct Eca {
    client: String,
    /// It takes `chat/askQuestion` (21.1).
    asks_questions: bool,
    pub(crate) chats: Chats,
    /// What is chosen for prompts that say nothing.
    pub(crate) chosen: Mutex<Chosen>,
    /// The models that the editor was sent last.
    pub(crate) known_models: Mutex<Vec<String>>,
    /// Providers are being asked for their models.
    pub(crate) refreshing: AtomicBool,
    /// It speaks a later version than the first (20.8).
    current: AtomicBool,
    /// `shutdown` was asked for; `exit` comes next.
    pub(crate) shutting_down: AtomicBool,
    /// What the client knows of tool servers. Held while it is told of any, so that nothing old follows what is new.
    pub(crate) hosted: Mutex<Hosted>,
    /// Jobs have changed since the client was sent their list.
    pub(crate) jobs_changed: Notify,
    /// The folders of its workspace beside the one that is served; the client says how many there are.
    pub(crate) further_folders: Mutex<Vec<PathBuf>>,
    /// One place for each prompt whose files are being read.
    pub(crate) readers: Arc<Semaphore>,
}

/// What a client knows of tool servers.
#[derive(Debug, Default)]
pub(crate) struct Hosted {
    /// It has been told of those there are; from then on it is told of changes.
    pub(crate) told: bool,
    /// Those that ran (bounded by the configured ones).
    ready: BTreeSet<String>,
}

impl Hosted {
    /// Takes note of how a server is. Returns whether it ran and is lost.
    pub(crate) fn is_lost(&mut self, server: &ToolServer) -> bool {
        if server.state == ServerState::Ready {
            self.ready.insert(server.name.clone());
            return false;
        }
        let ran = self.ready.remove(&server.name);
        ran && server.state == ServerState::Error
    }

    /// Returns what is told of a server that has changed.
    fn changed(&mut self, server: &ToolServer) -> Encoded {
        if !self.told {
            return Encoded::default();
        }
        let updated = wire::message("tool/serverUpdated", &HostedServer::new(server));
        let is_new = server.state == ServerState::Ready && !self.ready.contains(&server.name);
        let left_out = server.problem.as_ref().filter(|_| is_new).and_then(|what| {
            let said = ShowMessage {
                kind: NoticeKind::Warning,
                message: &format!("the MCP server {}: {what}", server.name),
            };
            wire::message("$/showMessage", &said)
        });
        let lost = self.is_lost(server).then(|| {
            let why = server.problem.as_deref().unwrap_or("it has ended");
            let said = ShowMessage {
                kind: NoticeKind::Error,
                message: &format!("the MCP server {} is lost: {why}", server.name),
            };
            wire::message("$/showMessage", &said)
        });
        updated
            .into_iter()
            .chain(left_out)
            .chain(lost.flatten())
            .collect()
    }
}

/// What a connection has chosen outside of any chat.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chosen {
    pub(crate) mode: Option<Mode>,
    pub(crate) model: Option<String>,
    /// For new chats.
    pub(crate) effort: Option<Effort>,
    /// For new chats.
    pub(crate) policy: Option<ApprovalPolicy>,
    /// When the mode was selected; 0 for what stands in the options.
    pub(crate) mode_at: u64,
    /// When the model was.
    pub(crate) model_at: u64,
    /// Choices so far, of the connection and of its chats: what came later counts.
    pub(crate) count: u64,
}

impl Chosen {
    /// Returns the number of one more choice.
    pub(crate) fn tick(&mut self) -> u64 {
        self.count += 1;
        self.count
    }
}

impl Eca {
    pub(crate) fn new(client: String, chosen: Chosen, asks_questions: bool) -> Self {
        Self {
            client,
            asks_questions,
            chats: Chats::default(),
            chosen: Mutex::new(chosen),
            known_models: Mutex::default(),
            refreshing: AtomicBool::new(false),
            current: AtomicBool::new(false),
            shutting_down: AtomicBool::new(false),
            hosted: Mutex::default(),
            jobs_changed: Notify::new(),
            further_folders: Mutex::default(),
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

    /// What every client of this dialect can do for the Turns it starts; `keys` are this client's.
    pub(crate) fn features(keys: ClientKeys) -> TurnFeatures {
        TurnFeatures {
            approvals: true,
            person: true,
            keys,
            ..TurnFeatures::default()
        }
    }

    /// Returns the messages that tell what is new in the view of a chat, if that is known.
    fn shown(&self, thread: &ThreadId, work: impl FnOnce(&mut View) -> Vec<ChatContent>) -> Encoded {
        let shown = self.chats.with(thread, |chat| {
            let told = work(&mut chat.view);
            let notifications = told.iter().filter_map(|told| told.notification(&chat.id));
            notifications
                .map(Notification::into_message)
                .collect::<Vec<WireMessage>>()
        });
        shown.unwrap_or_default().into()
    }

    /// Returns the notifications that tell something of a chat.
    pub(crate) fn notifications(&self, thread: &ThreadId, told: &[ChatContent]) -> Vec<Notification> {
        let id = self.chats.with(thread, |chat| chat.id.clone());
        id.map_or_else(Vec::new, |id| {
            told.iter().filter_map(|told| told.notification(&id)).collect()
        })
    }
}

impl Dialect for Eca {
    fn slot(&self, _: LogSource) -> usize {
        // Kept nowhere: contents name the chat as this connection does and depend on what it was told.
        ENCODINGS
    }

    fn encode(&self, frame: &Frame, _: LogSource) -> Encoded {
        if let FrameBody::Ephemeral(Ephemeral::Broadcast(news)) = &frame.body {
            if let Some(news) = news.get::<TerminalNews>() {
                // Output is asked for.
                if !matches!(news.change, TerminalChange::Output(_) | TerminalChange::Stalled) {
                    self.jobs_changed.notify_one();
                }
                return Encoded::default();
            }
            let server = news.get::<ToolServerNews>();
            return server.map_or_else(Encoded::default, |news| self.hosted.lock().changed(&news.0));
        }
        if let FrameBody::Ephemeral(Ephemeral::Subagent { root, question }) = &frame.body {
            return self.shown(root, |view| view.below(question, frame.at));
        }
        let shown = self.shown(&frame.thread, |view| view.frame(frame));
        if let FrameBody::Recorded(event) = &frame.body
            && matches!(**event, Event::ThreadDeleted)
        {
            let is_known = self.chats.with(&frame.thread, |chat| chat.gone);
            self.chats.forget(&frame.thread);
            if is_known == Some(true) {
                return Encoded::default();
            }
        }
        shown
    }

    fn remind(&self, root: &ThreadId, approval: &Approval) -> Encoded {
        self.shown(root, |view| view.asked_below(approval))
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

    fn inquire<'a>(&'a self, peer: &'a PeerHandle, question: &'a Question) -> BoxFuture<'a, QuestionReply> {
        async move {
            // Of a chat that the client does not show it is not asked.
            match self.chats.with(&question.thread, |chat| chat.id.clone()) {
                Some(chat) => question::ask(peer, &chat, question).await,
                None => QuestionReply::Passed,
            }
        }
        .boxed()
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
