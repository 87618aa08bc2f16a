//! `terminal/*`: commands in the background (AppServer protocol 03 §13). Served where commands can be left there.
//!
//! Answers that wait for a command or for the disk come from tasks of their own, which end with the connection.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::terminal::{TerminalError, Terminals, Wait};
use bobbin_model::{Terminal, ThreadId};
use bobbin_peer::{CallContext, Responder};
use bobbin_wire as wire;
use bobbin_wire::RpcError;
use serde::de::DeserializeOwned;

use super::{Client, params, refuse};
use crate::convert::terminal::terminal;
use crate::errors;

/// Time for a command to answer what was typed, when the client does not say.
const USUAL_YIELD_MS: u64 = 1000;

/// What serves a request.
type Given<T> = (Arc<dyn Terminals>, T, Responder);

/// Returns the terminals and what is asked, or answers why not.
fn given<T: DeserializeOwned>(
    client: &Client,
    request: &CallContext,
    responder: Responder,
) -> Option<Given<T>> {
    let Some(terminals) = client.services().terminals.clone() else {
        refuse(responder, RpcError::method_not_found(&request.method));
        return None;
    };
    let (asked, responder) = params(request, responder)?;
    Some((terminals, asked, responder))
}

pub(super) fn list(client: &Client, request: &CallContext, responder: Responder) {
    let Some((terminals, asked, responder)) = given::<wire::TerminalListParams>(client, request, responder)
    else {
        return;
    };
    client.reads.spawn(async move {
        let thread = asked.thread_id.map(ThreadId::new);
        let found = terminals.list(thread.as_ref()).await;
        responder.ok(wire::TerminalsResult {
            terminals: found.iter().map(terminal).collect(),
        });
    });
}

pub(super) fn read(client: &Client, request: &CallContext, responder: Responder) {
    let Some((terminals, asked, responder)) = given::<wire::TerminalReadParams>(client, request, responder)
    else {
        return;
    };
    let peer = client.peer.clone();
    client.reads.spawn(async move {
        let wait = Wait::News(Duration::from_millis(asked.wait_ms.unwrap_or(0)));
        let chars = characters(asked.max_output_chars);
        tokio::select! {
            () = peer.closed() => {}
            read = terminals.read(&asked.session_id, wait, chars) => answer(responder, &read),
        }
    });
}

pub(super) fn write(client: &Client, request: &CallContext, responder: Responder) {
    let Some((terminals, asked, responder)) = given::<wire::TerminalWriteParams>(client, request, responder)
    else {
        return;
    };
    let (peer, once) = (client.peer.clone(), client.once.clone());
    let wait = Duration::from_millis(asked.yield_time_ms.unwrap_or(USUAL_YIELD_MS));
    let chars = characters(asked.max_output_chars);
    // Typed here and now, in the order of requests; what waits is the answer.
    let written = terminals.write(&asked.session_id, asked.input, wait, chars, once);
    client.reads.spawn(async move {
        tokio::select! {
            () = peer.closed() => {}
            written = written => answer(responder, &written),
        }
    });
}

pub(super) fn stop(client: &Client, request: &CallContext, responder: Responder) {
    let Some((terminals, asked, responder)) = given::<wire::TerminalStopParams>(client, request, responder)
    else {
        return;
    };
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let reply = Box::new(move |stopped: Result<Terminal, TerminalError>| match stopped {
        Ok(stopped) => first.ok(&wire::TerminalResult {
            terminal: terminal(&stopped),
        }),
        Err(error) => first.err(errors::of_terminal(&error)),
    });
    terminals.stop(&asked.session_id, reply);
}

pub(super) fn clean(client: &Client, request: &CallContext, responder: Responder) {
    let Some((terminals, asked, responder)) = given::<wire::TerminalCleanParams>(client, request, responder)
    else {
        return;
    };
    if asked.thread_id.trim().is_empty() {
        let error = RpcError::invalid_params("'threadId' must not be blank.");
        return refuse(responder, error);
    }
    let Some(first) = client.first_time(responder) else {
        return;
    };
    client.reads.spawn(async move {
        let reply = Box::new(move |cleaned: Vec<Terminal>| {
            first.ok(&wire::TerminalsResult {
                terminals: cleaned.iter().map(terminal).collect(),
            });
        });
        terminals.clean(&ThreadId::new(asked.thread_id), reply).await;
    });
}

fn answer(responder: Responder, shown: &Result<Terminal, TerminalError>) {
    match shown {
        Ok(shown) => responder.ok(wire::TerminalResult {
            terminal: terminal(shown),
        }),
        Err(error) => refuse(responder, errors::of_terminal(error)),
    }
}

fn characters(asked: Option<u64>) -> Option<usize> {
    asked.map(|chars| usize::try_from(chars).unwrap_or(usize::MAX))
}
