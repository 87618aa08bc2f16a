//! `Hl7Patch`: changes places by path, as one step of the document's undo.

use std::fmt::Write as _;

use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
    Touches,
};
use bobbin_hl7::Patch;
use bobbin_model::Json;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::{Place, ask, decode, failed};
use crate::news::Origin;

/// Most patches of a call.
const MAX_PATCHES: usize = 1000;
/// Most paths in a question.
const MAX_SHOWN: usize = 10;

pub(super) fn spec() -> ToolSpec {
    super::spec(
        "Hl7Patch",
        Effect::Writes,
        "Changes the HL7 v2 message that is open in this thread, by path. Everything else stays as it is, byte for byte. The \
         call is one step that users can take back. A patch that cannot be applied is reported and the others are applied.",
        &["patches"],
        &json!({
            "patches": {
                "type": "array", "maxItems": MAX_PATCHES,
                "items": {
                    "type": "object", "required": ["path"], "additionalProperties": false,
                    "properties": {
                        "path": { "type": "string", "description": "PID.5.1, PID.3[2].4, OBX[3].5; or a segment, as OBX[2]." },
                        "value": { "type": "string", "description": "The text to set, without escapes." },
                        "remove": { "type": "boolean", "description": "Clears the place, or removes the segment." },
                        "create": { "type": "boolean", "description": "Creates the segment if it is missing." },
                    },
                },
            },
            "version": { "type": "integer", "description": "The version that was read: refused if the message has another." },
        }),
    )
}

pub(super) struct PatchTool(pub(super) ToolSpec, pub(super) Place);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    patches: Vec<Patch>,
    version: Option<u64>,
}

impl Tool for PatchTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare(&self, arguments: &Json, _: &ToolEnvironment) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let Arguments { patches, version } = decode(arguments)?;
        if patches.is_empty() || patches.len() > MAX_PATCHES {
            let why = format!("give 1 to {MAX_PATCHES} patches");
            return Err(ToolRefusal::Unusable(why));
        }
        Ok(Box::new(Prepared {
            place: self.1.clone(),
            patches,
            version,
        }))
    }
}

struct Prepared {
    place: Place,
    patches: Vec<Patch>,
    version: Option<u64>,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        let paths: Vec<&str> = self
            .patches
            .iter()
            .take(MAX_SHOWN)
            .map(|patch| patch.path.as_str())
            .collect();
        let more = match self.patches.len().saturating_sub(MAX_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let paths = paths.join(", ");
        ask(
            "write",
            "hl7:document",
            &format!(
                "The agent wants to change {paths}{more} of the HL7 message of this thread. An undo of the document takes it back."
            ),
        )
    }

    fn touches(&self) -> Touches {
        Touches::Nothing
    }

    fn run(self: Box<Self>, _: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let Place { host, thread, .. } = &self.place;
            let report = match host
                .patch(thread, self.version, self.patches, Origin::Agent)
                .await
            {
                Ok(report) => report,
                Err(error) => return failed(&error),
            };
            let mut text = format!("{} patches applied by the agent", report.patches_applied);
            if let Ok((_, version)) = host.text(thread).await {
                let _infallible = write!(text, "; the message has version {version} now");
            }
            for failure in &report.errors {
                let _infallible = write!(text, "\n{}: {}", failure.path, failure.message);
            }
            ToolOutput {
                text,
                success: report.success,
                ..ToolOutput::default()
            }
        }
        .boxed()
    }
}
