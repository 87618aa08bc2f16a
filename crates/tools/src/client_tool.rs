//! Tools that a client declares for a Thread and runs itself (AppServer protocol 04 §7).
//!
//! Calls go through the same steps as those of built-in tools: the schema, the approval that the client declared, the
//! rules, the record of the call, and then the client. The server sends a call once, to the client that serves the
//! Thread's tools at that moment.

use std::sync::Arc;

use bobbin_agent_api::client::{ClientFailure, ClientToolCall, Service, ThreadClients};
use bobbin_agent_api::dynamic_tool::{fit, is_file_operation, offered_names};
use bobbin_agent_api::policy::Judgement;
use bobbin_agent_api::tool::{
    CallContext, Effect, OutsideWorkspace, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput,
    ToolRefusal, ToolSpec,
};
use bobbin_model::{
    ApprovalKind, DynamicApproval, DynamicOperation, DynamicTool, DynamicToolError, Json, Scope, ToolAnswer,
    TurnId,
};
use bobbin_policy::{Reserved, TraceStatus, trace};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::ToolSet;
use super::paths::{Access, locate, of_owner};
use bobbin_agent_api::client::MAX_ANSWER_BYTES;
use bobbin_agent_api::cut::head_and_tail;

/// Returns the tools that a client declared for a Turn's Thread, without those whose name is in `always`.
pub fn client_tools(
    declared: &[DynamicTool],
    clients: &ThreadClients,
    turn: TurnId,
    always: &ToolSet,
) -> Vec<Arc<dyn Tool>> {
    let names = offered_names(declared, |name| always.get(name).is_some());
    let tools = declared.iter().zip(names).map(|(declared, name)| {
        let spec = ToolSpec {
            name: name.into(),
            description: declared.description.as_str().into(),
            input_schema: declared.input_schema.clone(),
            // A declaration does not state the effect.
            effect: Effect::Writes,
        };
        Arc::new(ClientTool {
            spec,
            declared: declared.clone(),
            clients: clients.clone(),
            turn,
        }) as Arc<dyn Tool>
    });
    tools.collect()
}

struct ClientTool {
    spec: ToolSpec,
    declared: DynamicTool,
    clients: ThreadClients,
    turn: TurnId,
}

impl Tool for ClientTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_there(&self) -> bool {
        self.clients.who(Service::Tools).is_some()
    }

    fn declared(&self) -> Option<&DynamicTool> {
        Some(&self.declared)
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        fit(&self.declared, arguments).map_err(ToolRefusal::Unusable)?;
        let permission = match &self.declared.approval {
            Some(approval) => self.permission(approval, arguments, environment)?,
            None => May::If(Permission::Free),
        };
        Ok(Box::new(Prepared {
            call: ClientToolCall {
                thread: self.clients.thread().cloned().ok_or_else(nobody)?,
                turn: self.turn,
                call_id: String::new(),
                namespace: self.declared.namespace.clone(),
                tool: self.declared.name.clone(),
                arguments: arguments.clone(),
            },
            clients: self.clients.clone(),
            permission,
            failed: match self.declared.plugin_id {
                Some(_) => ToolAnswer::failed_on_channel,
                None => ToolAnswer::failed,
            },
        }))
    }
}

fn nobody() -> ToolRefusal {
    ToolRefusal::Unusable("the thread has no client".to_owned())
}

/// The permission for a call.
enum May {
    /// The permission that the call needs.
    If(Permission),
    /// No user may give the permission.
    Not(String),
}

impl ClientTool {
    fn permission(
        &self,
        approval: &DynamicApproval,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<May, ToolRefusal> {
        let arguments: Map<String, Value> = arguments
            .decode()
            .map_err(|error| ToolRefusal::Unusable(format!("the arguments are not usable: {error}")))?;
        let text = |name: &str| {
            let value = arguments.get(name).and_then(Value::as_str);
            value.ok_or_else(|| {
                ToolRefusal::Unusable(format!("{name} is missing: a person is asked about it"))
            })
        };
        let target = text(&approval.target_argument)?;
        let operation = match &approval.operation {
            DynamicOperation::Fixed(operation) => operation,
            DynamicOperation::Argument(name) => text(name)?,
        };
        let name = &self.spec.name;
        match approval.kind {
            ApprovalKind::File => {
                let access = match operation {
                    "read" => Access::Read,
                    "list" => Access::List,
                    "write" => Access::Write,
                    "edit" => Access::Edit,
                    other => {
                        debug_assert!(!is_file_operation(other));
                        return Err(ToolRefusal::Unusable(format!(
                            "{other:?} is nothing that is done to a file"
                        )));
                    }
                };
                Ok(match locate(environment, target, access) {
                    Ok((_, permission)) => May::If(permission),
                    Err(refusal) => May::Not(refusal.to_string()),
                })
            }
            ApprovalKind::Shell => may_run(operation, target, environment),
            ApprovalKind::RemoteResource => Ok(May::If(Permission::Ask {
                scope: Scope::new(ApprovalKind::RemoteResource, operation, target),
                reason: format!("The agent wants to use {name}."),
            })),
        }
    }
}

/// Returns the permission for a command line that a client's tool would run in a directory.
fn may_run(command: &str, directory: &str, environment: &ToolEnvironment) -> Result<May, ToolRefusal> {
    let command = command.trim();
    let trace = trace(&environment.root, directory, None)?;
    let outside = Reserved::of(&environment.root).status(&trace) != TraceStatus::Inside;
    let directory = trace.path;
    let ruled = environment.policy.command(command, &directory);
    let ask = |why: &str| Permission::Ask {
        scope: ruled.scope(command, &directory),
        reason: format!("The agent wants to run a command with a tool of a client: {why}."),
    };
    if let Some(why) = ruled.refusal(environment.approvals) {
        return Ok(May::Not(format!("refused: {why}; it was not run")));
    }
    let ruling = &ruled.ruling;
    Ok(match (outside, environment.outside_workspace) {
        (true, OutsideWorkspace::Refuse) => {
            May::Not("it would run outside the workspace, where this thread may not go".to_owned())
        }
        (true, OutsideWorkspace::Ask) => May::If(of_owner(ask("it would run outside the workspace"))),
        (false, _) if ruling.judgement == Judgement::Ask => May::If(ask(&ruling.reason)),
        (false, _) => May::If(Permission::Free),
    })
}

struct Prepared {
    call: ClientToolCall,
    clients: ThreadClients,
    permission: May,
    failed: Failed,
}

/// Makes the answer of a call that failed, with the code of the tool's kind.
type Failed = fn(DynamicToolError, String) -> ToolAnswer;

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        match &self.permission {
            May::If(permission) => permission.clone(),
            May::Not(_) => Permission::Free,
        }
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let failed = self.failed;
            if let May::Not(why) = self.permission {
                let denied = failed(DynamicToolError::AccessDenied, why);
                return ToolOutput {
                    refused: true,
                    ..output(denied)
                };
            }
            let Some(client) = self.clients.who(Service::Tools) else {
                let why = "the client that runs this tool is not connected; the call was not sent";
                return output(failed(DynamicToolError::Unavailable, why.to_owned()));
            };
            let call = ClientToolCall {
                call_id: context.origin.call.clone(),
                ..self.call
            };
            let answer = tokio::select! {
                biased;
                () = context.cancel.cancelled() => {
                    let why = "the call was given up; it may have had some or all of its effect";
                    failed(DynamicToolError::Cancelled, why.to_owned())
                }
                answer = client.run_tool(call) => {
                    answer.map_or_else(|why| failure(why, failed), |answer| named(answer, failed))
                },
            };
            output(answer)
        }
        .boxed()
    }
}

/// Adds an error code to a failed answer without one.
fn named(mut answer: ToolAnswer, failed: Failed) -> ToolAnswer {
    if !answer.success
        && answer
            .error_code
            .as_deref()
            .is_none_or(|code| code.trim().is_empty())
    {
        answer.error_code = failed(DynamicToolError::Failed, String::new()).error_code;
    }
    answer
}

fn failure(failure: ClientFailure, failed: Failed) -> ToolAnswer {
    let maybe = "it may have had some or all of its effect, and it was not repeated";
    match failure {
        ClientFailure::Gone => failed(
            DynamicToolError::Unavailable,
            format!("the client left while this call ran; {maybe}"),
        ),
        ClientFailure::Refused(why) | ClientFailure::Forbidden(why) => {
            failed(DynamicToolError::ClientError, why)
        }
        ClientFailure::Unusable(why) => failed(DynamicToolError::InvalidResponse, why),
        ClientFailure::Late(limit) => failed(
            DynamicToolError::Timeout,
            format!("no answer within {limit:?}; {maybe}"),
        ),
    }
}

fn output(answer: ToolAnswer) -> ToolOutput {
    ToolOutput {
        text: head_and_tail(&answer.text(), MAX_ANSWER_BYTES),
        success: answer.success,
        answer: Some(Box::new(answer)),
        ..ToolOutput::default()
    }
}

#[cfg(test)]
mod tests {
    use bobbin_model::ApprovalPolicy;
    use bobbin_rules::{RuleSet, RuleText};

    use super::*;
    use crate::testing::Workspace;
    use bobbin_policy::RulesPolicy;

    #[test]
    fn a_line_that_the_rules_cannot_read_runs_with_a_clients_tool_only_where_somebody_is_asked() {
        let workspace = Workspace::new();
        let rule = RuleText {
            action: "deny".to_owned(),
            path: Some("secrets/key".to_owned()),
            ..RuleText::default()
        };
        let asks = ToolEnvironment {
            policy: Arc::new(RulesPolicy::new(RuleSet::new([rule], None).unwrap())),
            ..workspace.environment()
        };
        let auto = ToolEnvironment {
            approvals: ApprovalPolicy::AutoApprove,
            ..asks.clone()
        };
        let may = |line: &str, environment: &ToolEnvironment| match may_run(line, ".", environment).unwrap() {
            May::If(Permission::Free) => "free".to_owned(),
            May::If(Permission::Ask { .. }) => "ask".to_owned(),
            May::Not(why) => why,
        };
        let unread = "cat /proc/self/fd/9";
        assert_eq!(may(unread, &asks), "ask");
        assert!(may(unread, &auto).contains("cannot be held against the rules"));
        assert_eq!(may("make tea", &auto), "ask");
        for environment in [&asks, &auto] {
            assert!(may("cat secrets/key", environment).starts_with("refused: "));
        }
    }
}
