//! `Hl7Get`: reads the message, or one place of it. The only tool that gives values to a model.

use bobbin_agent_api::cut::head;
use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
    Touches,
};
use bobbin_hl7::{Format, Path, Shape};
use bobbin_model::{ApprovalPolicy, Json};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::{AgentValues, Place, ask, decode, done, failed};

/// Bytes of a result besides the message.
const FRAME: usize = 200;

pub(super) fn spec() -> ToolSpec {
    super::spec(
        "Hl7Get",
        Effect::Reads,
        "Reads the HL7 v2 message that is open in this thread: all of it, or one place. It may have data of patients in it.",
        &[],
        &json!({
            "path": { "type": "string", "description": "One place, as PID.5.1, PID.3[2].4, OBX[3].5 or PID. Left out: all." },
            "format": {
                "type": "string", "enum": ["hl7", "json", "yaml", "toml"],
                "description": "How all of it is written; hl7 when left out.",
            },
        }),
    )
}

pub(super) struct Get(pub(super) ToolSpec, pub(super) Place);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    format: Option<String>,
}

impl Tool for Get {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let Arguments { path, format } = decode(arguments)?;
        let unusable = |error: &dyn ToString| ToolRefusal::Unusable(error.to_string());
        let path = path.map(|path| path.parse::<Path>()).transpose();
        let path = path.map_err(|error| unusable(&error))?;
        let format = format.as_deref().unwrap_or("hl7").parse::<Format>();
        let format = format.map_err(|error| unusable(&error))?;
        // This Thread asks no user, so only the user's configuration may allow it.
        if self.1.values == AgentValues::Ask && environment.approvals == ApprovalPolicy::AutoApprove {
            return Err(ToolRefusal::denied(
                "this thread asks nobody, and values of a message reach a model only after its user's word: \
                 HermesAgent \"allow\" in ~/.craft/config.json",
            ));
        }
        Ok(Box::new(Prepared {
            place: self.1.clone(),
            path,
            format,
        }))
    }
}

struct Prepared {
    place: Place,
    path: Option<Path>,
    format: Format,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        if self.place.values == AgentValues::Allowed {
            return Permission::Free;
        }
        ask(
            "read",
            "hl7:values",
            "The agent wants to read the HL7 message of this thread. Its values go to the provider of the model, and into \
             the stored conversation.",
        )
    }

    fn touches(&self) -> Touches {
        Touches::Nothing
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let Place { host, thread, .. } = &self.place;
            let read = match (&self.path, self.format) {
                (Some(path), _) => host.place(thread, *path).await,
                (None, Format::Hl7) => host.text(thread).await,
                (None, format) => host.get(thread, format, Shape::Segments).await,
            };
            match read {
                // Segments end with carriage returns; models get line feeds.
                Ok((text, version)) => done(framed(
                    &text.replace("\r\n", "\n").replace('\r', "\n"),
                    version,
                    context.max_bytes,
                )),
                Err(error) => failed(&error),
            }
        }
        .boxed()
    }
}

fn framed(text: &str, version: u64, max_bytes: usize) -> String {
    let (shown, is_all) = head(text, max_bytes.saturating_sub(FRAME));
    let rest = text.len() - shown.len();
    let rest = if is_all {
        String::new()
    } else {
        format!("\n[{rest} bytes left out: ask for a path]")
    };
    format!("version {version}\n{shown}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_ends_with_a_word_about_the_rest() {
        assert_eq!(framed("MSH|", 3, 1000), "version 3\nMSH|");
        let cut = framed(&"x".repeat(1000), 3, 500);
        assert!(
            cut.len() <= 500 && cut.ends_with("[700 bytes left out: ask for a path]"),
            "{cut}"
        );
    }
}
