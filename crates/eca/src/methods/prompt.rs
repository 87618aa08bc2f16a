//! `chat/prompt` (section 6): finds or starts the chat, applies the prompt's choices, starts the Turn.
//!
//! A client gets the order of 7.5: opened, progress, echo, status, answer, contents. The answer's closure sends the
//! messages before the answer. The Thread's owner calls it when the Turn is recorded and no client can see it yet.
//! The Subscription then skips those contents.

use std::sync::Arc;

use bobbin_core::{Command, CoreError, ThreadHandle};
use bobbin_editor_kit::{Attached, Context, NoticeKind, Typed, sentence, typed};
use bobbin_model::state::StartTurn;
use bobbin_model::{ApprovalPolicy, ClientKeys, Effort, InputPart, Mode, Spent, ThreadConfig, ThreadId};
use bobbin_peer::{CallContext, Responder};
use tokio::sync::oneshot;

use super::select::{self, refresh_models};
use super::{CHANNEL, Client, Found, params};
use crate::chats::{Said, may_be_made_up};
use crate::commands;
use crate::dialect::Eca;
use crate::view::WAITING;
use crate::wire::chat::{PromptParams, PromptResult, PromptStatus};
use crate::wire::content::{ChatContent, Status};
use crate::wire::lifecycle::ShowMessage;
use crate::wire::{ChatId, mode_of};

/// A prompt whose chat is known.
pub(super) struct Prompt {
    pub(super) client: Client,
    pub(super) handle: Arc<ThreadHandle>,
    id: ChatId,
    model: String,
    pub(super) message: String,
    /// Whether the chat is new under this id, so that the client gets `chat/opened`.
    pub(super) opened: bool,
    /// Whether a Turn runs.
    pub(super) busy: bool,
    /// Attachments that could not be read, each with the reason.
    pub(super) unread: Vec<String>,
}

/// The choices of a prompt for its chat.
struct Choice {
    mode: Option<Mode>,
    model: Option<String>,
    effort: Option<Effort>,
    trust: Option<bool>,
    /// For a chat without a policy of its own.
    policy: Option<ApprovalPolicy>,
}

pub(super) async fn prompt(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<PromptParams>(request, responder) else {
        return;
    };
    let message = params.message.trim().to_owned();
    if message.is_empty() {
        let why = "the message is blank; say what you want";
        return cannot_begin(client, params.chat_id, why, responder).await;
    }
    if params.agent.is_some() || params.variant.is_some() || params.trust.is_some() {
        client.eca.speaks_currently();
    }
    refresh_models(client);
    let found = match &params.chat_id {
        None => Ok(Found::Free),
        Some(id) => client.find(id).await,
    };
    let mut choice = choice(client, &params);
    let opened = params.chat_id.is_some();
    let named = params.chat_id.clone();
    let prepared = match (found, params.chat_id) {
        (Err(error), _) => Err(error),
        (Ok(Found::Bad), id) => return refuse(id, responder),
        (Ok(Found::Chat(handle)), Some(id)) => resume(client, handle, id, choice, message).await,
        (Ok(Found::Chat(_) | Found::Free), id) => {
            // An unknown model is named in the chat and not stored.
            let named = choice.model.clone();
            choice.model = known(client, choice.model);
            start(client, id, choice, named, message, opened).await
        }
    };
    let prompt = match prepared {
        Ok(prompt) => prompt,
        Err(error) => return cannot_begin(client, named, &sentence(&error), responder).await,
    };
    let asked = match typed(&prompt.message, &client.prompts()) {
        Typed::Run(command) => {
            let text = commands::run(command, client, prompt.thread()).await;
            return prompt.say(request.ordinal, &text, responder).await;
        }
        Typed::Refuse(why) => {
            let text = format!("\n\nError: {why}\n");
            return prompt.say(request.ordinal, &text, responder).await;
        }
        asked => asked,
    };
    if client.offer.models.find(&prompt.model).is_none() {
        let text = format!("\n\nError: there is no model {}\n", prompt.model);
        return prompt.say(request.ordinal, &text, responder).await;
    }
    let mut attached = Attached {
        contexts: Context::decode(params.contexts.unwrap_or_default()),
        ..Attached::default()
    };
    match asked {
        Typed::Fill(filling) => attached.filling = Some(filling),
        Typed::Named(named) => attached.named = Some(named),
        _ => {}
    }
    prompt.go(attached, request.ordinal, responder).await;
}

/// Returns the full name of a model, if the model is known.
fn known(client: &Client, model: Option<String>) -> Option<String> {
    model.and_then(|model| client.offer.models.find(&model))
}

/// Returns a prompt's choices. Its own come first. For an existing chat, a selection counts if it is newer than the
/// chat's own last choice. A new chat gets the selection or the options.
fn choice(client: &Client, params: &PromptParams) -> Choice {
    let mode = params
        .agent
        .as_deref()
        .or(params.behavior.as_deref())
        .map(mode_of);
    let model = params.model.clone();
    let effort = select::variant(params.variant.as_deref());
    let mut chosen = client.eca.chosen.lock();
    let said = Said {
        mode: mode.is_some(),
        model: model.is_some(),
    };
    let own_chat = params.chat_id.as_ref().and_then(|id| client.eca.chats.thread(id));
    let Some(thread) = own_chat else {
        return Choice {
            mode: mode.or(chosen.mode),
            model: model.or_else(|| chosen.model.clone()),
            effort: effort.or(chosen.effort),
            trust: params.trust,
            policy: chosen.policy,
        };
    };
    let now = chosen.tick();
    let before = client.eca.chats.with(&thread, |chat| chat.says(said, now));
    let before = before.unwrap_or_default();
    Choice {
        mode: mode.or(chosen.mode.filter(|_| chosen.mode_at > before.mode)),
        model: model.or_else(|| chosen.model.clone().filter(|_| chosen.model_at > before.model)),
        effort,
        trust: params.trust,
        policy: None,
    }
}

/// Answers a prompt with an id that no chat can have (6.1).
fn refuse(id: Option<ChatId>, responder: Responder) {
    responder.ok(PromptResult {
        chat_id: id.unwrap_or(ChatId::Text(String::new())),
        model: "error".to_owned(),
        status: PromptStatus::Error,
    });
}

/// Reports why a prompt fails before it has a chat, in the chat that its client means. After an error instead of an
/// answer, most clients would wait forever (2.5).
async fn cannot_begin(client: &Client, id: Option<ChatId>, why: &str, responder: Responder) {
    let Some(id) = id.filter(|id| may_be_made_up(&id.text())) else {
        let said = ShowMessage {
            kind: NoticeKind::Error,
            message: why,
        };
        client.notify("$/showMessage", &said).await;
        return refuse(None, responder);
    };
    let mut told = Vec::new();
    let mut busy = false;
    match client.eca.chats.thread(&id) {
        Some(thread) => busy = client.is_busy(&thread).await,
        None => told.push(ChatContent::Opened(None)),
    }
    client.tell_as(&id, &told).await;
    responder.ok(PromptResult {
        chat_id: id.clone(),
        model: client.offer.models.usual(),
        status: PromptStatus::Prompting,
    });
    let mut told = vec![ChatContent::system(format!("\n\nError: {why}\n"))];
    if !busy {
        told.extend([ChatContent::Status(Status::Idle), ChatContent::finished()]);
    }
    client.tell_as(&id, &told).await;
}

/// Starts a chat.
async fn start(
    client: &Client,
    id: Option<ChatId>,
    choice: Choice,
    named: Option<String>,
    message: String,
    opened: bool,
) -> Result<Prompt, CoreError> {
    let model = choice.model.clone().or(named);
    let mut config = ThreadConfig::default();
    apply(&mut config, choice);
    let config = (config != ThreadConfig::default()).then_some(config);
    let handle = client.new_thread(id.as_ref(), config, None).await?;
    let thread = handle.id().clone();
    let id = id.unwrap_or_else(|| ChatId::Text(thread.to_string()));
    client.know(&thread, id.clone());
    let model = model.unwrap_or_else(|| client.offer.models.usual());
    client.limit(&thread, Some(&model));
    let now = client.eca.chosen.lock().tick();
    client.eca.chats.with(&thread, |chat| {
        chat.view.spent = Some(Spent::default());
        chat.says(
            Said {
                mode: true,
                model: true,
            },
            now,
        );
    });
    Ok(Prompt {
        client: client.clone(),
        handle,
        id,
        model,
        message,
        opened,
        busy: false,
        unread: Vec::new(),
    })
}

/// Prepares a prompt for an existing chat.
async fn resume(
    client: &Client,
    handle: Arc<ThreadHandle>,
    id: ChatId,
    mut choice: Choice,
    message: String,
) -> Result<Prompt, CoreError> {
    let snapshot = client.threads().snapshot(&handle).await?;
    let before = snapshot.state.header.config.clone().unwrap_or_default();
    let named = choice.model.clone();
    choice.model = known(client, choice.model);
    let model = choice
        .model
        .clone()
        .or(named)
        .or_else(|| before.model.clone())
        .unwrap_or_else(|| client.offer.models.usual());
    let mut config = before.clone();
    apply(&mut config, choice);
    if config != before {
        let (done, changed) = oneshot::channel();
        let reply = Box::new(move |result| drop(done.send(result)));
        handle.send(Command::Configure { config, reply }).await;
        changed.await.unwrap_or(Err(CoreError::Stopping))?;
    }
    client.limit(handle.id(), Some(&model));
    client.follow_on(handle.clone(), &snapshot).await?;
    let waits = client
        .eca
        .chats
        .with(handle.id(), |chat| !chat.pending.is_empty());
    Ok(Prompt {
        client: client.clone(),
        busy: snapshot.state.live.is_some() || waits.unwrap_or(false),
        handle,
        id,
        model,
        message,
        opened: false,
        unread: Vec::new(),
    })
}

fn apply(config: &mut ThreadConfig, choice: Choice) {
    // A Thread without a mode is in agent mode, so that choice needs no change.
    if choice.mode.is_some_and(|mode| mode != config.mode()) {
        config.mode = choice.mode;
    }
    if choice.model.is_some() {
        config.model = choice.model;
    }
    config.reasoning_effort = choice.effort.or(config.reasoning_effort);
    if let Some(trust) = choice.trust {
        apply_trust(config, trust);
    } else if config.approval_policy.is_none() {
        config.approval_policy = choice.policy;
    }
}

/// Lets a chat's calls run without questions, or withdraws that. Other policies, which another endpoint has chosen,
/// stay.
pub(super) fn apply_trust(config: &mut ThreadConfig, trust: bool) {
    if trust {
        config.approval_policy = Some(ApprovalPolicy::AutoApprove);
    } else if config.approval_policy == Some(ApprovalPolicy::AutoApprove) {
        config.approval_policy = None;
    }
}

impl Prompt {
    pub(super) fn result(&self) -> PromptResult {
        PromptResult {
            chat_id: self.id.clone(),
            model: self.model.clone(),
            status: PromptStatus::Prompting,
        }
    }

    pub(super) fn thread(&self) -> &ThreadId {
        self.handle.id()
    }

    /// Checks again whether a Turn runs.
    pub(super) async fn look(&mut self) {
        self.busy = self.client.is_busy(self.thread()).await;
    }

    /// Lets the Turn's engine ask this editor.
    pub(super) fn is_answered_for(&self) {
        if let Some(editor) = &self.client.editor {
            editor.answers_for(self.thread());
        }
    }

    /// Returns the notice about attachments that could not be read.
    pub(super) fn notice(&self) -> Option<ChatContent> {
        let one = |unread: &String| format!("\nNot attached: {unread}\n");
        let text: String = self.unread.iter().map(one).collect();
        (!text.is_empty()).then(|| ChatContent::system(text))
    }

    /// Returns the contents before the answer.
    pub(super) fn beginning(&self, content_id: String) -> Vec<ChatContent> {
        let mut told = Vec::new();
        if self.opened {
            told.push(ChatContent::Opened(None));
        }
        if !self.busy {
            told.push(ChatContent::running(WAITING));
        }
        told.push(ChatContent::echo(&self.message, content_id));
        if !self.busy {
            told.push(ChatContent::Status(Status::Running));
        }
        told.extend(self.notice());
        told
    }

    /// Answers without a Turn: with a command's result, or the reason why there is no Turn (6.3, 7.7).
    pub(super) async fn say(self, ordinal: i64, text: &str, responder: Responder) {
        let chats = &self.client.eca.chats;
        chats.with(self.thread(), |chat| chat.recorded(ordinal));
        let beginning = self.beginning(format!("prompt_{ordinal}"));
        self.client.tell(self.thread(), &beginning).await;
        responder.ok(self.result());
        let mut told = vec![ChatContent::system(text)];
        if !self.busy {
            told.extend([ChatContent::Status(Status::Idle), ChatContent::finished()]);
        }
        self.client.tell(self.thread(), &told).await;
    }
}

/// Returns the request for a Turn with this input, from a client with these keys.
pub(super) fn turn_of(input: Vec<InputPart>, keys: ClientKeys) -> StartTurn {
    StartTurn {
        client_message_id: None,
        trigger: None,
        input,
        sender: None,
        channel: Some(CHANNEL.to_owned()),
        features: Eca::features(keys),
    }
}
