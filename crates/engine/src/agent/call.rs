//! One call, from the model's wish to its result (AppServer protocol 03 §7 and §15): permission, intent on
//! disk, effect, result.

use bobbin_core::engine::{Ask, TurnGone};
use bobbin_core::tool::{Permission, PreparedCall, ToolOutput};
use bobbin_model::{ItemBody, Plan};

use super::execution::Execution;
use super::turn::TurnRun;
use super::{Call, Message};
use crate::tools::is_allowed;

/// What the model is told of a call that nobody allowed.
pub(super) const DECLINED: &str = "refused: this call was not approved; it was not run";

impl TurnRun {
    /// Runs one call, or finds out why it cannot be run, and adds its result.
    pub(super) async fn call(&mut self, call: &Call) -> Result<(), TurnGone> {
        if self.turn.cancelled().is_cancelled() {
            return Err(TurnGone);
        }
        let output = match self.prepare(call) {
            Ok(prepared) => self.run_if_allowed(call, prepared).await?,
            Err(why) => ToolOutput {
                text: why,
                ..ToolOutput::default()
            },
        };
        self.add_result(&call.id, output.text, output.success, output.plan)
            .await?;
        self.note_changes(output.changed).await?;
        if self.turn.cancelled().is_cancelled() {
            // What was done is on record; the Turn ends with it.
            return Err(TurnGone);
        }
        Ok(())
    }

    /// Adds a call's result, and the plan it made, to the record and to the conversation.
    pub(super) async fn add_result(
        &mut self,
        call_id: &str,
        text: String,
        success: bool,
        plan: Option<Plan>,
    ) -> Result<(), TurnGone> {
        let result = ItemBody::ToolResult {
            call_id: call_id.to_owned(),
            result: text.clone(),
            success,
        };
        match plan {
            Some(plan) => self.turn.add_with_plan(result, plan).await?,
            None => self.turn.add(result).await?,
        }
        self.messages.push(Message::Result {
            call_id: call_id.to_owned(),
            text,
            success,
        });
        Ok(())
    }

    fn prepare(&self, call: &Call) -> Result<Box<dyn PreparedCall>, String> {
        let environment = self.turn.environment();
        let Some(tool) = self.tools.get(&call.tool) else {
            let names: Vec<&str> = self.tools.names(environment.mode).collect();
            return Err(format!(
                "there is no tool {:?}; there are {}",
                call.tool,
                names.join(", ")
            ));
        };
        if !is_allowed(tool.spec(), environment.mode) {
            return Err(format!(
                "refused: {} can change things and is withheld in plan mode",
                call.tool
            ));
        }
        let Some(arguments) = &call.arguments else {
            return Err("the arguments are not a JSON object".to_owned());
        };
        tool.prepare(arguments, environment).map_err(|refusal| refusal.0)
    }

    async fn run_if_allowed(
        &self,
        call: &Call,
        prepared: Box<dyn PreparedCall>,
    ) -> Result<ToolOutput, TurnGone> {
        if let Permission::Ask { scope, reason } = prepared.permission() {
            let ask = Ask {
                call_id: call.id.clone(),
                scope,
                reason,
            };
            let decision = tokio::select! {
                biased;
                () = self.turn.cancelled().cancelled() => return Err(TurnGone),
                decision = self.turn.ask(ask) => decision?,
            };
            if !decision.approves() {
                return Ok(ToolOutput {
                    text: DECLINED.to_owned(),
                    ..ToolOutput::default()
                });
            }
        }
        self.turn.start_call(&call.id).await?;
        let execution = Execution::open(&self.turn, call, prepared.command()).await?;
        execution.run(prepared).await
    }
}
