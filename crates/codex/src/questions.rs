//! Approvals and questions of models, put to the client.

use bobbin_model::{Approval, ApprovalKind, Decision, Question, QuestionAnswer, ThreadId};
use bobbin_peer::{CallError, PeerHandle};
use serde_json::{Value, json};

use crate::dialect::Codex;
use crate::items::{call_item_id, shell_line};

/// The decision that covers every line with a program, in the sandbox.
const AMENDMENT: &str = "acceptWithExecpolicyAmendment";
/// The id of the only question of a request.
const QUESTION: &str = "answer";

/// Puts an Approval to the client. Returns `None` if there is no answer; the Approval then stays open for others.
pub(crate) async fn approval(
    codex: &Codex,
    peer: &PeerHandle,
    thread: &ThreadId,
    approval: &Approval,
) -> Option<Decision> {
    let scope = &approval.scope;
    let is_change = codex
        .with_view(thread, |view| {
            view.call(&approval.call_id).map(crate::items::Call::is_change)
        })
        .flatten()
        == Some(true);
    let reason = Some(approval.reason.as_str()).filter(|reason| !reason.is_empty());
    let mut params = json!({
        "threadId": codex.ids.uuid(thread),
        "turnId": approval.turn.to_string(),
        "itemId": call_item_id(approval.turn, &approval.call_id),
        "startedAtMs": approval.opened_at.0,
        "reason": reason,
    });
    let method = if is_change {
        "item/fileChange/requestApproval"
    } else {
        let mut decisions = vec![json!("accept")];
        if scope.may_be_granted() {
            decisions.push(json!("acceptForSession"));
        }
        // "Don't ask again for commands that start with …"
        if let Some(program) = standing(approval) {
            decisions.push(json!({ AMENDMENT: { "execpolicy_amendment": program } }));
            params["proposedExecpolicyAmendment"] = program.into();
        }
        decisions.extend([json!("decline"), json!("cancel")]);
        let is_command = scope.kind == ApprovalKind::Shell;
        let operation = if is_command {
            shell_line(&scope.operation)
        } else {
            format!("{}: {}", scope.operation, scope.target)
        };
        params["command"] = operation.into();
        params["cwd"] = if is_command {
            scope.target.as_str()
        } else {
            codex.root()
        }
        .into();
        params["availableDecisions"] = decisions.into();
        "item/commandExecution/requestApproval"
    };
    let note = |request| codex.note_asked(&approval.id, thread, request);
    let answer = answered(peer.call_noted(method, &params, note).await)?;
    Some(match answer["decision"].as_str() {
        Some("accept") => Decision::Accept,
        Some("acceptForSession") if scope.may_be_granted() => Decision::AcceptForSession,
        Some("cancel") => Decision::Cancel,
        None if answer["decision"][AMENDMENT].is_object() && standing(approval).is_some() => {
            Decision::AcceptAlways
        }
        _ => Decision::Decline,
    })
}

/// Returns the words of the program that an answer for ever covers, in the sandbox; `None` if that is no more than the line.
fn standing(approval: &Approval) -> Option<Vec<String>> {
    let key = approval.scope.standing_key()?;
    let program = key.strip_prefix("shell:")?;
    Some(program.split_whitespace().map(str::to_owned).collect())
}

/// Puts a model's question to the client. Returns `None` if there is no answer; others may have one.
pub(crate) async fn input(codex: &Codex, peer: &PeerHandle, question: &Question) -> Option<QuestionAnswer> {
    let inquiry = &question.inquiry;
    let options: Vec<Value> = inquiry
        .choices
        .iter()
        .map(|choice| {
            let description = choice.description.as_deref().unwrap_or_default();
            json!({ "label": choice.label, "description": description })
        })
        .collect();
    let asked = json!({
        "id": QUESTION,
        "header": "Question",
        "question": inquiry.text,
        "options": (!options.is_empty()).then_some(options),
        "isOther": inquiry.free,
        "isSecret": false,
    });
    let params = json!({
        "threadId": codex.ids.uuid(&question.thread),
        "turnId": question.turn.to_string(),
        "itemId": call_item_id(question.turn, &question.call_id),
        "isBlocking": true,
        "questions": [asked],
    });
    let note = |request| codex.note_asked(&question.id, &question.thread, request);
    let answer = answered(peer.call_noted("item/tool/requestUserInput", &params, note).await)?;
    let texts = answer["answers"][QUESTION]["answers"].as_array();
    let texts: Vec<&str> = texts.into_iter().flatten().filter_map(Value::as_str).collect();
    Some(match texts.join("\n") {
        text if text.trim().is_empty() => QuestionAnswer::None,
        text => QuestionAnswer::Text(text),
    })
}

/// Returns the answer. An error, or the end of the connection, is none.
fn answered(answer: Result<Value, CallError>) -> Option<Value> {
    answer
        .inspect_err(|error| tracing::info!(%error, "a client answered no question"))
        .ok()
}
