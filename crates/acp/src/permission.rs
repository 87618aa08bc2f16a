//! `session/request_permission`: an Approval, put to the client.
//!
//! Clients answer only while a prompt of theirs is open, so a question waits for one. It stays an open Approval meanwhile,
//! which any other client can settle; then the request is withdrawn by `$/cancel_request`.

use bobbin_acp_wire::{
    PermissionOption, PermissionOptionKind, PermissionOutcome, RequestPermissionParams,
    RequestPermissionResult, ToolCall, method,
};
use bobbin_model::{Approval, ApprovalKind, Decision, Lines, Scope, ThreadId, visible};
use bobbin_peer::{CallError, PeerHandle};

use crate::dialect::Acp;
use crate::view::{kind, subagent_key, wire_id};

/// The answers, by the ids of their options.
const ANSWERS: [(&str, PermissionOptionKind, Decision); 4] = [
    ("allow_once", PermissionOptionKind::AllowOnce, Decision::Accept),
    (
        "allow_session",
        PermissionOptionKind::AllowAlways,
        Decision::AcceptForSession,
    ),
    (
        "allow_always",
        PermissionOptionKind::AllowAlways,
        Decision::AcceptAlways,
    ),
    ("reject_once", PermissionOptionKind::RejectOnce, Decision::Decline),
];

/// Puts an Approval to the client once a prompt of its own is open, and waits for the answer. Returns `None` if there is
/// none; the Approval then stays open for others.
pub(crate) async fn ask(
    acp: &Acp,
    peer: &PeerHandle,
    thread: &ThreadId,
    approval: &Approval,
) -> Option<Decision> {
    // A subagent's question is one of the session at its root.
    let session = if acp.sessions.is_open(thread) {
        thread.clone()
    } else {
        acp.sessions.root_of(&approval.id)?
    };
    let is_subagents = session != *thread;
    let mut prompting = acp.sessions.with(&session, |open| open.prompting())?;
    // The session may be closed meanwhile.
    prompting.wait_for(|count| *count > 0).await.ok()?;
    let params = params(acp, &session, is_subagents, approval);
    let answer = peer
        .call::<RequestPermissionResult>(method::SESSION_REQUEST_PERMISSION, &params)
        .await;
    let outcome = match answer {
        Ok(result) => result.outcome,
        // The connection is gone; others may answer.
        Err(CallError::ShutDown | CallError::Send(_)) => return None,
        // Programs that cannot ask answer so.
        Err(error) => {
            tracing::info!(%error, "a client answered no permission");
            PermissionOutcome::Cancelled
        }
    };
    match outcome {
        PermissionOutcome::Selected { option_id } => {
            let chosen = ANSWERS.iter().find(|(id, ..)| *id == option_id);
            Some(chosen.map_or(Decision::Decline, |(.., decision)| *decision))
        }
        PermissionOutcome::Cancelled => {
            // The client's own prompt ends. That of another client is not this client's to end.
            let is_own = acp.sessions.with(&session, |open| open.runs(approval.turn));
            (is_own == Some(true) && !is_subagents).then_some(Decision::Cancel)
        }
    }
}

fn params(acp: &Acp, session: &ThreadId, is_subagents: bool, approval: &Approval) -> RequestPermissionParams {
    let key = subagent_key(&approval.id);
    let call = wire_id(approval.turn, if is_subagents { &key } else { &approval.call_id });
    let known = acp.sessions.with(session, |open| open.view.call(&call));
    RequestPermissionParams {
        session_id: session.to_string(),
        tool_call: known.flatten().unwrap_or_else(|| unknown(call, approval)),
        options: options(&approval.scope),
        meta: None,
    }
}

/// Returns a call that the client does not know.
fn unknown(tool_call_id: String, approval: &Approval) -> ToolCall {
    let title = visible(&approval.scope.operation, Lines::One).into_owned();
    let tool = match approval.scope.kind {
        ApprovalKind::Shell => "Exec",
        ApprovalKind::File => "EditFile",
        ApprovalKind::RemoteResource => "",
    };
    ToolCall {
        tool_call_id,
        title: Some(title),
        kind: Some(kind(tool)),
        ..ToolCall::default()
    }
}

/// Returns the answers that may be given, with names that say what they cover.
fn options(scope: &Scope) -> Vec<PermissionOption> {
    let options = ANSWERS.into_iter().filter_map(|(id, kind, decision)| {
        let name = match decision {
            Decision::Accept => "Allow".to_owned(),
            Decision::AcceptForSession if scope.may_be_granted() => {
                format!(
                    "Allow {} in this session",
                    covered(scope, Some(&scope.session_key()))
                )
            }
            Decision::AcceptAlways if scope.may_be_remembered() => {
                format!(
                    "Always allow {} here",
                    covered(scope, scope.standing_key().as_deref())
                )
            }
            Decision::Decline => "Reject".to_owned(),
            Decision::AcceptForSession | Decision::AcceptAlways | Decision::Cancel => return None,
        };
        Some(PermissionOption {
            option_id: id.to_owned(),
            name,
            kind,
        })
    });
    options.collect()
}

/// Longest text of an option's name about what it covers, in characters.
const COVERED_CHARS: usize = 80;

/// Returns what an answer covers: `git diff` for a command with the key `shell:git diff`, else the operation and its
/// target, as `write /etc/hosts`.
fn covered(scope: &Scope, key: Option<&str>) -> String {
    let operation = &scope.operation;
    let covered = match scope.kind {
        ApprovalKind::Shell => {
            let start = key.and_then(|key| key.strip_prefix("shell:"));
            start.unwrap_or(operation).to_owned()
        }
        ApprovalKind::File | ApprovalKind::RemoteResource => format!("{operation} {}", scope.target),
    };
    let first = covered.lines().next().unwrap_or_default();
    let cut: String = first.chars().take(COVERED_CHARS).collect();
    let more = if cut.len() < covered.len() { "…" } else { "" };
    format!("{}{more}", visible(&cut, Lines::One))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(scope: &Scope) -> Vec<(String, String)> {
        let options = options(scope).into_iter();
        options.map(|option| (option.option_id, option.name)).collect()
    }

    #[test]
    fn only_answers_that_can_be_stored_are_offered_and_say_what_they_cover() {
        let command = Scope::new(ApprovalKind::Shell, "git diff a", "/w");
        let names = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            all.iter()
                .map(|(id, name)| ((*id).to_owned(), (*name).to_owned()))
                .collect()
        };
        assert_eq!(
            offered(&command),
            names(&[
                ("allow_once", "Allow"),
                ("allow_session", "Allow git diff a in this session"),
                ("allow_always", "Always allow git diff a here"),
                ("reject_once", "Reject"),
            ])
        );
        assert_eq!(
            offered(&command.clone().once()),
            names(&[("allow_once", "Allow"), ("reject_once", "Reject")])
        );
        let address = Scope::new(ApprovalKind::RemoteResource, "get", "https://tea.test");
        assert_eq!(
            offered(&address)
                .iter()
                .map(|(id, _)| id.as_str())
                .collect::<Vec<_>>(),
            ["allow_once", "allow_session", "reject_once"]
        );
        let file = Scope::new(ApprovalKind::File, "write", "/etc/hosts");
        assert_eq!(
            offered(&file)[1..3],
            names(&[
                ("allow_session", "Allow write /etc/hosts in this session"),
                ("allow_always", "Always allow write /etc/hosts here"),
            ])
        );
    }
}
