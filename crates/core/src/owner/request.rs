//! Requests of engines, and actions that committed events cause.

use bobbin_model::{
    Compaction, ContextNote, ContextWindow, DeltaChannel, Event, Item, ItemBody, ItemId, PlanChange, TurnId,
    UserInputRequest, called_tool,
};
use tokio::sync::oneshot;

use super::Owner;
use super::record::{After, Effect};
use crate::engine::{Billed, TurnRequest, WindowNote};
use crate::{CoreError, Ephemeral};

/// Most bytes of a diff that is stored with its call's result (a guess: a few screens). A longer diff is shown only while its
/// Turn runs.
const MAX_STORED_DIFF: usize = 64 << 10;

impl Owner {
    /// Executes a request, or drops it if its Turn is over. A dropped reply notifies the engine.
    pub(super) async fn request(&mut self, turn: TurnId, request: TurnRequest) -> Result<(), CoreError> {
        let Some(run) = self.run.as_ref().filter(|run| run.turn == turn) else {
            return Ok(());
        };
        debug_assert_eq!(Some(run.turn), self.state.live_turn());
        if self.cancelling().is_some() && begins_something(&request) {
            return Ok(());
        }
        let now = self.now();
        match request {
            TurnRequest::Text { item, text } => {
                if let Some(channel) = self.text_channel(item) {
                    self.stream(item, channel, &text, None);
                }
                Ok(())
            }
            TurnRequest::Arguments { item, call, text } => {
                self.stream(item, DeltaChannel::ToolArguments, &text, Some(call));
                Ok(())
            }
            TurnRequest::Open { body, reply } => {
                let Some((id, events)) = self.state.decide_open_item(body, now) else {
                    return Ok(());
                };
                self.record(events).await?;
                // The engine may have ended.
                let _ = reply.send(id);
                Ok(())
            }
            TurnRequest::Complete { item, body } => {
                self.record(self.state.decide_complete_item(item, body, now))
                    .await
            }
            TurnRequest::Add { body, plan } => self.add(body, plan).await,
            TurnRequest::CallPreviewed { call_id, preview } => {
                let live = self.state.live.as_ref();
                if live.is_some_and(|live| live.previews.get(&call_id) == Some(&preview)) {
                    return Ok(());
                }
                let event = Event::CallPreviewed {
                    turn,
                    call_id,
                    preview,
                };
                self.record(vec![event]).await
            }
            TurnRequest::CallStarted { call_id, reply } => {
                let staged = self.stage(vec![Event::CallStarted { turn, call_id }]);
                self.commit(staged, Effect::after(After::Done(reply))).await
            }
            TurnRequest::Plan { plan } => self.record(vec![Event::PlanUpdated { plan }]).await,
            TurnRequest::ReadPlan { reply } => {
                // The engine may have ended.
                drop(reply.send(self.state.plan.clone()));
                Ok(())
            }
            TurnRequest::Waiting { call, text } => {
                self.note(Ephemeral::Waiting { turn, call, text });
                Ok(())
            }
            TurnRequest::Below { entries } => {
                self.note(Ephemeral::SubAgents { turn, entries });
                Ok(())
            }
            TurnRequest::BelowUsed {
                child,
                usage,
                cost_micros,
            } => {
                self.record(vec![Event::SubAgentUsed {
                    turn,
                    child,
                    usage,
                    cost_micros,
                }])
                .await
            }
            TurnRequest::Diff { diff } => self.record(vec![Event::DiffUpdated { turn, diff }]).await,
            TurnRequest::Usage(billed) => self.record(vec![self.usage(turn, billed)]).await,
            TurnRequest::Note(note) => self.record(vec![noted(turn, note)]).await,
            TurnRequest::Compacted { body, billed, window } => {
                self.compacted(turn, body, billed, window).await
            }
            TurnRequest::Items { reply } => self.items(reply).await,
            TurnRequest::Guidance { reply } => self.guidance(reply).await,
            TurnRequest::Ask { ask, asker } => self.ask(ask, asker).await,
            TurnRequest::Inquire { request, reply } => self.inquire(request, reply).await,
            TurnRequest::Commit { reply } => {
                self.commit(
                    super::record::Staged::default(),
                    Effect::after(After::Done(reply)),
                )
                .await
            }
        }
    }

    /// Records an Item with its change of the plan.
    async fn add(&mut self, mut body: ItemBody, plan: Option<PlanChange>) -> Result<(), CoreError> {
        if let ItemBody::ToolResult {
            call_id,
            change,
            tool_name,
            ..
        } = &mut body
        {
            let live = self.state.live.as_ref();
            *tool_name = live
                .and_then(|live| called_tool(&live.turn.items, call_id))
                .map(ToOwned::to_owned);
            // The result removes the preview from the state.
            let preview = live.and_then(|live| live.previews.get(call_id));
            *change = preview
                .filter(|preview| preview.diff.len() <= MAX_STORED_DIFF)
                .map(|preview| Box::new(preview.clone()));
        }
        let Some((_, mut events)) = self.state.decide_add_item(body, self.now()) else {
            return Ok(());
        };
        let before = || self.state.plan.clone().unwrap_or_default();
        let plan = plan.and_then(|change| before().changed(&change).ok());
        events.extend(plan.map(|plan| Event::PlanUpdated { plan }));
        self.record(events).await
    }

    /// Records a question of the model, unless its call has it open already.
    async fn inquire(
        &mut self,
        request: UserInputRequest,
        reply: oneshot::Sender<Vec<Item>>,
    ) -> Result<(), CoreError> {
        let Some((item, events)) = self.state.decide_inquire(request, self.now()) else {
            return Ok(());
        };
        let staged = self.stage(events);
        let effect = Effect::after(After::Items(reply, vec![item]));
        self.commit(staged, effect).await
    }

    /// Gives the engine the users' inputs, once they are on disk.
    async fn guidance(&mut self, reply: oneshot::Sender<Vec<Item>>) -> Result<(), CoreError> {
        let staged = self.stage(self.state.decide_guide(self.now()));
        let items = staged.items();
        if items.is_empty() {
            // No input needs no disk, so the next round does not wait for the previous round to be stored. Its own output is
            // stored afterwards.
            drop(reply.send(items));
            return Ok(());
        }
        self.commit(staged, Effect::after(After::Items(reply, items)))
            .await
    }

    async fn items(&mut self, reply: oneshot::Sender<Vec<Item>>) -> Result<(), CoreError> {
        let live = self.state.live.as_ref();
        let items = live.map(|live| live.turn.items.clone()).unwrap_or_default();
        let after = Effect::after(After::Items(reply, items));
        self.commit(super::record::Staged::default(), after).await
    }

    /// Records a compaction, its usage and the new size of the window in one commit.
    async fn compacted(
        &mut self,
        turn: TurnId,
        body: Compaction,
        billed: Option<Billed>,
        window: ContextWindow,
    ) -> Result<(), CoreError> {
        let note = WindowNote {
            note: ContextNote::Compacted,
            tokens: body.tokens_after,
            window,
            message: "The conversation so far was compacted to make room.".to_owned(),
        };
        let body = ItemBody::Compaction(Box::new(body));
        let Some((_, added)) = self.state.decide_add_item(body, self.now()) else {
            return Ok(());
        };
        let mut events: Vec<Event> = billed
            .map(|billed| self.usage(turn, billed))
            .into_iter()
            .collect();
        events.extend(added);
        events.push(noted(turn, note));
        self.record(events).await
    }

    fn usage(&self, turn: TurnId, billed: Billed) -> Event {
        let before = self.state.live.as_ref().map(|live| live.turn.usage.output_tokens);
        Event::UsageAdded {
            turn,
            usage: billed.usage,
            context_tokens: billed.context_tokens,
            // A model with an unknown window is measured against the previous one.
            context_window: Some(billed.window.unwrap_or(self.state.context.window)),
            cost_micros: billed.cost_micros,
            turn_output_tokens: before.map(|before| before + billed.usage.output_tokens),
        }
    }

    pub(super) async fn record(&mut self, events: Vec<Event>) -> Result<(), CoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let staged = self.stage(events);
        self.commit(staged, Effect::default()).await
    }

    /// Executes an action of committed events.
    pub(super) async fn act(&mut self, after: After) -> Result<(), CoreError> {
        match after {
            After::Run(turn) => self.start_engine(turn),
            After::Decided(decisions) => {
                for (approval, decision) in decisions {
                    for asker in self.askers.remove(&approval).into_iter().flatten() {
                        // The engine may have ended.
                        let _ = asker.send(decision);
                    }
                }
            }
            After::CancelTurn(turn) if self.state.live_turn() == Some(turn) => self.stop_engine().await?,
            After::CancelTurn(_) => {}
            After::Done(reply) => {
                let _ = reply.send(());
            }
            After::Items(reply, items) => {
                drop(reply.send(items));
            }
            After::Standing(reply, decision) => {
                let _ = reply.send(decision);
            }
        }
        Ok(())
    }

    fn text_channel(&self, item: ItemId) -> Option<DeltaChannel> {
        match self.state.live.as_ref()?.item(item)?.body {
            ItemBody::AgentMessage { .. } => Some(DeltaChannel::AgentMessage),
            ItemBody::Reasoning { .. } => Some(DeltaChannel::Reasoning),
            ItemBody::CommandExecution(_) => Some(DeltaChannel::CommandOutput),
            _ => None,
        }
    }
}

fn noted(turn: TurnId, note: WindowNote) -> Event {
    Event::ContextNoted {
        turn,
        note: note.note,
        tokens: note.tokens,
        window: note.window,
        message: note.message,
    }
}

/// Whether a request starts something new, which an interrupted Turn refuses.
fn begins_something(request: &TurnRequest) -> bool {
    match request {
        TurnRequest::Open { .. }
        | TurnRequest::CallStarted { .. }
        | TurnRequest::Compacted { .. }
        | TurnRequest::Items { .. }
        | TurnRequest::Guidance { .. }
        | TurnRequest::Inquire { .. }
        | TurnRequest::Ask { .. } => true,
        TurnRequest::Text { .. }
        | TurnRequest::Arguments { .. }
        | TurnRequest::Complete { .. }
        | TurnRequest::Add { .. }
        | TurnRequest::CallPreviewed { .. }
        | TurnRequest::Plan { .. }
        | TurnRequest::ReadPlan { .. }
        | TurnRequest::Diff { .. }
        | TurnRequest::Waiting { .. }
        | TurnRequest::Below { .. }
        | TurnRequest::BelowUsed { .. }
        | TurnRequest::Usage(_)
        | TurnRequest::Note(_)
        | TurnRequest::Commit { .. } => false,
    }
}
