//! The moments of a Turn at which hooks are asked, and what becomes of their answers.
//!
//! A hook's text for the model is recorded as a message of the Turn, so that a restart and later Turns have it too.
//! Without hooks none of this does anything.

use std::sync::Arc;

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::hook::{HookEvent, HookInput, HookReport, HookSaid, Hooks};
use bobbin_agent_api::model::{Call, Message};
use bobbin_agent_api::permission::with_rule;
use bobbin_agent_api::policy::{Judgement, Ruling};
use bobbin_agent_api::tool::Permission;
use bobbin_core::engine::EngineFailure;
use bobbin_model::input::written_text;
use bobbin_model::item::UserMessage;
use bobbin_model::{CompactionTrigger, DeliveryMode, InputPart, Item, ItemBody, TurnId};
use serde_json::{Map, Value, json};

use super::turn::TurnRun;

/// Code of the error that a message was blocked. The model does not read such a message.
pub(super) const PROMPT_BLOCKED: &str = "hook_blocked";
/// Code of the error that a hook has ended a Turn.
const ENDED: &str = "hook_ended";
/// Code of notes about hooks.
const NOTE: &str = "hook";
/// How often hooks can have the agent go on that has finished, in a Turn (guess: what is not done by then is never done).
const MAX_GOING_ON: usize = 5;

/// The decision of hooks about a call that is to be run.
pub(super) enum Before {
    /// It goes on; users are asked first if there is a reason.
    Passes(Option<HookSaid>),
    /// It is not run: why.
    Blocked(String),
}

/// Returns the permission that a call needs when a hook wants a user to be asked.
pub(super) fn with_hook(permission: Permission, asks: Option<HookSaid>, tool: &str) -> Permission {
    let Some(HookSaid { hook, text }) = asks else {
        return permission;
    };
    let ruling = Ruling {
        judgement: Judgement::Ask,
        reason: format!("{hook} asks about it: {text}"),
        rule: None,
    };
    with_rule(permission, Some(ruling), tool)
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn reason(said: &HookSaid) -> String {
    format!("{}: {}", said.hook, said.text)
}

impl TurnRun {
    /// Whether hooks are to be asked at a moment.
    pub(super) fn has_hooks(&self, event: HookEvent, subject: &str) -> bool {
        let hooks = self.hooks.as_ref();
        hooks.is_some_and(|hooks| hooks.has(event, subject))
    }

    /// Whether hooks are asked about calls of a tool.
    pub(super) fn has_hooks_of(&self, call: &Call) -> bool {
        [HookEvent::PreToolUse, HookEvent::PostToolUse]
            .iter()
            .any(|event| self.has_hooks(*event, &call.tool))
    }

    /// Asks the hooks of a moment, and notes what users are to know.
    async fn ask_hooks(
        &self,
        event: HookEvent,
        subject: &str,
        members: Map<String, Value>,
    ) -> Result<HookReport, TurnGone> {
        let hooks: Option<&Arc<dyn Hooks>> = self.hooks.as_ref();
        let Some(hooks) = hooks.filter(|hooks| hooks.has(event, subject)) else {
            return Ok(HookReport::default());
        };
        let input = HookInput {
            event,
            subject: subject.to_owned(),
            thread: self.turn.thread().clone(),
            root: self.turn.environment().root.clone(),
            mode: self.turn.environment().mode,
            members,
        };
        let report = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(TurnGone),
            report = hooks.run(input) => report,
        };
        for message in &report.notes {
            self.note_hook(message.clone()).await?;
        }
        Ok(report)
    }

    async fn note_hook(&self, message: String) -> Result<(), TurnGone> {
        let note = ItemBody::Error {
            message,
            code: NOTE.to_owned(),
            fatal: false,
        };
        self.turn.add(note).await
    }

    /// Gives the model what hooks say.
    async fn hear_hooks(&mut self, said: impl IntoIterator<Item = HookSaid>) -> Result<(), TurnGone> {
        for HookSaid { hook, text } in said {
            let text = format!("[{hook} says]\n{text}");
            let part = InputPart::Text { text };
            let message = UserMessage {
                native: vec![part],
                delivery: DeliveryMode::Guidance,
                client_message_id: None,
                sender: None,
                actor: None,
                trigger: None,
                channel_name: None,
                channel_context: None,
            };
            let parts = message.native.iter().map(InputPart::materialized).collect();
            self.turn.add(ItemBody::UserMessage(message)).await?;
            self.messages.push(Message::User { parts });
        }
        Ok(())
    }

    /// Ends the Turn if a hook has said so.
    fn end_by(said: Option<HookSaid>) -> Result<(), EngineFailure> {
        said.map_or(Ok(()), |said| {
            Err(EngineFailure::Stopped {
                code: ENDED,
                text: format!("{} has ended the turn: {}", said.hook, said.text),
            })
        })
    }

    /// Asks hooks at the beginning of a new Turn: of a Thread's first one, and about the message.
    pub(super) async fn hooks_of_start(&mut self) -> Result<(), EngineFailure> {
        if self.hooks.is_none() || self.turn.header().source.sub_agent().is_some() {
            return Ok(());
        }
        if self.turn.turn() == TurnId(1) {
            let about = members(json!({ "source": "startup" }));
            let report = self.ask_hooks(HookEvent::SessionStart, "startup", about).await?;
            self.hear_hooks(report.context).await?;
            Self::end_by(report.ends)?;
        }
        let said = self.turn.at_start().turn.items.clone();
        Box::pin(self.hooks_of_prompt(&said)).await
    }

    /// Asks hooks about messages of users.
    pub(super) async fn hooks_of_prompt(&mut self, said: &[Item]) -> Result<(), EngineFailure> {
        let texts = said.iter().filter_map(|item| match &item.body {
            ItemBody::UserMessage(said) => Some(written_text(&said.native)),
            _ => None,
        });
        let prompt = texts.collect::<Vec<_>>().join("\n");
        if said.is_empty() {
            return Ok(());
        }
        let about = members(json!({ "prompt": prompt }));
        let report = self.ask_hooks(HookEvent::UserPromptSubmit, "", about).await?;
        if let Some(blocked) = report.blocked.or(report.ends) {
            return Err(EngineFailure::Stopped {
                code: PROMPT_BLOCKED,
                text: format!(
                    "{} has blocked this message, and the model does not get it: {}",
                    blocked.hook, blocked.text
                ),
            });
        }
        self.hear_hooks(report.context).await?;
        Ok(())
    }

    /// Asks hooks about a call that is to be run. Their context is heard once the call has its result.
    pub(super) async fn hooks_before(&mut self, call: &Call) -> Result<Before, TurnGone> {
        let about = members(json!({
            "tool_input": call.arguments.as_ref().map(|json| serde_json::from_str::<Value>(json.get()).unwrap_or_default()),
            "tool_use_id": call.id,
        }));
        let report = self.ask_hooks(HookEvent::PreToolUse, &call.tool, about).await?;
        self.hook_context.extend(report.context);
        self.hook_ends = self.hook_ends.take().or_else(|| report.ends.clone());
        Ok(match report.blocked.or(report.ends) {
            Some(said) => Before::Blocked(format!("refused: {}", reason(&said))),
            None => Before::Passes(report.asks),
        })
    }

    /// Asks hooks about a call that has run.
    pub(super) async fn hooks_after(
        &mut self,
        call: &Call,
        text: &str,
        success: bool,
    ) -> Result<(), TurnGone> {
        let about = members(json!({
            "tool_input": call.arguments.as_ref().map(|json| serde_json::from_str::<Value>(json.get()).unwrap_or_default()),
            "tool_response": { "content": text, "success": success },
            "tool_use_id": call.id,
        }));
        let report = self.ask_hooks(HookEvent::PostToolUse, &call.tool, about).await?;
        self.hook_context
            .extend(report.blocked.into_iter().chain(report.context));
        self.hook_ends = self.hook_ends.take().or(report.ends);
        Ok(())
    }

    /// Gives the model what hooks have said about the calls of a reply, once all of them have results.
    pub(super) async fn hear_hooks_of_calls(&mut self) -> Result<(), EngineFailure> {
        let said = std::mem::take(&mut self.hook_context);
        self.hear_hooks(said).await?;
        Self::end_by(self.hook_ends.take())
    }

    /// Asks hooks about an agent that has finished. Returns whether it goes on.
    pub(super) async fn hooks_of_end(&mut self) -> Result<bool, EngineFailure> {
        let is_subagent = self.turn.header().source.sub_agent().is_some();
        let event = if is_subagent {
            HookEvent::SubagentStop
        } else {
            HookEvent::Stop
        };
        let about = members(json!({ "stop_hook_active": self.went_on > 0 }));
        let report = self.ask_hooks(event, "", about).await?;
        let Some(said) = report.blocked.filter(|_| report.ends.is_none()) else {
            return Ok(false);
        };
        if self.went_on == MAX_GOING_ON {
            let why = format!(
                "{} wants the agent to go on once more, which it has done {MAX_GOING_ON} times: {}",
                said.hook, said.text
            );
            self.note_hook(why).await?;
            return Ok(false);
        }
        self.went_on += 1;
        self.hear_hooks([said]).await?;
        Ok(true)
    }

    /// Notifies hooks that the conversation is to be compacted.
    pub(super) async fn hooks_of_compaction(&self, trigger: CompactionTrigger) -> Result<(), TurnGone> {
        let trigger = match trigger {
            CompactionTrigger::Manual => "manual",
            CompactionTrigger::Auto | CompactionTrigger::Reactive => "auto",
        };
        let about = members(json!({ "trigger": trigger }));
        self.ask_hooks(HookEvent::PreCompact, trigger, about).await?;
        Ok(())
    }

    /// Notifies hooks that a user is asked about a call, and waits no longer than the question is open.
    pub(super) async fn hooks_of_question(&self, reason: &str) -> Result<(), TurnGone> {
        let about = members(json!({ "message": reason, "notification_type": "permission_prompt" }));
        self.ask_hooks(HookEvent::Notification, "permission_prompt", about)
            .await?;
        std::future::pending().await
    }
}
