//! `rewrite/prompt` and `completion/inline` (21.7): texts that a model writes outside of any chat. Nothing is recorded, and
//! no file is read.

use std::sync::Arc;

use bobbin_agent_api::suggest::{
    CompletionRequest, RewritePiece, RewriteRequest, SuggestError, Suggestions, Writer,
};
use bobbin_model::Effort;
use bobbin_peer::{CallContext, ErrorObject, Responder};
use futures_util::future::join;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use tokio::sync::mpsc;

use super::{Client, params};
use crate::errors;
use crate::running::WritingName;
use crate::view::millis;

/// Most pieces of a text that wait for a slow client.
const PIECES: usize = 16;

#[derive(Debug, Deserialize)]
struct RewriteParams {
    id: String,
    text: String,
    prompt: String,
    path: Option<String>,
    model: Option<String>,
}

#[derive(Debug, Serialize)]
struct RewriteResult {
    status: &'static str,
    model: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RewriteContentReceived<'a> {
    rewrite_id: &'a str,
    content: RewriteContent,
}

/// A content of a rewrite. There is no `replace`: texts come without a fence.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum RewriteContent {
    Started,
    Reasoning,
    Text { text: String },
    Error { message: String },
    Finished { total_time_ms: u64 },
}

/// Params of `completion/inline`. Emacs writes two names with a hyphen.
#[derive(Debug, Deserialize)]
struct CompletionParams {
    #[serde(rename = "docText", alias = "doc-text")]
    doc_text: String,
    #[serde(rename = "docVersion", alias = "doc-version")]
    doc_version: Number,
    position: Position,
    path: Option<String>,
    model: Option<String>,
}

/// A position in a document: both numbers from 1 on, in characters.
#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
struct Position {
    line: usize,
    character: usize,
}

#[derive(Debug, Serialize)]
struct CompletionResult {
    items: Vec<Completion>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Completion {
    text: String,
    doc_version: Number,
    range: Range,
}

#[derive(Debug, Serialize)]
struct Range {
    start: Position,
    end: Position,
}

pub(super) fn rewrite(client: &Client, request: &CallContext, responder: Responder) {
    let Some((asked, responder)) = params::<RewriteParams>(request, responder) else {
        return;
    };
    let effort = client.eca.chosen.lock().effort;
    let (suggestions, writer) = match wanted(client, asked.model.as_deref(), |_| effort) {
        Ok(wanted) => wanted,
        Err(error) => return responder.err(error),
    };
    let Some(writing) = client.eca.running.start(WritingName::Rewrite(asked.id.clone())) else {
        return responder.err(errors::overloaded());
    };
    responder.ok(RewriteResult {
        status: "prompting",
        model: writer.model.clone(),
    });
    let of = client.clone();
    client.tasks.spawn(async move {
        let request = RewriteRequest {
            writer,
            prompt: asked.prompt,
            text: asked.text,
            path: asked.path,
        };
        tokio::select! {
            biased;
            () = of.peer.closed() => {}
            () = writing.replaced() => {}
            () = send_rewritten(&of, &asked.id, &*suggestions, request) => {}
        }
    });
}

async fn send_rewritten(client: &Client, id: &str, suggestions: &dyn Suggestions, request: RewriteRequest) {
    let send = async |content| {
        let content = RewriteContentReceived {
            rewrite_id: id,
            content,
        };
        client.notify("rewrite/contentReceived", &content).await;
    };
    let started_at = client.threads().clock().now();
    let (sender, mut pieces) = mpsc::channel(PIECES);
    let sending = async {
        let mut is_started = false;
        while let Some(piece) = pieces.recv().await {
            if !std::mem::replace(&mut is_started, true) {
                send(RewriteContent::Started).await;
            }
            send(match piece {
                RewritePiece::Reasoning => RewriteContent::Reasoning,
                RewritePiece::Text(text) => RewriteContent::Text { text },
            })
            .await;
        }
    };
    let (rewritten, ()) = join(suggestions.rewrite(request, sender), sending).await;
    send(match rewritten {
        Ok(()) => RewriteContent::Finished {
            total_time_ms: millis(started_at, client.threads().clock().now()),
        },
        Err(error) => RewriteContent::Error {
            message: error.to_string(),
        },
    })
    .await;
}

pub(super) fn complete(client: &Client, request: &CallContext, responder: Responder) {
    let Some((asked, responder)) = params::<CompletionParams>(request, responder) else {
        return;
    };
    let models = &client.offer.models;
    // A completion that comes late is of no use.
    let least = |model: &str| models.efforts(model).into_iter().min();
    let (suggestions, writer) = match wanted(client, asked.model.as_deref(), least) {
        Ok(wanted) => wanted,
        Err(error) => return responder.err(error),
    };
    let Some(writing) = client.eca.running.start(WritingName::Completion) else {
        return responder.err(errors::overloaded());
    };
    let (before, after) = asked.doc_text.split_at(offset(&asked.doc_text, asked.position));
    let completing = suggestions.complete(CompletionRequest {
        writer,
        before: before.to_owned(),
        after: after.to_owned(),
        path: asked.path,
    });
    let cancelled = responder.token().clone();
    client.tasks.spawn(async move {
        let completed = tokio::select! {
            biased;
            // The client no longer waits.
            () = cancelled.cancelled() => return drop(responder),
            () = writing.replaced() => return responder.err(ErrorObject::cancelled()),
            completed = completing => completed,
        };
        match completed {
            Ok(text) => {
                let range = Range {
                    start: asked.position,
                    end: asked.position,
                };
                let item = Completion {
                    text,
                    doc_version: asked.doc_version,
                    range,
                };
                let is_blank = item.text.trim().is_empty();
                let items = (!is_blank).then_some(item).into_iter().collect();
                responder.ok(CompletionResult { items });
            }
            Err(SuggestError::Invalid(why)) => responder.err(errors::refused(why)),
            Err(SuggestError::Unusable(why)) => responder.err(errors::failed(why)),
        }
    });
}

/// Returns the suggestions and the model that a request names, else the chosen one.
fn wanted(
    client: &Client,
    named: Option<&str>,
    effort: impl FnOnce(&str) -> Option<Effort>,
) -> Result<(Arc<dyn Suggestions>, Writer), ErrorObject> {
    let suggestions = client.offer.services.suggestions.clone();
    let suggestions = suggestions.ok_or_else(|| errors::failed("This server writes no texts.".to_owned()))?;
    let name = named.map_or_else(|| client.chosen().1, str::to_owned);
    let unknown = || errors::refused(format!("There is no model {name}. Choose one of the list."));
    let model = client.offer.models.find(&name).ok_or_else(unknown)?;
    let writer = Writer {
        effort: effort(&model).filter(|effort| client.offer.models.efforts(&model).contains(effort)),
        keys: client.offer.keys.clone(),
        model,
    };
    Ok((suggestions, writer))
}

/// Returns the offset of a position. A position behind the end of its line, or of the text, means that end.
fn offset(text: &str, at: Position) -> usize {
    let mut start = 0;
    for line in text.split_inclusive('\n').take(at.line.saturating_sub(1)) {
        start += line.len();
    }
    let line = text[start..].lines().next().unwrap_or_default();
    let mut letters = line.char_indices().skip(at.character.saturating_sub(1));
    start + letters.next().map_or(line.len(), |(offset, _)| offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_1() {
        let text = "één\r\ntwo\n\nfour";
        for (line, character, before) in [
            (1, 1, ""),
            (1, 3, "éé"),
            (1, 4, "één"),
            (1, 9, "één"),
            (2, 2, "één\r\nt"),
            (3, 1, "één\r\ntwo\n"),
            (4, 5, text),
            (9, 1, text),
            (0, 0, ""),
        ] {
            assert_eq!(
                &text[..offset(text, Position { line, character })],
                before,
                "{line}:{character}"
            );
        }
        assert_eq!(
            offset(
                "",
                Position {
                    line: 1,
                    character: 1
                }
            ),
            0
        );
    }
}
