//! Turns a prompt into a Turn (6.2): reads its attachments, waits for earlier prompts, then starts or queues it.
//!
//! A task of its own reads the attachments, so that a stop or another chat is served meanwhile (2.4). Prompts of one
//! chat are recorded in their order. A prompt that is stopped before it is recorded does not run on.

use bobbin_core::{Command, CoreError, Enqueued, Reply, StartedTurn};
use bobbin_editor_kit::{Attached, Brought, sentence};
use bobbin_model::state::QueueChange;
use bobbin_model::{InputPart, ItemId, QueuedInputId, Refusal, TurnId};
use bobbin_peer::Responder;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::decide::interrupt;
use super::prompt::{Prompt, turn_of};
use crate::chats::Pending;
use crate::view::{PARSING, STOPPED, content_id};
use crate::wire::content::ChatContent;

/// A Turn that runs.
struct Began {
    turn: TurnId,
    /// Whether its prompt was stopped before the Turn started.
    stopped: bool,
}

/// A prompt that was queued.
enum Queued {
    Started(TurnId),
    Waits(QueuedInputId),
}

/// A prompt that failed.
struct Unable {
    prompt: Prompt,
    responder: Responder,
    error: CoreError,
}

impl Unable {
    fn new(prompt: Prompt, responder: Responder, error: CoreError) -> Box<Self> {
        Box::new(Self {
            prompt,
            responder,
            error,
        })
    }

    /// Shows in the chat why there is no Turn (7.7). Most clients would wait forever after an error instead of an
    /// answer (2.5).
    async fn tell(mut self, ordinal: i64) {
        self.prompt.look().await;
        let text = format!("\n\nError: {}\n", sentence(&self.error));
        self.prompt.say(ordinal, &text, self.responder).await;
    }
}

impl Prompt {
    /// Starts the Turn as soon as its attachments have been read and the prompts before it are recorded.
    pub(super) async fn go(self, attached: Attached, ordinal: i64, responder: Responder) {
        let chats = &self.client.eca.chats;
        let is_first = chats.with(self.thread(), |chat| chat.pending.is_empty());
        if attached.is_empty() && is_first.unwrap_or(true) {
            return self.run(Brought::default(), ordinal, responder).await;
        }
        self.gather(attached, ordinal, responder).await;
    }

    /// Goes on once the attachments have been read. Other messages are served meanwhile, and a stop ends the reading.
    async fn gather(mut self, attached: Attached, ordinal: i64, responder: Responder) {
        let pending = Pending {
            ordinal,
            stop: CancellationToken::new(),
            over: CancellationToken::new(),
        };
        let chats = &self.client.eca.chats;
        let before = chats
            .with(self.thread(), |chat| chat.wait(pending.clone()))
            .flatten();
        // Local attachments are read too fast to show progress.
        if attached.is_far() {
            let mut told = Vec::new();
            if std::mem::take(&mut self.opened) {
                told.push(ChatContent::Opened(None));
            }
            if !self.busy && before.is_none() {
                told.push(ChatContent::running(PARSING));
            }
            self.client.tell(self.thread(), &told).await;
        }
        let tasks = self.client.tasks.clone();
        tasks.spawn(async move {
            let _over = pending.over.drop_guard();
            let readers = self.client.eca.readers.clone();
            let reading = async {
                let read = attached.read(&self.client.offer, self.thread(), readers).await;
                if let Some(before) = before {
                    before.cancelled().await;
                }
                read
            };
            let read = tokio::select! {
                biased;
                // The client has got no answer, so there is nothing to finish.
                () = self.client.peer.closed() => return,
                () = pending.stop.cancelled() => None,
                read = reading => Some(read),
            };
            // Other Turns may have started or ended meanwhile.
            self.look().await;
            match read {
                Some(Ok(brought)) => self.run(brought, ordinal, responder).await,
                Some(Err(why)) => self.say(ordinal, &format!("\n\nError: {why}\n"), responder).await,
                None => self.say(ordinal, STOPPED, responder).await,
            }
        });
    }

    /// Starts a Turn, or queues the prompt behind the running one (6.2).
    async fn run(mut self, brought: Brought, ordinal: i64, responder: Responder) {
        self.unread = brought.unread;
        let text = self.message.clone();
        let message = brought.message.unwrap_or(InputPart::Text { text });
        let input: Vec<InputPart> = std::iter::once(message).chain(brought.parts).collect();
        let request = turn_of(input.clone(), self.client.offer.keys.clone());
        let handle = self.handle.clone();
        let (tell, requested) = oneshot::channel();
        let reply: Reply<StartedTurn> = Box::new(move |started| {
            let requested = match started {
                Ok(started) => Ok(self.began(&started, ordinal, responder)),
                Err(error) => Err(Unable::new(self, responder, error)),
            };
            // The code after this command waits for the result.
            drop(tell.send(requested));
        });
        handle.send(Command::StartTurn { request, reply }).await;
        match requested.await {
            Ok(Ok(Began { turn, stopped: true })) => interrupt(&handle, turn).await,
            Ok(Err(unable)) => match unable.error {
                CoreError::Refused(Refusal::TurnInProgress { .. }) => {
                    unable.prompt.queue(input, ordinal, unable.responder).await;
                }
                _ => unable.tell(ordinal).await,
            },
            Ok(Ok(Began { stopped: false, .. })) | Err(_) => {}
        }
    }

    /// Shows and answers a prompt whose Turn is recorded and not yet shown.
    fn began(mut self, started: &StartedTurn, ordinal: i64, responder: Responder) -> Began {
        let turn = started.turn.id;
        self.is_answered_for();
        self.busy = false;
        let beginning = self.beginning(content_id(turn, ItemId(1)));
        let is_told = self.client.tell_now(self.thread(), &beginning);
        if !is_told {
            // The client does not read, so it gets the start of the Turn with the other contents, after the answer.
            tracing::info!(thread = %self.thread(), "no room for a prompt's echo before its answer");
        }
        let chats = &self.client.eca.chats;
        let stopped = chats.with(self.thread(), |chat| {
            if is_told {
                chat.view.begun(turn);
            }
            chat.recorded(ordinal)
        });
        responder.ok(self.result());
        self.client.follow(self.handle, started.seq);
        Began {
            turn,
            stopped: stopped.unwrap_or(false),
        }
    }

    async fn queue(self, input: Vec<InputPart>, ordinal: i64, responder: Responder) {
        let (handle, client) = (self.handle.clone(), self.client.clone());
        let (tell, told) = oneshot::channel();
        let reply: Reply<Enqueued> = Box::new(move |queued| {
            let queued = match queued {
                Ok(queued) => {
                    self.is_answered_for();
                    // The echo comes with the Turn.
                    let notice = self.notice();
                    self.client.tell_now(self.thread(), notice.as_slice());
                    responder.ok(self.result());
                    self.client.follow(self.handle, queued.seq);
                    let waits = Queued::Waits(queued.entry.id);
                    Ok(queued.started.map_or(waits, Queued::Started))
                }
                Err(error) => Err(Unable::new(self, responder, error)),
            };
            // The code after this command waits for the result.
            drop(tell.send(queued));
        });
        // The client shows no queue, so the prompt must run whatever happens to the Turn before it.
        let command = Command::EnqueueNext {
            request: turn_of(input, client.offer.keys.clone()),
            reply,
        };
        handle.send(command).await;
        let Ok(queued) = told.await else { return };
        let chats = &client.eca.chats;
        let stopped = chats.with(handle.id(), |chat| chat.recorded(ordinal));
        match queued {
            Err(unable) => unable.tell(ordinal).await,
            Ok(Queued::Started(turn)) if stopped == Some(true) => interrupt(&handle, turn).await,
            Ok(Queued::Waits(id)) if stopped == Some(true) => {
                // The Turn may have just started. Then it takes another stop to end it.
                let reply = Box::new(|_| {});
                let change = QueueChange::Remove(id);
                handle.send(Command::ChangeQueue { change, reply }).await;
            }
            Ok(_) => {}
        }
    }
}
