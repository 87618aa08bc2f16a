//! `elicitation/create`: a model's question to the user, as a form with one field.

use bobbin_acp_wire::{
    Choice, ElicitationAction, ElicitationMode, ElicitationParams, ElicitationResult, ElicitationScope,
    FormSchema, Property, PropertyKind, method,
};
use bobbin_model::{Question, QuestionAnswer};
use bobbin_peer::PeerHandle;
use serde_json::Value;

use crate::dialect::Acp;
use crate::view::wire_id;

/// The form's field.
const ANSWER: &str = "answer";

/// Puts a question to the client and waits for the answer. Returns `None` if the client cannot ask or is gone; others may.
pub(crate) async fn ask(acp: &Acp, peer: &PeerHandle, question: &Question) -> Option<QuestionAnswer> {
    // The client does not get questions of sessions that it does not show, nor outside of its prompts.
    let mut prompting = acp.sessions.with(&question.thread, |open| open.prompting())?;
    prompting.wait_for(|count| *count > 0).await.ok()?;
    let answer = peer
        .call::<ElicitationResult>(method::ELICITATION_CREATE, &params(question)?)
        .await;
    let result = answer
        .inspect_err(|error| tracing::info!(%error, "a client answered no question"))
        .ok()?;
    let answer = result.content.and_then(|mut content| content.remove(ANSWER));
    Some(match (result.action, answer) {
        (ElicitationAction::Accept, Some(Value::String(text))) if !text.trim().is_empty() => {
            QuestionAnswer::Text(text)
        }
        _ => QuestionAnswer::None,
    })
}

fn params(question: &Question) -> Option<ElicitationParams> {
    let inquiry = &question.inquiry;
    let choices = inquiry.choices.iter().map(|choice| Choice {
        value: choice.label.clone(),
        title: Some(choice.label.clone()),
        description: choice.description.clone(),
    });
    // A field with choices takes no other text, so a question that does is one of free text that names them.
    let is_closed = !inquiry.free && !inquiry.choices.is_empty();
    let property = Property {
        title: Some("Answer".to_owned()),
        description: (!is_closed && !inquiry.choices.is_empty()).then(|| {
            let labels: Vec<&str> = inquiry
                .choices
                .iter()
                .map(|choice| choice.label.as_str())
                .collect();
            format!("For example: {}", labels.join(", "))
        }),
        default: None,
        kind: PropertyKind::String {
            min_length: None,
            max_length: None,
            pattern: None,
            format: None,
            values: None,
            one_of: is_closed.then(|| choices.collect()),
        },
    };
    let mut requested_schema = FormSchema {
        required: vec![ANSWER.to_owned()],
        ..FormSchema::default()
    };
    let property = serde_json::to_value(property).ok()?;
    requested_schema.properties.insert(ANSWER.to_owned(), property);
    Some(ElicitationParams {
        message: inquiry.text.clone(),
        scope: ElicitationScope {
            session_id: Some(question.thread.to_string()),
            tool_call_id: Some(wire_id(question.turn, &question.call_id)),
            request_id: None,
        },
        mode: ElicitationMode::Form { requested_schema },
    })
}
