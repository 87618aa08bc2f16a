//! The ECA dialect of one connection.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_agent_api::terminal::TerminalNews;
use bobbin_agent_api::tool_server::ToolServerNews;
use bobbin_agent_api::{ConfigNews, ConfigValueNews};
use bobbin_core::{ENCODINGS, Encoded, Ephemeral, Frame, FrameBody, WireMessage};
use bobbin_editor_kit::{MAX_READERS, NoticeKind};
use bobbin_model::{
    Actor, Approval, ApprovalPolicy, ClientKeys, Decision, Effort, Event, Mode, Question, QuestionAnswer,
    ServerState, TerminalChange, ThreadId, ToolServer, TurnFeatures,
};
use bobbin_peer::PeerHandle;
use bobbin_session::{Dialect, LogSource};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

use crate::chats::Chats;
use crate::question;
use crate::running::Running;
use crate::view::View;
use crate::wire::config::HostedServer;
use crate::wire::content::ChatContent;
use crate::wire::lifecycle::ShowMessage;
use crate::wire::provider::ProviderStatus;
use crate::wire::{self, Notification};

/// The state of one client.
pub(crate) struct Eca {
    client: String,
    /// Whether the client supports `chat/askQuestion` (21.1).
    asks_questions: bool,
    pub(crate) chats: Chats,
    /// Choices for prompts that make none.
    pub(crate) chosen: Mutex<Chosen>,
    /// The last list of models sent to the editor.
    pub(crate) known_models: Mutex<Vec<String>>,
    /// Whether providers are being asked for their models.
    pub(crate) refreshing: AtomicBool,
    /// Whether it speaks a later version than the first (20.8).
    current: AtomicBool,
    /// Whether the client has sent `shutdown`; `exit` comes next.
    pub(crate) shutting_down: AtomicBool,
    /// The client's knowledge of tool servers. Locked while a server's state is sent, so that no old state follows a
    /// newer one.
    pub(crate) hosted: Mutex<Hosted>,
    /// Notified when jobs have changed since their list was sent.
    pub(crate) jobs_changed: Notify,
    /// Notified when settings have changed, which can be those of providers.
    pub(crate) settings_changed: Notify,
    /// The providers as the client knows them, once it has shown interest. From then on it gets changes.
    pub(crate) known_providers: Mutex<Option<Vec<ProviderStatus>>>,
    /// Further folders of the client's workspace, beside the served one (at most `MAX_FOLDERS`).
    pub(crate) further_folders: Mutex<Vec<PathBuf>>,
    /// One permit for each prompt whose files are being read.
    pub(crate) readers: Arc<Semaphore>,
    /// The texts that a model writes for the client.
    pub(crate) running: Arc<Running>,
}

/// A client's knowledge of tool servers.
#[derive(Debug, Default)]
pub(crate) struct Hosted {
    /// Whether the client has the list of servers. From then on it gets changes.
    pub(crate) told: bool,
    /// Servers that ran (bounded by the configured ones).
    ready: BTreeSet<String>,
}

impl Hosted {
    /// Records the state of a server. Returns whether it ran before and has failed.
    pub(crate) fn is_lost(&mut self, server: &ToolServer) -> bool {
        if server.state == ServerState::Ready {
            self.ready.insert(server.name.clone());
            return false;
        }
        let ran = self.ready.remove(&server.name);
        ran && server.state == ServerState::Error
    }

    /// Returns the messages about a changed server.
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

/// The choices of a connection outside of any chat.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chosen {
    pub(crate) mode: Option<Mode>,
    pub(crate) model: Option<String>,
    /// For new chats.
    pub(crate) effort: Option<Effort>,
    /// For new chats.
    pub(crate) policy: Option<ApprovalPolicy>,
    /// When the mode was selected; 0 if it comes from the options.
    pub(crate) mode_at: u64,
    /// When the model was selected; 0 if it comes from the options.
    pub(crate) model_at: u64,
    /// Number of choices so far, of the connection and of its chats. The later one counts.
    pub(crate) count: u64,
}

impl Chosen {
    /// Counts one more choice and returns its number.
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
            settings_changed: Notify::new(),
            known_providers: Mutex::default(),
            further_folders: Mutex::default(),
            readers: Arc::new(Semaphore::new(MAX_READERS)),
            running: Arc::default(),
        }
    }

    /// Whether the client has shown that it speaks a later version than the first.
    pub(crate) fn is_current(&self) -> bool {
        self.current.load(Ordering::Acquire)
    }

    /// Records that the client speaks a later version than the first.
    pub(crate) fn speaks_currently(&self) {
        self.current.store(true, Ordering::Release);
    }

    /// Returns the features of every client of this dialect for its Turns. `keys` are this client's.
    pub(crate) fn features(keys: ClientKeys) -> TurnFeatures {
        TurnFeatures {
            approvals: true,
            person: true,
            keys,
            ..TurnFeatures::default()
        }
    }

    /// Returns the messages about changes in the view of a chat; none if the chat is not known.
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

    /// Returns the notifications with these contents of a chat.
    pub(crate) fn notifications(&self, thread: &ThreadId, told: &[ChatContent]) -> Vec<Notification> {
        let id = self.chats.with(thread, |chat| chat.id.clone());
        id.map_or_else(Vec::new, |id| {
            told.iter().filter_map(|told| told.notification(&id)).collect()
        })
    }
}

impl Dialect for Eca {
    fn slot(&self, _: LogSource) -> usize {
        // No cache: contents have this connection's id of the chat and depend on its earlier messages.
        ENCODINGS
    }

    fn encode(&self, frame: &Frame, _: LogSource) -> Encoded {
        if let FrameBody::Ephemeral(Ephemeral::Broadcast(news)) = &frame.body {
            if let Some(news) = news.get::<TerminalNews>() {
                // Clients request the output.
                if !matches!(news.change, TerminalChange::Output(_) | TerminalChange::Stalled) {
                    self.jobs_changed.notify_one();
                }
                return Encoded::default();
            }
            if news.get::<ConfigNews>().is_some() || news.get::<ConfigValueNews>().is_some() {
                self.settings_changed.notify_one();
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

    fn inquire<'a>(
        &'a self,
        peer: &'a PeerHandle,
        question: &'a Question,
    ) -> BoxFuture<'a, Option<QuestionAnswer>> {
        async move {
            // The client does not get questions of chats that it does not show.
            let chat = self.chats.with(&question.thread, |chat| chat.id.clone())?;
            question::ask(peer, &chat, question).await
        }
        .boxed()
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
        _thread: &'a ThreadId,
        _approval: &'a Approval,
    ) -> BoxFuture<'a, Option<Decision>> {
        // The question is a content and its answer a notification (section 9), so there is nothing to await.
        async move {
            peer.closed().await;
            None
        }
        .boxed()
    }
}
