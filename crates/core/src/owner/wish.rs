//! What engines want to happen, and what committed events cause.

use bobbin_model::{DeltaChannel, Event, ItemBody, ItemId, TurnId};

use super::Owner;
use super::record::{After, Effect};
use crate::CoreError;
use crate::engine::EngineWish;

impl Owner {
    /// Grants one wish, or drops it when its Turn is over; a dropped reply tells the engine so.
    pub(super) async fn wish(&mut self, turn: TurnId, wish: EngineWish) -> Result<(), CoreError> {
        let Some(run) = self.run.as_ref().filter(|run| run.turn == turn) else {
            return Ok(());
        };
        debug_assert_eq!(Some(run.turn), self.state.live_turn());
        if self.cancelling().is_some() && begins_something(&wish) {
            return Ok(());
        }
        let now = self.now();
        match wish {
            EngineWish::Text { item, text } => {
                if let Some(channel) = self.text_channel(item) {
                    self.stream(item, channel, &text, None);
                }
                Ok(())
            }
            EngineWish::Arguments { item, call, text } => {
                self.stream(item, DeltaChannel::ToolArguments, &text, Some(call));
                Ok(())
            }
            EngineWish::Open { body, reply } => {
                let Some((id, events)) = self.state.decide_open_item(body, now) else {
                    return Ok(());
                };
                self.record(events).await?;
                // An engine that no longer waits has ended.
                let _ = reply.send(id);
                Ok(())
            }
            EngineWish::Complete { item, body } => {
                self.record(self.state.decide_complete_item(item, body, now))
                    .await
            }
            EngineWish::Add { body, plan } => {
                let Some((_, mut events)) = self.state.decide_add_item(body, now) else {
                    return Ok(());
                };
                events.extend(plan.map(|plan| Event::PlanUpdated { plan }));
                self.record(events).await
            }
            EngineWish::CallStarted { call_id, reply } => {
                let staged = self.stage(vec![Event::CallStarted { turn, call_id }]);
                self.commit(staged, Effect::after(After::Done(reply))).await
            }
            EngineWish::Plan { plan } => self.record(vec![Event::PlanUpdated { plan }]).await,
            EngineWish::Diff { diff } => self.record(vec![Event::DiffUpdated { turn, diff }]).await,
            EngineWish::Usage {
                usage,
                context_tokens,
            } => {
                let before = self.state.live.as_ref().map(|live| live.turn.usage.output_tokens);
                self.record(vec![Event::UsageAdded {
                    turn,
                    usage,
                    context_tokens,
                    turn_output_tokens: before.map(|before| before + usage.output_tokens),
                }])
                .await
            }
            EngineWish::Guidance { reply } => {
                let staged = self.stage(self.state.decide_guide(now));
                let items = staged.items();
                self.commit(staged, Effect::after(After::Guided(reply, items)))
                    .await
            }
            EngineWish::Ask { ask, reply } => self.ask(ask, reply).await,
            EngineWish::Commit { reply } => {
                self.commit(
                    super::record::Staged::default(),
                    Effect::after(After::Done(reply)),
                )
                .await
            }
        }
    }

    pub(super) async fn record(&mut self, events: Vec<Event>) -> Result<(), CoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let staged = self.stage(events);
        self.commit(staged, Effect::default()).await
    }

    /// Does what committed events cause.
    pub(super) async fn act(&mut self, after: After) -> Result<(), CoreError> {
        match after {
            After::Run(turn) => self.start_engine(turn),
            After::Decided(decisions) => {
                for (approval, decision) in decisions {
                    for asker in self.askers.remove(&approval).into_iter().flatten() {
                        // An engine that no longer waits has ended.
                        let _ = asker.send(decision);
                    }
                }
            }
            After::CancelTurn(turn) if self.state.live_turn() == Some(turn) => self.stop_engine().await?,
            After::CancelTurn(_) => {}
            After::Done(reply) => {
                let _ = reply.send(());
            }
            After::Guided(reply, items) => {
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

/// Whether a wish starts something new, which an interrupted Turn does not take.
fn begins_something(wish: &EngineWish) -> bool {
    match wish {
        EngineWish::Open { .. }
        | EngineWish::CallStarted { .. }
        | EngineWish::Guidance { .. }
        | EngineWish::Ask { .. } => true,
        EngineWish::Text { .. }
        | EngineWish::Arguments { .. }
        | EngineWish::Complete { .. }
        | EngineWish::Add { .. }
        | EngineWish::Plan { .. }
        | EngineWish::Diff { .. }
        | EngineWish::Usage { .. }
        | EngineWish::Commit { .. } => false,
    }
}
