//! `chat/askQuestion`: a model's question to the user of the editor (21.1).

use bobbin_model::{Question, QuestionAnswer};
use bobbin_peer::PeerHandle;
use serde::{Deserialize, Serialize};

use crate::view::wire_id;
use crate::wire::ChatId;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AskQuestionParams<'a> {
    chat_id: &'a ChatId,
    question: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    options: Vec<QuestionOption<'a>>,
    tool_call_id: String,
    request_id: &'a str,
    allow_freeform: bool,
}

#[derive(Debug, Serialize)]
struct QuestionOption<'a> {
    label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

#[derive(Debug, Default, Deserialize)]
struct AskQuestionResult {
    #[serde(default)]
    answer: Option<String>,
    #[serde(default)]
    cancelled: Option<bool>,
}

/// Asks an editor a question.
pub(crate) async fn ask(peer: &PeerHandle, chat: &ChatId, question: &Question) -> Option<QuestionAnswer> {
    let inquiry = &question.inquiry;
    let options = inquiry.choices.iter().map(|choice| QuestionOption {
        label: &choice.label,
        description: choice.description.as_deref(),
    });
    let params = AskQuestionParams {
        chat_id: chat,
        question: &inquiry.text,
        options: options.collect(),
        tool_call_id: wire_id(question.turn, &question.call_id),
        request_id: question.id.as_str(),
        allow_freeform: inquiry.free,
    };
    let answered = match peer.call_raw("chat/askQuestion", &params, None).await {
        Ok(answer) => serde_json::from_str::<Option<AskQuestionResult>>(answer.get()),
        // This editor cannot ask, or is gone; others may.
        Err(_) => return None,
    };
    let AskQuestionResult { answer, cancelled } = answered.ok().flatten().unwrap_or_default();
    let answer = answer.filter(|text| cancelled != Some(true) && !text.trim().is_empty());
    Some(answer.map_or(QuestionAnswer::None, QuestionAnswer::Text))
}
