//! `approval/rules/*`: the rules in force, and the user's standing permissions, which can be removed.

use bobbin_core::{CoreError, Threads};
use bobbin_model::StandingAnswer;
use bobbin_native_wire::handshake::types::EmptyParams;
use bobbin_native_wire::policy::types;
use bobbin_native_wire::policy::types::{
    ApprovalRulesListResult, ApprovalRulesRemoveParams, ApprovalRulesRemoveResult,
};
use bobbin_peer::Responder;
use sha2::{Digest as _, Sha256};

use super::explain;
use crate::client::{Client, fail};
use crate::errors;

/// Bytes of the digest that identifies an answer within a workspace.
const ID_BYTES: usize = 8;

pub(super) fn list(client: &Client, _: EmptyParams, responder: Responder) {
    let threads = client.threads().clone();
    client.spawn(async move {
        match threads.standing_answers().await {
            Ok(answers) => responder.ok(ApprovalRulesListResult {
                rules: threads
                    .settings()
                    .policy
                    .rules()
                    .into_iter()
                    .map(explain::rule)
                    .collect(),
                answers: answers.into_iter().map(answer).collect(),
            }),
            Err(error) => fail(responder, &error),
        }
    });
}

pub(super) async fn remove(client: &Client, params: ApprovalRulesRemoveParams, responder: Responder) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    match removed(client.threads(), params.ids.as_deref()).await {
        Ok(answers) => first.ok(&ApprovalRulesRemoveResult {
            answers: answers.into_iter().map(answer).collect(),
        }),
        Err(error) => first.err(errors::of(&error)),
    }
}

/// Removes the answers of these ids, or all, and returns the others.
async fn removed(threads: &Threads, ids: Option<&[String]>) -> Result<Vec<StandingAnswer>, CoreError> {
    let answers = match ids {
        Some(ids) => {
            let mut answers = threads.standing_answers().await?;
            answers.retain(|answer| ids.contains(&id(answer)));
            Some(answers)
        }
        None => None,
    };
    threads.forget_answers(answers).await?;
    threads.standing_answers().await
}

fn answer(answer: StandingAnswer) -> types::StandingAnswer {
    types::StandingAnswer {
        id: id(&answer),
        approval_type: answer.kind,
        operation: answer.operation,
        target: answer.target,
        conditions: answer.conditions,
    }
}

/// Returns the id of an answer: a digest of its scope.
fn id(answer: &StandingAnswer) -> String {
    // Unambiguous: the parts have no zero byte except the record's own separators.
    let operation = answer.recorded_operation();
    let record = format!("{:?}\0{}\0{operation}", answer.kind, answer.target);
    let digest = Sha256::digest(record.as_bytes());
    hex::encode(&digest[..ID_BYTES])
}
