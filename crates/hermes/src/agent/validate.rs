//! `Hl7Validate`: lists the places that do not fit the schema. Findings contain no text of the message.

use std::fmt::Write as _;

use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
    Touches,
};
use bobbin_model::Json;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::{Place, done, failed};

/// Bytes of a result besides its findings.
const FRAME: usize = 100;

pub(super) fn spec() -> ToolSpec {
    super::spec(
        "Hl7Validate",
        Effect::Reads,
        "Compares the HL7 v2 message that is open in this thread with the schema, and returns what does not fit, by path and \
         without values.",
        &[],
        &json!({}),
    )
}

pub(super) struct Validate(pub(super) ToolSpec, pub(super) Place);

impl Tool for Validate {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare(&self, _: &Json, _: &ToolEnvironment) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        Ok(Box::new(Prepared(self.1.clone())))
    }
}

struct Prepared(Place);

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn touches(&self) -> Touches {
        Touches::Nothing
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let found = match self.0.host.validate(&self.0.thread).await {
                Ok(found) => found,
                Err(error) => return failed(&error),
            };
            if found.findings.is_empty() {
                return done("the message fits the schema");
            }
            let limit = context.max_bytes.saturating_sub(FRAME);
            let (mut text, mut shown) = (String::new(), 0);
            for finding in &found.findings {
                let path = finding.path.as_ref();
                let path = path.map_or_else(|| "message".to_owned(), ToString::to_string);
                let line = format!("{path}: {}\n", finding.message);
                if text.len() + line.len() > limit {
                    break;
                }
                text.push_str(&line);
                shown += 1;
            }
            let rest = found.findings.len() - shown;
            if rest > 0 || found.truncated {
                let _infallible = write!(text, "[{rest} or more findings left out]");
            }
            done(text)
        }
        .boxed()
    }
}
