//! `policy/explain`: the outcome of a command, and the rule that decides. Runs, asks and stores nothing.

use bobbin_agent_api::policy::{AppliedRule, Judgement};
use bobbin_agent_api::tool::ToolEnvironment;
use bobbin_core::{CoreError, Snapshot};
use bobbin_model::{ApprovalPolicy, Scope};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::policy::types::{
    PolicyCommand, PolicyExplainParams, PolicyExplainResult, PolicyOutcome, PolicyRule,
};
use bobbin_peer::Responder;

use crate::client::{Client, fail, handle, refuse};

/// Longest command, in bytes (the shell tool's limit).
const MAX_COMMAND_BYTES: usize = 64 << 10;

pub(super) async fn explain(client: &Client, params: PolicyExplainParams, responder: Responder) {
    let command = params.command.trim().to_owned();
    if command.is_empty() || command.len() > MAX_COMMAND_BYTES || command.contains('\0') {
        let detail = format!("'command' must have 1 to {MAX_COMMAND_BYTES} bytes and no zero byte.");
        return refuse(responder, RpcError::invalid_params(detail));
    }
    let (thread, responder) = match params.thread_id {
        Some(id) => match handle(client, &id, responder).await {
            Some((thread, responder)) => (Some(thread), responder),
            None => return,
        },
        None => (None, responder),
    };
    let asking = client.clone();
    client.spawn(async move {
        let client = asking;
        let snapshot = match thread {
            Some(thread) => client.threads().snapshot(&thread).await.map(Some),
            None => Ok(None),
        };
        let answer = match snapshot {
            Ok(snapshot) => answer(&client, command, snapshot.as_ref()).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(result) => responder.ok(result),
            Err(error) => fail(responder, &error),
        }
    });
}

async fn answer(
    client: &Client,
    command: String,
    snapshot: Option<&Snapshot>,
) -> Result<PolicyExplainResult, CoreError> {
    let settings = client.threads().settings();
    let config = snapshot.and_then(|snapshot| snapshot.state.header.config.as_ref());
    // The running Turn's features, or those of a Turn that this client would start.
    let live = snapshot.and_then(|snapshot| snapshot.state.live.as_ref());
    let turn = live.map_or_else(|| client.turn_features(), |live| live.features.clone());
    let environment = settings.environment_of(config, &turn);
    let ToolEnvironment { root, policy, .. } = environment;
    // Blocking: parses the command and looks up paths.
    let judge = move || {
        let ruled = policy.command(&command, &root);
        let scopes = [
            ruled.scope(&command, &root),
            ruled.confined_scope(&command, &root),
        ];
        (scopes, ruled)
    };
    let judged = tokio::task::spawn_blocking(judge).await;
    let (scopes, ruled) = judged.map_err(|_| CoreError::Stopping)?;
    let mut reason = ruled.ruling.reason.clone();
    let outcome = match ruled.ruling.judgement {
        Judgement::Allow => PolicyOutcome::Runs,
        Judgement::Deny => PolicyOutcome::Refused,
        // Bubblewrap hides reserved paths from the command.
        Judgement::Ask if ruled.shows_reserved && settings.approval_policy.confines() => PolicyOutcome::Runs,
        Judgement::Ask => match settings.approval_policy_of(config, &turn) {
            ApprovalPolicy::AutoApprove => match ruled.unseen {
                Some(why) => {
                    reason = why;
                    PolicyOutcome::Refused
                }
                None => PolicyOutcome::AutoApproved,
            },
            _ if is_answered(client, snapshot, &scopes).await => PolicyOutcome::Answered,
            ApprovalPolicy::Sandboxed if ruled.may_run_confined() => PolicyOutcome::RunsSandboxed,
            ApprovalPolicy::Interrupt => PolicyOutcome::Interrupts,
            ApprovalPolicy::Refuse => PolicyOutcome::Refused,
            ApprovalPolicy::Default
            | ApprovalPolicy::Ask
            | ApprovalPolicy::AskWrites
            | ApprovalPolicy::Sandboxed => PolicyOutcome::Asks,
        },
    };
    let commands = ruled.commands.into_iter();
    Ok(PolicyExplainResult {
        judgement: ruled.ruling.judgement,
        outcome,
        reason,
        rule: ruled.ruling.rule.map(rule),
        commands: commands
            .map(|(command, ruling)| PolicyCommand {
                command,
                judgement: ruling.judgement,
                reason: ruling.reason,
                rule: ruling.rule.map(rule),
            })
            .collect(),
        concerns: ruled.concerns,
    })
}

async fn is_answered(client: &Client, snapshot: Option<&Snapshot>, scopes: &[Scope]) -> bool {
    let state = snapshot.map(|snapshot| &*snapshot.state);
    for scope in scopes {
        if client.threads().is_answered(state, scope, client.actor()).await {
            return true;
        }
    }
    false
}

pub(super) fn rule(rule: AppliedRule) -> PolicyRule {
    PolicyRule {
        text: rule.rule,
        source: rule.source,
        reason: rule.reason,
    }
}
