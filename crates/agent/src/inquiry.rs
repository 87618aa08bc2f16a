//! Questions of a model to a user: who may be asked, and which result the model gets.
//!
//! A call that asks has no effect, so its start is not recorded: a run that resumes its Turn asks anew.

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::tool::ToolOutput;
use bobbin_model::{Inquiry, QuestionAnswer};

use super::call::not_run;
use super::turn::TurnRun;

/// The status line while a user is asked.
const WAITING: &str = "Waiting for your answer";

impl TurnRun {
    /// Asks users a question for a call and returns the call's result.
    pub(super) async fn inquire(&self, call_id: &str, inquiry: Inquiry) -> Result<ToolOutput, TurnGone> {
        // A client was connected at the first attempt, and may come back.
        let again = self.turn.at_start().pending_calls().any(|(id, _)| id == call_id);
        if !again && !self.turn.can_inquire() {
            return Ok(not_run(
                "nobody is there who could be asked; decide for yourself, and say so",
            ));
        }
        let (free, choices) = (inquiry.free, inquiry.choices.clone());
        self.turn.show_waiting(Some(call_id), WAITING).await?;
        let _paused = self.watch.pause();
        let answer = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(TurnGone),
            answer = self.turn.inquire(call_id, inquiry) => answer?,
        };
        let text = match answer {
            Some(QuestionAnswer::Text(text)) => text,
            Some(QuestionAnswer::None) => return Ok(not_run("the user did not want to answer")),
            None => return Ok(not_run("nobody has answered in time")),
        };
        if !free && choices.iter().all(|choice| choice.label != text) {
            return Ok(not_run(format!("the user answered none of the options: {text}")));
        }
        Ok(ToolOutput {
            text,
            success: true,
            ..ToolOutput::default()
        })
    }
}
