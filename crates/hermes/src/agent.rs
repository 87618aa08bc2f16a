//! Tools of the agent: they read, change and check the document of its Thread, and run commands of extensions.
//!
//! `Hl7Get`, `Hl7Patch` and `Hl7Validate` exist while the Thread has a document, `ExtensionCommand` while an extension has
//! commands. Only `Hl7Get` gives values of the message to a model, and only after the user allows it. A change is one step of
//! the document's own undo, and is announced with its origin like any other change.

mod command;
mod get;
mod patch;
mod validate;

use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use bobbin_agent_api::tool::{Effect, Permission, Tool, ToolOutput, ToolRefusal, ToolSource, ToolSpec};
use bobbin_model::{ApprovalKind, Json, Scope, ThreadId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::host::Host;

/// Whether the agent works with HL7 messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub enum AgentValues {
    /// It does not.
    #[serde(rename = "off")]
    Withheld,
    /// A user is asked before values of a message reach a model.
    #[default]
    #[serde(rename = "ask")]
    Ask,
    /// Values of messages reach models.
    #[serde(rename = "allow")]
    Allowed,
}

/// The tools of the agent; none before [`AgentTools::begin`].
pub struct AgentTools {
    host: OnceLock<Arc<Host>>,
    values: AgentValues,
    specs: Specs,
}

struct Specs {
    get: ToolSpec,
    patch: ToolSpec,
    validate: ToolSpec,
    command: ToolSpec,
}

/// Context of a call.
#[derive(Clone)]
pub(crate) struct Place {
    host: Arc<Host>,
    thread: ThreadId,
    values: AgentValues,
}

impl AgentTools {
    /// Returns the tools, which agents get after [`AgentTools::begin`].
    pub fn new(values: AgentValues) -> Self {
        Self {
            host: OnceLock::new(),
            values,
            specs: Specs {
                get: get::spec(),
                patch: patch::spec(),
                validate: validate::spec(),
                command: command::spec(),
            },
        }
    }

    /// Offers the tools for the documents and extensions of `host`. Call it once.
    pub fn begin(&self, host: Arc<Host>) {
        // Fails only on a second call.
        drop(self.host.set(host));
    }
}

impl ToolSource for AgentTools {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    fn tools_of(&self, thread: &ThreadId) -> Vec<Arc<dyn Tool>> {
        let Some(host) = self.host.get().filter(|_| self.values != AgentValues::Withheld) else {
            return Vec::new();
        };
        let place = || Place {
            host: host.clone(),
            thread: thread.clone(),
            values: self.values,
        };
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        if host.documents().is_open(thread) {
            tools.push(Arc::new(get::Get(self.specs.get.clone(), place())));
            tools.push(Arc::new(patch::PatchTool(self.specs.patch.clone(), place())));
            tools.push(Arc::new(validate::Validate(self.specs.validate.clone(), place())));
        }
        if !host.commands().is_empty() {
            tools.push(Arc::new(command::Execute(self.specs.command.clone(), place())));
        }
        tools
    }
}

fn spec(
    name: &'static str,
    effect: Effect,
    description: &str,
    required: &[&str],
    properties: &Value,
) -> ToolSpec {
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    ToolSpec {
        name: name.into(),
        description: description.into(),
        // A `Value` always serializes; `null` would only mean "no schema".
        input_schema: Json::of(&schema).unwrap_or_else(|_| RawValue::NULL.to_owned().into()),
        effect,
    }
}

fn decode<T: DeserializeOwned>(arguments: &Json) -> Result<T, ToolRefusal> {
    let decoded = serde_json::from_str(arguments.get());
    // The message of a serde error may quote a value.
    decoded.map_err(|_| {
        ToolRefusal::Unusable("the arguments are not usable: see the schema of this tool".to_owned())
    })
}

/// Returns a question about the document, which a user may answer once for the workspace.
fn ask(operation: &str, target: &str, reason: &str) -> Permission {
    Permission::Ask {
        scope: Scope::new(ApprovalKind::File, operation, target),
        reason: reason.to_owned(),
    }
}

fn done(text: impl Into<String>) -> ToolOutput {
    ToolOutput {
        text: text.into(),
        success: true,
        ..ToolOutput::default()
    }
}

fn failed(why: &impl Display) -> ToolOutput {
    ToolOutput {
        text: why.to_string(),
        ..ToolOutput::default()
    }
}
