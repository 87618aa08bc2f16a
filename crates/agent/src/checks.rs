//! Calls that run by themselves once the model has finished and files have changed: tools that say so
//! ([`Tool::after_edits`](bobbin_agent_api::tool::Tool::after_edits)).
//!
//! They are recorded as calls of the model's last reply, so that the record, the clients and a restart need nothing new. A
//! call that fails has something to say: the model is asked again with it. At most [`MAX_ROUNDS`] times in a Turn.

use std::collections::HashSet;

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::model::{Call, Message};
use bobbin_agent_api::policy::Judgement;
use bobbin_model::ItemBody;

use super::turn::TurnRun;

/// Most rounds of checks in a Turn (guess: what a model does not mend in three, it does not mend).
const MAX_ROUNDS: usize = 3;
/// What their ids begin with; the round follows.
const CALL_ID: &str = "check_";

/// The calls that a run makes by itself.
#[derive(Default)]
pub(super) struct Checks {
    /// Files have changed since the last round.
    pub(super) are_due: bool,
    /// The calls of this run, by their ids.
    calls: HashSet<String>,
}

/// What came of a round of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checked {
    /// There is nothing for the model to do.
    Clean,
    /// The conversation has something new for the model.
    Findings,
}

impl TurnRun {
    /// Runs the checks that are due.
    pub(super) async fn check_edits(&mut self) -> Result<Checked, TurnGone> {
        let round = 1 + self
            .call_ids
            .iter()
            .filter_map(|id| round_of(id))
            .max()
            .unwrap_or(0);
        if !std::mem::take(&mut self.checks.are_due) || round > MAX_ROUNDS {
            return Ok(Checked::Clean);
        }
        let turn = self.turn.clone();
        let environment = turn.environment();
        let due = self.tools.after_edits(environment.mode);
        let due = due.filter(|(name, _)| environment.config.offers(name));
        let calls: Vec<Call> = due
            .enumerate()
            .map(|(at, (name, arguments))| Call {
                id: format!("{CALL_ID}{round}_{at}"),
                tool: name.to_string(),
                arguments: Some(arguments.clone()),
                provider_state: None,
            })
            .collect();
        if calls.is_empty() {
            return Ok(Checked::Clean);
        }
        for call in &calls {
            let body = ItemBody::ToolCall {
                tool_name: call.tool.clone(),
                call_id: call.id.clone(),
                arguments: call.arguments.clone(),
                arguments_text: None,
                kept: None,
            };
            turn.add(body).await?;
            self.call_ids.insert(call.id.clone());
            self.checks.calls.insert(call.id.clone());
        }
        match self.messages.last_mut() {
            Some(Message::Agent { calls: made, .. }) if made.is_empty() => made.clone_from(&calls),
            _ => self.messages.push(Message::Agent {
                text: String::new(),
                calls: calls.clone(),
            }),
        }
        let mut checked = Checked::Clean;
        for call in &calls {
            self.call(call).await?;
            if matches!(self.messages.last(), Some(Message::Result { success: false, .. })) {
                checked = Checked::Findings;
            }
        }
        // What a check itself has changed is no reason for another.
        self.checks.are_due = false;
        Ok(checked)
    }

    /// Whether a call was allowed in advance: it is a check, and no rule asks about its tool.
    pub(super) fn is_check(&self, call: &Call) -> bool {
        let said = self.turn.environment().policy.tool(&call.tool);
        self.checks.calls.contains(&call.id) && said.is_none_or(|ruling| ruling.judgement == Judgement::Allow)
    }
}

/// Returns the round of a check's call.
fn round_of(id: &str) -> Option<usize> {
    let (round, _) = id.strip_prefix(CALL_ID)?.split_once('_')?;
    round.parse().ok()
}
