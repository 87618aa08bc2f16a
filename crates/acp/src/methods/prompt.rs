//! `session/prompt`: reads the attachments of a prompt, then starts its Turn or queues it behind the running one.
//!
//! A task of its own does so, so that a cancel or another session is served meanwhile. Prompts of one session are
//! recorded in their order. The answer comes with the updates of the Turn's end (see `sessions`).

use bobbin_acp_wire::{ContentBlock, PromptParams, SessionUpdate, Severity, StopReason};
use bobbin_core::{Command, CoreError, Enqueued, Reply, StartedTurn, ThreadHandle};
use bobbin_editor_kit::{Attached, Brought, Context, Typed, typed};
use bobbin_model::state::StartTurn;
use bobbin_model::{InputPart, QueuedInputId, Refusal, ThreadId, TurnId};
use bobbin_peer::{CallContext, ErrorObject, Phase, Responder};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{CHANNEL, Client, cancel, commands, decoded};
use crate::dialect::Acp;
use crate::errors;
use crate::input::Input;
use crate::sessions::{Stage, Tokens};
use crate::view::End;

/// A prompt on its way to a Turn.
struct Prompt {
    client: Client,
    thread: ThreadId,
    ordinal: i64,
    tokens: Tokens,
}

/// The result of the attempt to record a prompt.
enum Taken {
    /// It has a place: its answer comes with its Turn's end.
    Recorded(Place),
    /// It has none: this is its answer.
    Answered(End),
}

/// The place of a prompt in its Thread.
enum Place {
    Runs(TurnId),
    Waits(QueuedInputId),
}

pub(super) fn prompt(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = decoded::<PromptParams>(request, responder) else {
        return;
    };
    let thread = ThreadId::new(params.session_id.as_str());
    if !client.acp.sessions.is_open(&thread) {
        return responder.err(errors::no_session(&params.session_id));
    }
    let input = match Input::new(params.prompt, client.root()) {
        Ok(input) => input,
        Err(why) => return responder.err(errors::invalid(why)),
    };
    let (ordinal, cancelled) = (request.ordinal, responder.token().clone());
    let added = client
        .acp
        .sessions
        .with(&thread, |open| open.add(ordinal, responder));
    let Some((tokens, before)) = added else { return };
    let prompt = Prompt {
        client: client.clone(),
        thread,
        ordinal,
        tokens,
    };
    client
        .tasks
        .spawn(async move { prompt.run(input, before, cancelled).await });
}

impl Prompt {
    /// Serves the prompt until it is answered.
    async fn run(self, input: Input, before: Option<CancellationToken>, cancelled: CancellationToken) {
        let taken = self.take(input, before, &cancelled).await;
        self.tokens.recorded.cancel();
        match taken {
            Taken::Answered(end) => return self.end(end),
            // It was cancelled while it was being recorded.
            Taken::Recorded(place) if self.tokens.stop.is_cancelled() => self.withdraw(place).await,
            Taken::Recorded(_) => {}
        }
        tokio::select! {
            () = self.tokens.over.cancelled() => {
                return commands::offer_changed(&self.client, &self.thread).await;
            }
            () = cancelled.cancelled() => {}
        }
        // The end of a connection leaves its Turns to the server.
        if self.client.peer.phase() == Phase::Active {
            cancel::stop(&self.client, self.thread.as_str()).await;
            self.tokens.over.cancelled().await;
        } else {
            self.end(Err(leaving()));
        }
    }

    /// Reads what the prompt brings along and records it, after the prompt before it.
    async fn take(
        &self,
        input: Input,
        before: Option<CancellationToken>,
        cancelled: &CancellationToken,
    ) -> Taken {
        let Input { message, contexts } = input;
        let reading = async {
            let read = self.read(&message, contexts).await?;
            if let Some(before) = before {
                before.cancelled().await;
            }
            Ok(read)
        };
        let read = tokio::select! {
            biased;
            () = self.client.peer.closed() => return Taken::Answered(Err(leaving())),
            () = cancelled.cancelled() => return Taken::Answered(Ok(StopReason::Cancelled)),
            () = self.tokens.stop.cancelled() => return Taken::Answered(Ok(StopReason::Cancelled)),
            read = reading => read,
        };
        match read {
            // From here on a cancel takes back what is recorded.
            Ok(brought) => self.record(message, brought).await,
            Err(end) => Taken::Answered(end),
        }
    }

    /// Reads what the prompt brings along, or answers it.
    async fn read(&self, message: &str, contexts: Vec<Context>) -> Result<Brought, End> {
        let mut attached = Attached {
            contexts,
            ..Attached::default()
        };
        match typed(message, &self.client.prompts()) {
            Typed::Run(command) => {
                let text = commands::run(command, &self.client, &self.thread).await;
                let said = SessionUpdate::AgentMessageChunk {
                    content: ContentBlock::text(text),
                    message_id: None,
                };
                self.client.send(&self.thread, vec![said]).await;
                return Err(Ok(StopReason::EndTurn));
            }
            Typed::Refuse(why) => return Err(Err(errors::invalid(why))),
            Typed::Fill(filling) => attached.filling = Some(filling),
            Typed::Named(named) => attached.named = Some(named),
            Typed::Model => {}
        }
        let servers = self
            .client
            .acp
            .sessions
            .with(&self.thread, |open| open.servers.clone());
        if let Some(servers) = servers.flatten() {
            // The session's tools are there from the first request to the model.
            servers.settled().await;
        }
        let readers = self.client.acp.readers.clone();
        let read = attached.read(&self.client.offer, &self.thread, readers).await;
        read.map_err(|why| Err(errors::failed(why)))
    }

    /// Starts the prompt's Turn, or queues it behind the running one.
    async fn record(&self, message: String, brought: Brought) -> Taken {
        let handle = match self.client.threads().thread(&self.thread).await {
            Ok(handle) => handle,
            Err(error) => return Taken::Answered(Err(errors::of(&error))),
        };
        let unread = brought.unread.into_iter();
        let notices = self.client.acp.sessions.with(&self.thread, |open| {
            let notice = |what| {
                open.view
                    .notice(Severity::Warning, format!("Not attached: {what}"))
            };
            unread.map(notice).collect()
        });
        self.client.send(&self.thread, notices.unwrap_or_default()).await;
        let message = brought.message.unwrap_or(InputPart::Text { text: message });
        let input: Vec<InputPart> = std::iter::once(message).chain(brought.parts).collect();
        let taken = match self.start(&handle, input.clone()).await {
            Err(CoreError::Refused(Refusal::TurnInProgress { .. })) => self.queue(&handle, input).await,
            started => started,
        };
        match taken {
            Ok(place) => Taken::Recorded(place),
            Err(error) => Taken::Answered(Err(errors::of(&error))),
        }
    }

    async fn start(&self, handle: &ThreadHandle, input: Vec<InputPart>) -> Result<Place, CoreError> {
        let (request, reach) = (self.turn_of(input), self.reaching());
        let (done, placed) = oneshot::channel();
        // Before any client can see the Turn, so that its end finds the prompt.
        let reply: Reply<StartedTurn> = Box::new(move |started| {
            let started = started.map(|started| started.turn.id);
            drop(done.send(started.map(|turn| reach(Place::Runs(turn)))));
        });
        handle.send(Command::StartTurn { request, reply }).await;
        placed.await.unwrap_or(Err(CoreError::Stopping))
    }

    /// Queues the prompt. It runs whatever happens to the Turn before it.
    async fn queue(&self, handle: &ThreadHandle, input: Vec<InputPart>) -> Result<Place, CoreError> {
        let (request, reach) = (self.turn_of(input), self.reaching());
        let (done, placed) = oneshot::channel();
        let reply: Reply<Enqueued> = Box::new(move |queued| {
            let queued = queued.map(|queued| queued.entry.id);
            drop(done.send(queued.map(|id| reach(Place::Waits(id)))));
        });
        handle.send(Command::EnqueueNext { request, reply }).await;
        placed.await.unwrap_or(Err(CoreError::Stopping))
    }

    /// Returns the note of the prompt's place.
    fn reaching(&self) -> impl FnOnce(Place) -> Place + Send + 'static {
        let (acp, thread, ordinal) = (self.client.acp.clone(), self.thread.clone(), self.ordinal);
        move |place| {
            let stage = match &place {
                Place::Runs(turn) => Stage::Runs(*turn),
                Place::Waits(id) => Stage::Queued(id.clone()),
            };
            acp.sessions.with(&thread, |open| open.reach(ordinal, stage));
            place
        }
    }

    fn turn_of(&self, input: Vec<InputPart>) -> StartTurn {
        StartTurn {
            client_message_id: None,
            trigger: None,
            input,
            sender: None,
            channel: Some(CHANNEL.to_owned()),
            features: Acp::features(self.client.offer.keys.clone()),
        }
    }

    /// Takes back a prompt that was cancelled before it was recorded.
    async fn withdraw(&self, place: Place) {
        let Ok(handle) = self.client.threads().thread(&self.thread).await else {
            return;
        };
        match place {
            Place::Runs(turn) => cancel::interrupt(&handle, turn).await,
            Place::Waits(id) => cancel::remove(&handle, vec![id]).await,
        }
    }

    /// Answers the prompt, unless it is answered.
    fn end(&self, end: End) {
        let sessions = &self.client.acp.sessions;
        let prompt = sessions.with(&self.thread, |open| open.take_one(self.ordinal));
        if let Some(prompt) = prompt.flatten() {
            prompt.answer(end);
        }
    }
}

/// The answer to a prompt whose connection ends before its Turn.
fn leaving() -> ErrorObject {
    errors::failed(
        "The server ends; what runs goes on when it is served again. Load the session to see how it went on.",
    )
}
