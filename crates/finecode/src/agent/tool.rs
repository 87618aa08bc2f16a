//! An action as a tool: its arguments, and what a call needs before it may run.

use std::path::PathBuf;
use std::sync::Arc;

use crate::AgentAction;
use bobbin_agent_api::cut::head_and_rest;
use bobbin_agent_api::tool::{
    Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolRefusal, ToolSpec,
};
use bobbin_agent_api::tool_name;
use bobbin_model::{ApprovalKind, ApprovalPolicy, Json, Scope};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::agent::actions::{RunnerSandbox, Shared};
use crate::agent::call::PreparedRun;

/// The condition of an answer about a run that should be confined and is not.
const UNCONFINED: &str = "without a sandbox";
/// Longest piece of a payload in a question.
const MAX_SHOWN: usize = 300;

/// An action that the agent may run.
pub(crate) struct ActionTool {
    shared: Arc<Shared>,
    action: Arc<str>,
    spec: ToolSpec,
    after_edits: Option<Json>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunArguments {
    payload: Option<Box<RawValue>>,
    projects: Option<Vec<PathBuf>>,
    #[serde(default)]
    describe: bool,
}

impl ActionTool {
    pub(crate) fn new(shared: Arc<Shared>, name: &str, action: &AgentAction) -> Self {
        let description = format!(
            "Runs the action {name} of this workspace's FineCode projects and returns what it found, with file and line. \
             It may change files."
        );
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "payload": { "type": "object", "description": "What the action takes; left out, its defaults." },
                "projects": {
                    "type": "array", "items": { "type": "string" },
                    "description": "Directories of projects; left out, each project that has the action.",
                },
                "describe": { "type": "boolean", "description": "Returns the schema of the payload instead of running." },
            },
        });
        let after_edits = action.after_edits.then(|| json!({ "payload": action.payload }));
        Self {
            shared,
            action: name.into(),
            spec: ToolSpec {
                name: tool_name::of_action(name).into(),
                description: description.into(),
                // A `Value` always serializes; `null` would only mean "no schema".
                input_schema: Json::of(&schema).unwrap_or_else(|_| RawValue::NULL.to_owned().into()),
                effect: Effect::Writes,
            },
            after_edits: after_edits.and_then(|arguments| Json::of(&arguments).ok()),
        }
    }
}

impl Tool for ActionTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn after_edits(&self) -> Option<&Json> {
        self.after_edits.as_ref()
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let unusable = |error| ToolRefusal::Unusable(format!("the arguments are not usable: {error}"));
        let RunArguments {
            payload,
            projects,
            describe,
        } = serde_json::from_str(arguments.get()).map_err(unusable)?;
        let payload = match payload {
            Some(payload) => payload,
            None => RawValue::from_string("{}".to_owned()).map_err(unusable)?,
        };
        let action = &self.action;
        let what = if describe {
            format!("know what the FineCode action {action} takes")
        } else {
            format!(
                "run the FineCode action {action} with {}",
                head_and_rest(payload.get(), MAX_SHOWN)
            )
        };
        let place = match &projects {
            Some(projects) => {
                let names: Vec<_> = projects.iter().map(|path| path.display().to_string()).collect();
                format!(" in {}", names.join(", "))
            }
            None => String::new(),
        };
        let sandbox = (self.shared.sandbox)();
        let mut scope = Scope::new(
            ApprovalKind::RemoteResource,
            &**action,
            format!("finecode:{action}"),
        );
        let how = match &sandbox {
            RunnerSandbox::NotNeeded => "outside of the sandbox".to_owned(),
            RunnerSandbox::Confined(how) => {
                scope.sandboxed = true;
                format!("in a sandbox: {how}")
            }
            RunnerSandbox::Missing(why) if environment.approvals == ApprovalPolicy::AutoApprove => {
                return Err(ToolRefusal::Denied(format!(
                    "{why}, and this thread asks nobody; to run actions without a sandbox, set Sandbox.Profile to full"
                )));
            }
            RunnerSandbox::Missing(why) => {
                // An answer given for sandboxed runs covers no others.
                scope.conditions.push(UNCONFINED.to_owned());
                format!("without a sandbox: {why}")
            }
            RunnerSandbox::Refused(why) => {
                return Err(ToolRefusal::Denied(format!(
                    "{why}, and without a sandbox no action runs; make the sandbox work, or set Sandbox.WhenMissing to ask"
                )));
            }
        };
        let permission = Permission::Ask {
            scope,
            reason: format!(
                "The agent wants to {what}{place}. This runs code of the folder, {how}. It may change files."
            ),
        };
        let is_missing = matches!(sandbox, RunnerSandbox::Missing(_));
        let hosts = &self.shared.hosts;
        let host = if is_missing {
            &hosts.outside
        } else {
            &hosts.sandboxed
        };
        Ok(Box::new(PreparedRun {
            shared: self.shared.clone(),
            host: host.clone(),
            in_advance: !is_missing,
            action: action.clone(),
            payload,
            projects,
            describe,
            permission,
            policy: environment.policy.clone(),
        }))
    }
}
