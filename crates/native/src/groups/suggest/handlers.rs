//! `workspace/commitMessage/suggest` and `welcome/suggestions` (AppServer protocol 03 §14). They call a model, in tasks
//! that end with the connection.

use std::sync::Arc;

use bobbin_agent_api::suggest::{CommitRequest, Conversation, SuggestError, Suggestions, WelcomeRequest};
use bobbin_core::{CoreError, ListFilter};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::suggest::types::{
    CommitMessageSuggestParams, CommitMessageSuggestResult, WelcomeSuggestion, WelcomeSuggestionSource,
    WelcomeSuggestionsParams, WelcomeSuggestionsResult,
};
use bobbin_peer::Responder;

use crate::client::{Client, environment, fail, refuse};
use crate::convert;
use crate::groups::thread::read::{as_stored, visible_to};

/// Limit of suggestions.
const MAX_ITEMS: u32 = 4;
/// Number of conversations that suggestions are based on.
const CONVERSATIONS: u32 = 20;
/// Default limit of the characters of changes.
const USUAL_DIFF_CHARS: u64 = 100_000;

pub(super) async fn commit_message(
    client: &Client,
    suggestions: &Arc<dyn Suggestions>,
    asked: CommitMessageSuggestParams,
    responder: Responder,
) {
    let suggestions = suggestions.clone();
    if asked.paths.is_empty() {
        let error = RpcError::invalid_params("'paths' must name at least one file.");
        return refuse(responder, error);
    }
    let Some((environment, responder)) = environment(client, asked.thread_id.as_deref(), responder).await
    else {
        return;
    };
    let cancelled = responder.token().clone();
    client.spawn(async move {
        let max = asked.max_diff_chars.unwrap_or(USUAL_DIFF_CHARS);
        let request = CommitRequest {
            root: environment.root,
            model: environment.config.model.clone(),
            paths: asked.paths,
            max_diff_chars: usize::try_from(max).unwrap_or(usize::MAX),
        };
        let made = tokio::select! {
            biased;
            // The client no longer waits.
            () = cancelled.cancelled() => return drop(responder),
            made = suggestions.commit_message(request) => made,
        };
        match made {
            Ok(message) => responder.ok(CommitMessageSuggestResult { message }),
            Err(error) => refuse(responder, wire_error(&error)),
        }
    });
}

pub(super) fn welcome(
    client: &Client,
    suggestions: &Arc<dyn Suggestions>,
    asked: WelcomeSuggestionsParams,
    responder: Responder,
) {
    let suggestions = suggestions.clone();
    if asked.identity.channel_name.trim().is_empty() {
        let error = RpcError::invalid_params("'identity.channelName' must not be blank.");
        return refuse(responder, error);
    }
    let max_items = asked.max_items.unwrap_or(MAX_ITEMS);
    if !(1..=MAX_ITEMS).contains(&max_items) {
        let error = RpcError::invalid_params(format!("'maxItems' must be 1 to {MAX_ITEMS}."));
        return refuse(responder, error);
    }
    let filter = ListFilter {
        limit: Some(CONVERSATIONS),
        ..visible_to(client, asked.identity)
    };
    let (threads, cancelled) = (client.threads().clone(), responder.token().clone());
    client.spawn(async move {
        let work = async {
            let threads = threads.list(as_stored(&threads, filter).await).await?.into_iter();
            let conversations = threads.filter_map(|thread| {
                Some(Conversation {
                    title: thread.header.display_name?,
                    last_active_at: thread.header.last_active_at,
                })
            });
            let request = WelcomeRequest {
                conversations: conversations.collect(),
                max_items: max_items as usize,
            };
            Ok::<_, CoreError>(suggestions.welcome(request).await)
        };
        let made = tokio::select! {
            biased;
            () = cancelled.cancelled() => return drop(responder),
            made = work => made,
        };
        match made {
            Ok(Ok(welcome)) => {
                let items = welcome.items.into_iter().map(|item| WelcomeSuggestion {
                    title: item.title,
                    prompt: item.prompt,
                    reason: item.reason,
                });
                let items: Vec<_> = items.collect();
                responder.ok(WelcomeSuggestionsResult {
                    source: if items.is_empty() {
                        WelcomeSuggestionSource::None
                    } else {
                        WelcomeSuggestionSource::Dynamic
                    },
                    items,
                    generated_at: convert::time(threads.clock().now()),
                    fingerprint: welcome.fingerprint,
                });
            }
            Ok(Err(error)) => refuse(responder, wire_error(&error)),
            Err(error) => fail(responder, &error),
        }
    });
}

/// Returns the wire's error for an error of suggestions.
fn wire_error(error: &SuggestError) -> RpcError {
    match error {
        SuggestError::Invalid(detail) => RpcError::invalid_params(detail.clone()),
        SuggestError::Unusable(detail) => RpcError::invalid_request(detail.clone()),
    }
}
