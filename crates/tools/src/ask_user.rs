//! `AskUser`: asks the user a question of the model, optionally with answers to choose from.
//!
//! The tool has no effect and permits nothing: clients that follow the Thread show the question, and the first answer
//! is the call's result. It is offered only while such a client is connected (see `agent::inquiry`).

use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::{Choice, Inquiry, Json, Lines, visible};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::arguments::{decode, failed, spec};

/// The tool's name.
pub const ASK_USER: &str = "AskUser";
/// Longest question, bytes (guess: users do not read more).
const MAX_TEXT_BYTES: usize = 4 << 10;
/// Longest choice, and longest description of a choice, bytes.
const MAX_CHOICE_BYTES: usize = 500;
/// Most choices.
const MAX_CHOICES: usize = 10;

#[derive(Debug)]
pub(super) struct AskUser {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    question: String,
    #[serde(default)]
    options: Vec<Offered>,
    #[serde(default)]
    allow_freeform: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Offered {
    label: String,
    #[serde(default)]
    description: Option<String>,
}

impl AskUser {
    pub(super) fn new() -> Self {
        let spec = spec(
            ASK_USER,
            Effect::Reads,
            "Asks the user one question and returns the answer. For what only the user can decide or know, and what \
             changes what you do next; not for permission to use a tool, which is asked for by itself.",
            &["question"],
            &serde_json::json!({
                "question": { "type": "string" },
                "options": {
                    "type": "array",
                    "maxItems": MAX_CHOICES,
                    "items": {
                        "type": "object",
                        "properties": {
                            "label": { "type": "string", "description": "The answer, in a few words." },
                            "description": { "type": "string", "description": "What it would mean." },
                        },
                        "required": ["label"],
                    },
                    "description": "Answers to choose from.",
                },
                "allowFreeform": {
                    "type": "boolean",
                    "description": "Whether anything else may be answered; true when left out.",
                },
            }),
        );
        Self { spec }
    }
}

impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        _environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: Arguments = decode(arguments)?;
        let wrong = |why: String| Err(ToolRefusal::Unusable(why));
        if arguments.question.trim().is_empty() || arguments.question.len() > MAX_TEXT_BYTES {
            return wrong(format!("a question has 1 to {MAX_TEXT_BYTES} bytes"));
        }
        if arguments.options.len() > MAX_CHOICES {
            return wrong(format!("there are at most {MAX_CHOICES} options"));
        }
        let mut choices: Vec<Choice> = Vec::new();
        for Offered { label, description } in arguments.options {
            let long = description.as_ref().map_or(0, String::len).max(label.len()) > MAX_CHOICE_BYTES;
            if label.trim().is_empty() || long {
                return wrong(format!(
                    "an option has a label, and neither that nor its description has more than {MAX_CHOICE_BYTES} bytes"
                ));
            }
            if choices.iter().any(|known| known.label == label) {
                return wrong(format!("the option {label:?} is there twice"));
            }
            choices.push(Choice {
                label: shown(&label),
                description: description.as_deref().map(shown),
            });
        }
        let free = arguments.allow_freeform.unwrap_or(true);
        if !free && choices.is_empty() {
            return wrong("without options the answer is free".to_owned());
        }
        let text = shown(&arguments.question);
        Ok(Box::new(Prepared(Inquiry { text, choices, free })))
    }
}

/// Returns a text that clients can show, without control characters that could overwrite the question.
fn shown(text: &str) -> String {
    visible(text, Lines::Keep).into_owned()
}

struct Prepared(Inquiry);

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn inquiry(&self) -> Option<Inquiry> {
        Some(self.0.clone())
    }

    fn run(self: Box<Self>, _context: CallContext) -> BoxFuture<'static, ToolOutput> {
        // Only a Turn can reach users.
        std::future::ready(failed("there is nobody who could be asked")).boxed()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::testing::Workspace;

    fn asked(arguments: &serde_json::Value) -> Result<Inquiry, String> {
        let prepared = AskUser::new().prepare(&Workspace::json(arguments), &Workspace::new().environment());
        let prepared = prepared.map_err(|refusal| refusal.to_string())?;
        Ok(prepared.inquiry().unwrap())
    }

    #[test]
    fn a_question_is_asked_with_what_may_be_answered() {
        let inquiry = asked(&json!({ "question": "Which?", "options": [{ "label": "tea" }] })).unwrap();
        assert_eq!((inquiry.text.as_str(), inquiry.free), ("Which?", true));
        assert_eq!(inquiry.choices[0].label, "tea");
        assert!(asked(&json!({ "question": "What?" })).unwrap().choices.is_empty());
    }

    #[rstest]
    #[case(json!({ "question": " " }), "1 to")]
    #[case(json!({ "question": "x".repeat(5000) }), "1 to")]
    #[case(json!({ "question": "q", "options": [{ "label": "" }] }), "label")]
    #[case(json!({ "question": "q", "options": [{ "label": "a" }, { "label": "a" }] }), "twice")]
    #[case(json!({ "question": "q", "options": vec![json!({ "label": "a" }); 11] }), "at most 10")]
    #[case(json!({ "question": "q", "allowFreeform": false }), "is free")]
    fn what_nobody_could_answer_is_not_asked(#[case] arguments: serde_json::Value, #[case] why: &str) {
        let refused = asked(&arguments).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}
