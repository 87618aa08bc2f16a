//! `ExtensionCommand`: sends a command to an extension, and reports the change of the document.
//!
//! Extensions do not answer commands. So a change of the document within a time limit counts as the result.

use std::time::Duration;

use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::{ApprovalKind, Json, Scope};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::{Place, decode, done, failed};
use crate::host::Host;
use crate::news::Origin;

/// Longest wait for the first change of the document.
const FIRST: Duration = Duration::from_secs(10);
/// Most names in the answer to an unknown command.
const MAX_NAMES: usize = 50;

pub(super) fn spec() -> ToolSpec {
    super::spec(
        "ExtensionCommand",
        Effect::Writes,
        "Runs a command of a Hermes extension on the HL7 v2 message of this thread, and says whether the extension changed \
         the message. An unknown command is answered with those that there are.",
        &["command"],
        &json!({ "command": { "type": "string" } }),
    )
}

pub(super) struct Execute(pub(super) ToolSpec, pub(super) Place);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: String,
}

impl Tool for Execute {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare(&self, arguments: &Json, _: &ToolEnvironment) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let Arguments { command } = decode(arguments)?;
        let known = self.1.host.commands();
        if !known.contains(&command) {
            let names: Vec<&str> = known.iter().take(MAX_NAMES).map(String::as_str).collect();
            let why = format!("no extension has this command; there are {}", names.join(", "));
            return Err(ToolRefusal::Unusable(why));
        }
        Ok(Box::new(Prepared {
            place: self.1.clone(),
            command,
        }))
    }
}

struct Prepared {
    place: Place,
    command: String,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        let command = &self.command;
        Permission::Ask {
            scope: Scope::new(
                ApprovalKind::RemoteResource,
                command.as_str(),
                format!("hermes:{command}"),
            ),
            reason: format!(
                "The agent wants to run the command {command} of a Hermes extension. It may change the message of this thread, \
                 and do what its program does."
            ),
        }
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let Place { host, thread, .. } = &self.place;
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => failed(&"cancelled: the extension was sent the command and may still change the message"),
                ran = host.execute_and_wait(&self.command, thread, FIRST) => match ran {
                    Ok(Some((version, origin))) => done(format!(
                        "the message has version {version} now, changed by {}", name(host, &origin)
                    )),
                    Ok(None) => done(format!("the extension was sent the command; it has not changed the message within {FIRST:?}")),
                    Err(error) => failed(&error),
                },
            }
        }
        .boxed()
    }
}

/// Returns the author of a change, as text for a model.
fn name(host: &Host, origin: &Origin) -> String {
    match origin {
        Origin::Extension(id) => {
            let all = host.extensions().into_iter();
            let mut found = all.filter(|one| one.id == *id);
            let name = found.next().map_or_else(|| id.to_string(), |one| one.name);
            format!("the extension {name}")
        }
        Origin::Client => "a user".to_owned(),
        Origin::Agent => "the agent".to_owned(),
    }
}
