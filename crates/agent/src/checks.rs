//! Calls that run by themselves once the model has finished and files have changed: tools that say so
//! ([`Tool::after_edits`](bobbin_agent_api::tool::Tool::after_edits)).
//!
//! They are recorded as calls of the model's last reply, so that the record, the clients and a restart need nothing new. A
//! call that fails has something to say: the model is asked again with it. At most [`MAX_ROUNDS`] times in a Turn.

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::model::{Call, Message};
use bobbin_agent_api::policy::Judgement;
use bobbin_model::ItemBody;

use super::turn::TurnRun;

/// Most rounds of checks in a Turn (guess: what a model does not mend in three, it does not mend).
const MAX_ROUNDS: usize = 3;
/// The start of their ids; the round follows.
const CALL_ID: &str = "check_";

/// Whether what has changed in files was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edits {
    Checked,
    Unchecked,
}

/// The result of a round of checks.
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
        let edits = std::mem::replace(&mut self.edits, Edits::Checked);
        if edits == Edits::Checked || round > MAX_ROUNDS {
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
            let arguments = call.arguments.clone().ok_or_else(String::new);
            let body = ItemBody::tool_call(call.tool.clone(), call.id.clone(), arguments);
            turn.add(body).await?;
            self.call_ids.insert(call.id.clone());
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
        // Changes by a check itself are no reason for another check.
        self.edits = Edits::Checked;
        Ok(checked)
    }

    /// Whether a call was allowed in advance: it is a check as its tool has it, after a restart too, and no rule asks about
    /// its tool.
    pub(super) fn is_check(&self, call: &Call) -> bool {
        let own = self.tools.get(&call.tool).and_then(|tool| tool.after_edits());
        let said = self.turn.environment().policy.tool(&call.tool);
        let is_own = own
            .zip(call.arguments.as_ref())
            .is_some_and(|(own, given)| own.get() == given.get());
        is_own
            && round_of(&call.id).is_some()
            && said.is_none_or(|ruling| ruling.judgement == Judgement::Allow)
    }
}

/// Returns the round of a check's call.
fn round_of(id: &str) -> Option<usize> {
    let (round, _) = id.strip_prefix(CALL_ID)?.split_once('_')?;
    round.parse().ok()
}
