//! A model's question as a request to a client (AppServer protocol 04 §10).

use bobbin_model::{Question, QuestionAnswer};
use bobbin_peer::{CallError, PeerHandle};
use bobbin_session::QuestionReply;

use crate::groups::item::ITEM_TOOL_REQUEST_USER_INPUT;
use crate::groups::item::user_input_types::{
    RequestUserInputParams, RequestUserInputResult, UserInputOption, UserInputQuestion,
    UserInputResolvedNotification,
};
use crate::wire::decode;

/// The id of the one question of a request.
const ONLY: &str = "1";

/// Puts a question to a client.
pub(crate) async fn ask(peer: &PeerHandle, question: &Question) -> QuestionReply {
    let method = ITEM_TOOL_REQUEST_USER_INPUT;
    match peer.call_raw(method, &request(question), None).await {
        Ok(result) => QuestionReply::Answered(answer(decode::result(&result).ok())),
        // An error means that this client cannot answer (04 §5); other clients still may.
        Err(CallError::Remote(_)) => QuestionReply::Passed,
        Err(CallError::ShutDown | CallError::TimedOut(_) | CallError::Send(_) | CallError::Decode(_)) => {
            QuestionReply::Gone
        }
    }
}

fn request(question: &Question) -> RequestUserInputParams {
    let inquiry = &question.inquiry;
    let option = |choice: &bobbin_model::Choice| UserInputOption {
        label: choice.label.clone(),
        description: choice.description.clone(),
    };
    let options: Vec<_> = inquiry.choices.iter().map(option).collect();
    RequestUserInputParams {
        thread_id: question.thread.to_string(),
        turn_id: question.turn.to_string(),
        call_id: question.call_id.clone(),
        request_id: question.id.to_string(),
        questions: vec![UserInputQuestion {
            id: ONLY.to_owned(),
            question: inquiry.text.clone(),
            options: Some(options).filter(|options| !options.is_empty()),
            is_other: inquiry.free,
        }],
    }
}

/// Returns a client's answer; an unreadable one is no answer.
fn answer(result: Option<RequestUserInputResult>) -> QuestionAnswer {
    let said = result.and_then(|mut result| result.answers.remove(ONLY));
    let said = said.map(|said| said.answers.join("\n"));
    match said.filter(|said| !said.trim().is_empty()) {
        Some(text) => QuestionAnswer::Text(text),
        None => QuestionAnswer::None,
    }
}

/// Returns the notification that a question is settled.
pub(crate) fn resolved(question: &Question) -> UserInputResolvedNotification {
    UserInputResolvedNotification {
        thread_id: question.thread.to_string(),
        turn_id: question.turn.to_string(),
        call_id: question.call_id.clone(),
        request_id: question.id.to_string(),
    }
}
