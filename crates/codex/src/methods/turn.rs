//! Turns: start, steer, interrupt, queue, compact.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_core::{Command, Enqueued, StartedTurn};
use bobbin_model::state::StartTurn;
use bobbin_model::{InputPart, ThreadId, TurnFeatures, TurnId};
use bobbin_peer::{ErrorObject, Responder};
use bobbin_prompts::{COMPACT, OwnCommand};
use serde_json::{Value, json};

use super::{Answer, CHANNEL, Client, thread};
use crate::dialect::Codex;
use crate::{errors, turns};

/// `turn/start`. While a Turn runs, the input is given to it.
pub(super) async fn start(client: &Client, params: &Value, responder: Responder) {
    match started(client, params).await {
        Ok(turn) => responder.ok(json!({ "turn": turn })),
        Err(error) => responder.err(error),
    }
}

async fn started(client: &Client, params: &Value) -> Answer {
    let handle = client.handle(params).await?;
    thread::configure(client, &handle, params).await?;
    let request = request(client, handle.id(), params).await?;
    if let Some(running) = client.snapshot(&handle).await?.state.live_turn() {
        let guided = handle
            .ask(|reply| Command::Guide {
                request: request.clone(),
                turn: running,
                replaces: None,
                reply,
            })
            .await;
        if guided.is_ok() {
            let now = client.threads().clock().now();
            return Ok(turns::started(running, now));
        }
    }
    let started: Result<StartedTurn, _> = handle.ask(|reply| Command::StartTurn { request, reply }).await;
    let started = started.map_err(|error| errors::of(&error))?;
    Ok(turns::started(started.turn.id, started.turn.started_at))
}

async fn request(client: &Client, thread: &ThreadId, params: &Value) -> Result<StartTurn, ErrorObject> {
    Ok(StartTurn {
        input: input(client, thread, &params["input"]).await?,
        sender: None,
        client_message_id: params["clientUserMessageId"].as_str().map(str::to_owned),
        trigger: None,
        channel: Some(CHANNEL.to_owned()),
        features: Codex::features(client.offer.keys.clone()),
    })
}

/// Returns the parts of an input. Pictures that come as bytes are stored with the Thread.
async fn input(client: &Client, thread: &ThreadId, parts: &Value) -> Result<Vec<InputPart>, ErrorObject> {
    let mut input = Vec::new();
    for part in parts.as_array().into_iter().flatten() {
        let text = |name: &str| part[name].as_str().unwrap_or_default();
        match text("type") {
            "text" if !text("text").is_empty() => input.push(InputPart::Text {
                text: text("text").to_owned(),
            }),
            "image" => input.push(picture(client, thread, text("url")).await?),
            "localImage" => {
                // It would be a file of the client's machine.
                let path = Path::new(text("path"));
                if !path.starts_with(&client.threads().settings().workspace) {
                    return Err(errors::invalid("the picture is outside of the workspace"));
                }
                input.push(local(text("path").to_owned(), None));
            }
            "mention" => input.push(InputPart::FileRef {
                path: text("path").to_owned(),
                display_path: None,
            }),
            _ => {}
        }
    }
    if input.is_empty() {
        return Err(errors::params("the input is empty"));
    }
    Ok(input)
}

fn local(path: String, mime_type: Option<String>) -> InputPart {
    InputPart::LocalImage {
        path,
        mime_type,
        file_name: None,
    }
}

/// Returns a picture by its address, or stores the one that a `data:` address has.
async fn picture(client: &Client, thread: &ThreadId, url: &str) -> Result<InputPart, ErrorObject> {
    let Some((_, data)) = url
        .strip_prefix("data:")
        .and_then(|data| data.split_once(";base64,"))
    else {
        return Ok(InputPart::Image { url: url.to_owned() });
    };
    let refused = |why: &str| errors::invalid(format!("the picture cannot be taken: {why}"));
    let files = client.offer.services.pictures.as_ref();
    let files = files.ok_or_else(|| refused("this server stores none"))?;
    let data = data.to_owned();
    let bytes = tokio::task::spawn_blocking(move || STANDARD.decode(data)).await;
    let bytes = bytes
        .ok()
        .and_then(Result::ok)
        .ok_or_else(|| refused("it is no base64"))?;
    let stored = files.put(thread, bytes).await;
    let stored = stored.map_err(|error| refused(&error.to_string()))?;
    Ok(local(stored.path, Some(stored.media_type.to_owned())))
}

/// `turn/steer`. The client tests these two messages.
pub(super) async fn steer(client: &Client, params: &Value, responder: Responder) {
    match steered(client, params).await {
        Ok(turn) => responder.ok(json!({ "turnId": turn.to_string() })),
        Err(error) => responder.err(error),
    }
}

async fn steered(client: &Client, params: &Value) -> Result<TurnId, ErrorObject> {
    let handle = client.handle(params).await?;
    let no_turn = || errors::invalid("no active turn to steer");
    let running = client
        .snapshot(&handle)
        .await?
        .state
        .live_turn()
        .ok_or_else(no_turn)?;
    let expected = params["expectedTurnId"].as_str().unwrap_or_default();
    if expected != running.to_string() {
        return Err(errors::invalid(format!(
            "expected active turn id `{expected}` but found `{running}`"
        )));
    }
    let request = request(client, handle.id(), params).await?;
    let guided = handle
        .ask(|reply| Command::Guide {
            request,
            turn: running,
            replaces: None,
            reply,
        })
        .await;
    // The Turn has ended meanwhile, or takes nothing more.
    guided.map_err(|_| no_turn())?;
    Ok(running)
}

/// `turn/interrupt`.
pub(super) async fn interrupt(client: &Client, params: &Value) -> Answer {
    let handle = client.handle(params).await?;
    let turn = params["turnId"].as_str().unwrap_or_default().to_owned();
    let interrupted = handle.ask(|reply| Command::Interrupt { turn, reply }).await;
    interrupted.map_err(|error| errors::of(&error))?;
    Ok(json!({}))
}

/// `thread/queue/add`.
pub(super) async fn enqueue(client: &Client, params: &Value) -> Answer {
    let handle = client.handle(params).await?;
    let request = request(client, handle.id(), params).await?;
    let queued: Result<Enqueued, _> = handle.ask(|reply| Command::Enqueue { request, reply }).await;
    let queued = queued.map_err(|error| errors::of(&error))?;
    Ok(json!({ "queuedSubmission": {
        "id": queued.entry.id.to_string(),
        "input": params["input"],
        "clientUserMessageId": params["clientUserMessageId"],
    } }))
}

/// `thread/shellCommand`: a Turn that runs the user's own command.
pub(super) async fn shell_command(client: &Client, params: &Value) -> Answer {
    let handle = client.handle(params).await?;
    let line = params["command"].as_str().unwrap_or_default().trim();
    if line.is_empty() {
        return Err(errors::params("the command is empty"));
    }
    let request = StartTurn {
        input: vec![InputPart::Text {
            text: format!("!{line}"),
        }],
        sender: None,
        client_message_id: None,
        trigger: None,
        channel: Some(CHANNEL.to_owned()),
        features: TurnFeatures {
            command: Some(line.to_owned()),
            ..Codex::features(client.offer.keys.clone())
        },
    };
    let started: Result<StartedTurn, _> = handle.ask(|reply| Command::StartTurn { request, reply }).await;
    started.map_err(|error| errors::of(&error))?;
    Ok(json!({}))
}

/// `review/start`: a Turn in this Thread whose prompt asks for a review.
pub(super) async fn review(client: &Client, params: &Value) -> Answer {
    let handle = client.handle(params).await?;
    let text = review_of(&params["target"]).ok_or_else(|| errors::params("the review has no target"))?;
    let request = StartTurn {
        input: vec![InputPart::Text { text }],
        sender: None,
        client_message_id: None,
        trigger: None,
        channel: Some(CHANNEL.to_owned()),
        features: Codex::features(client.offer.keys.clone()),
    };
    let started: Result<StartedTurn, _> = handle.ask(|reply| Command::StartTurn { request, reply }).await;
    let started = started.map_err(|error| errors::of(&error))?;
    Ok(json!({
        "turn": turns::started(started.turn.id, started.turn.started_at),
        "reviewThreadId": params["threadId"],
    }))
}

/// Returns the prompt of a review; `None` where its target says too little.
fn review_of(target: &Value) -> Option<String> {
    let text = |name: &str| {
        target[name]
            .as_str()
            .map(str::trim)
            .filter(|text| !text.is_empty())
    };
    let what = match target["type"].as_str()? {
        "uncommittedChanges" => {
            "the uncommitted changes of this repository: staged, unstaged and untracked".to_owned()
        }
        "baseBranch" => {
            let branch = text("branch")?;
            format!("the changes of this branch since it left {branch} (`git diff {branch}...`)")
        }
        "commit" => match (text("sha")?, text("title")) {
            (sha, Some(title)) => format!("the commit {sha}, \"{title}\""),
            (sha, None) => format!("the commit {sha}"),
        },
        "custom" => return text("instructions").map(str::to_owned),
        _ => return None,
    };
    Some(format!(
        "Review {what}. Report what is wrong, the most serious first, each with file and line and with what would mend it. \
         Say so if nothing is wrong. Change no file."
    ))
}

/// `thread/compact/start`: a Turn that does nothing else.
pub(super) async fn compact(client: &Client, params: &Value) -> Answer {
    let handle = client.handle(params).await?;
    let part = InputPart::CommandRef {
        name: COMPACT.to_owned(),
        args_text: None,
        raw_text: Some(format!("/{COMPACT}")),
        expanded: OwnCommand::find(COMPACT).and_then(|own| own.prompt("")),
    };
    let request = StartTurn {
        input: vec![part],
        sender: None,
        client_message_id: None,
        trigger: None,
        channel: Some(CHANNEL.to_owned()),
        features: Codex::features(client.offer.keys.clone()),
    };
    let started: Result<StartedTurn, _> = handle.ask(|reply| Command::StartTurn { request, reply }).await;
    started.map_err(|error| errors::of(&error))?;
    Ok(json!({}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_names_its_target() {
        for (target, part) in [
            (
                json!({ "type": "uncommittedChanges" }),
                Some("uncommitted changes"),
            ),
            (
                json!({ "type": "baseBranch", "branch": "main" }),
                Some("`git diff main...`"),
            ),
            (
                json!({ "type": "commit", "sha": "abc", "title": "Boil" }),
                Some("the commit abc, \"Boil\""),
            ),
            (
                json!({ "type": "custom", "instructions": "Look at tea.rs." }),
                Some("Look at tea.rs."),
            ),
            (json!({ "type": "baseBranch" }), None),
            (json!({ "type": "moon" }), None),
            (json!(null), None),
        ] {
            let text = review_of(&target);
            match part {
                Some(part) => assert!(text.is_some_and(|text| text.contains(part)), "{target}"),
                None => assert_eq!(text, None, "{target}"),
            }
        }
    }
}
