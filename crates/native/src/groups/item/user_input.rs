//! A model's question as a request to a client (AppServer protocol 04 §10, 07 §4).

use std::collections::BTreeMap;

use bobbin_model::{Inquiry, Question, QuestionAnswer};
use bobbin_native_wire::item::user_input_types::{
    RequestUserInputParams, RequestUserInputResult, UserInputAnswer, UserInputOption, UserInputQuestion,
};
use bobbin_native_wire::lenient;
use bobbin_peer::PeerHandle;

use crate::groups::item::ITEM_TOOL_REQUEST_USER_INPUT;

/// The id of the one question of a request.
const ONLY: &str = "1";
/// Characters of the question that clients show as its label.
const HEADER_CHARS: usize = 12;

/// Puts a question to a client. Returns `None` if it does not answer: an error, an unreadable result, or a closed
/// connection.
pub(crate) async fn ask(peer: &PeerHandle, question: &Question) -> Option<QuestionAnswer> {
    let params = RequestUserInputParams {
        thread_id: question.thread.to_string(),
        turn_id: question.turn.to_string(),
        item_id: question.item.to_string(),
        call_id: question.call_id.clone(),
        request_id: question.id.to_string(),
        is_blocking: question.blocking,
        questions: questions(&question.inquiry),
    };
    let result = peer
        .call_raw(ITEM_TOOL_REQUEST_USER_INPUT, &params, None)
        .await
        .ok()?;
    lenient::result(&result).ok().map(answer)
}

/// Returns a model's question as clients get it.
pub(crate) fn questions(inquiry: &Inquiry) -> Vec<UserInputQuestion> {
    let option = |choice: &bobbin_model::Choice| UserInputOption {
        label: choice.label.clone(),
        description: choice.description.clone().unwrap_or_default(),
    };
    vec![UserInputQuestion {
        id: ONLY.to_owned(),
        header: inquiry.text.chars().take(HEADER_CHARS).collect(),
        question: inquiry.text.clone(),
        options: inquiry.choices.iter().map(option).collect(),
        is_other: inquiry.free,
        is_secret: false,
    }]
}

/// Returns a user's answer as clients get it.
pub(crate) fn answers(text: Option<String>) -> RequestUserInputResult {
    let answered = text.map(|text| (ONLY.to_owned(), UserInputAnswer { answers: vec![text] }));
    RequestUserInputResult {
        answers: answered.into_iter().collect::<BTreeMap<_, _>>(),
    }
}

fn answer(mut result: RequestUserInputResult) -> QuestionAnswer {
    let text = result
        .answers
        .remove(ONLY)
        .map(|answer| answer.answers.join("\n"));
    match text.filter(|text| !text.trim().is_empty()) {
        Some(text) => QuestionAnswer::Text(text),
        None => QuestionAnswer::None,
    }
}
