//! Approvals: earlier decisions, questions, their single settlement and their timeout.

use std::time::Duration;

use bobbin_model::state::LiveTurn;
use bobbin_model::{
    Approval, ApprovalId, ApprovalPolicy, DecidedBy, Decision, Event, ItemBody, ItemId, Lines, TurnId,
    UnixMillis, visible,
};
use tokio::time::Instant;

use super::Owner;
use super::record::{After, Effect, Staged};
use super::run::BY_CALLER;
use super::run::BY_REQUEST;
use crate::CoreError;
use crate::command::Reply;
use crate::engine::{Answer, Ask, Asker};

impl Owner {
    /// Answers a call's question from an earlier decision, or asks users.
    pub(super) async fn ask(&mut self, ask: Ask, asker: Asker) -> Result<(), CoreError> {
        let Some(live) = &self.state.live else {
            return Ok(());
        };
        if let Some(open) = live
            .approvals
            .iter()
            .find(|open| open.call_id == ask.call_id && open.scope == ask.scope)
        {
            let id = open.id.clone();
            self.askers.entry(id).or_default().push(asker);
            return Ok(());
        }
        let policy = self.threads.policy_in_tree(&self.state).await;
        let Some(live) = &self.state.live else {
            return Ok(());
        };
        // An answer from before a crash applies only to the same scope, since a link may point elsewhere by now.
        let known = match live.decided.get(&ask.call_id) {
            Some((scope, decision)) if *scope == ask.scope && !is_withdrawn(live, *decision) => {
                Some(*decision)
            }
            _ => {
                let (threads, actor) = (self.threads.clone(), live.features.actor.clone());
                threads
                    .standing_answer(&self.state, &ask.scope, policy, &actor)
                    .await
            }
        };
        if known == Some(Decision::Cancel) {
            return self.cancel_turn(BY_REQUEST, Effect::default()).await;
        }
        if let Some(decision) = known {
            let effect = Effect::after(After::Standing(asker, decision));
            return self.commit(Staged::default(), effect).await;
        }
        if policy == ApprovalPolicy::Interrupt {
            return self.cancel_turn(BY_CALLER, Effect::default()).await;
        }
        self.open_approval(ask, asker).await
    }

    async fn open_approval(&mut self, ask: Ask, asker: Asker) -> Result<(), CoreError> {
        let now = self.now();
        // A call that asked before a restart may ask about another place now: a link points elsewhere, or another machine has
        // taken over, where the folder has another path. The earlier question would stay, and no answer to it would count.
        let open = self.state.approvals().iter();
        let superseded =
            open.filter(|open| open.call_id == ask.call_id && !self.askers.contains_key(&open.id));
        let superseded: Vec<_> = superseded.map(|open| open.id.clone()).collect();
        let withdrawn = self.state.decide_withdraw(&superseded, now);
        let mut staged = self.stage(withdrawn);
        let wait = i64::try_from(self.threads.settings.approval_max_wait.as_millis()).unwrap_or(i64::MAX);
        let id = self.threads.ids.approval();
        let approval = Approval {
            id: id.clone(),
            // `decide_ask` fills in both.
            turn: TurnId(0),
            item: ItemId(0),
            call_id: ask.call_id,
            scope: ask.scope,
            // The reason contains the agent's words, so it is cleaned. The scope is data, which each client displays itself.
            reason: visible(&ask.reason, Lines::Keep).into_owned(),
            opened_at: now,
            expires_at: UnixMillis(now.0.saturating_add(wait)),
        };
        let Some(events) = self.state.decide_ask(approval) else {
            return Ok(());
        };
        self.askers.entry(id.clone()).or_default().push(asker);
        staged.append(self.stage(events));
        let mut effect = Effect::default();
        let anybody = self
            .state
            .live
            .as_ref()
            .is_some_and(|live| live.features.approvals);
        let root = self.state.header.root();
        let above = || *root != self.state.header.id && self.threads.approvers_of(root) > 0;
        if !anybody && self.shared.approvers() == 0 && !above() {
            // No user can be asked, so the fallback decides at once, and is recorded.
            let answered = self
                .state
                .decide_answer(&id, Decision::Decline, &DecidedBy::Policy, now);
            let events = answered.unwrap_or_default();
            effect.after.push(After::Decided(decisions(&events)));
            staged.append(self.stage(events));
        }
        self.commit(staged, effect).await
    }

    /// Settles a question. A late answer has no effect, and neither has one of an actor who may not give it. Both get no error (04 §6).
    pub(super) async fn answer(&mut self, answer: Answer, reply: Reply<()>) -> Result<(), CoreError> {
        let open = self.state.approval(&answer.approval);
        if open.is_some_and(|open| !answer.actor.may(open.scope.need())) {
            return self
                .commit(Staged::default(), Effect::answer(Box::new(reply)))
                .await;
        }
        let by = DecidedBy::client(answer.client, answer.actor);
        let scope = self
            .state
            .approval(&answer.approval)
            .map(|open| open.scope.clone());
        let decided = self
            .state
            .decide_answer(&answer.approval, answer.decision, &by, self.now());
        let mut events = decided.unwrap_or_default();
        let mut effect = Effect::answer(Box::new(reply));
        if answer.decision == Decision::AcceptAlways {
            effect.remember = scope.filter(|scope| !events.is_empty() && scope.may_be_remembered());
        }
        if answer.decision == Decision::Cancel && !events.is_empty() {
            // The call that asked gets no answer; it ends with its Turn.
            let mut staged = self.stage(events);
            events = self.state.decide_cancel(BY_REQUEST, self.now());
            staged.append(self.stage(events));
            effect.after.extend(self.state.live_turn().map(After::CancelTurn));
            return self.commit(staged, effect).await;
        }
        effect.after.push(After::Decided(decisions(&events)));
        let staged = self.stage(events);
        self.commit(staged, effect).await
    }

    /// Returns the time of the next timeout of an open question.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        if self.stalled.is_some() {
            // The store accepts nothing; the Turn is resumed first.
            return None;
        }
        let first = self.state.approvals().iter().map(|open| open.expires_at).min()?;
        let left = u64::try_from(first.0.saturating_sub(self.now().0)).unwrap_or(0);
        // The clamp prevents a busy loop after the wall clock was set back, and an overflow if it is far ahead.
        Some(Instant::now() + Duration::from_millis(left.clamp(1, 86_400_000)))
    }

    /// Declines the questions that no user answered in time (`approval_timeout`).
    pub(super) async fn expire_approvals(&mut self) -> Result<(), CoreError> {
        if self.stalled.is_some() {
            return Ok(());
        }
        let now = self.now();
        let late: Vec<ApprovalId> = self
            .state
            .approvals()
            .iter()
            .filter(|open| open.expires_at <= now)
            .map(|open| open.id.clone())
            .collect();
        for id in late {
            let decided = self
                .state
                .decide_answer(&id, Decision::Decline, &DecidedBy::Timeout, now);
            let events = decided.unwrap_or_default();
            let after = After::Decided(decisions(&events));
            let mut staged = self.stage(events);
            let body = ItemBody::Error {
                message: "Nobody answered the approval request in time; it was declined.".to_owned(),
                code: "approval_timeout".to_owned(),
                fatal: false,
            };
            let error = self.state.decide_add_item(body, now).map(|(_, events)| events);
            staged.append(self.stage(error.unwrap_or_default()));
            self.commit(staged, Effect::after(after)).await?;
        }
        Ok(())
    }
}

/// Whether a decision is none of a user. One who cancels a call cancels its Turn with it.
fn is_withdrawn(live: &LiveTurn, decision: Decision) -> bool {
    decision == Decision::Cancel && live.cancelling.is_none()
}

fn decisions(events: &[Event]) -> Vec<(ApprovalId, Decision)> {
    let resolved = events.iter().filter_map(|event| match event {
        Event::ApprovalResolved {
            approval, decision, ..
        } => Some((approval.clone(), *decision)),
        _ => None,
    });
    resolved.collect()
}
