//! `terminal/*`: commands in the background (AppServer protocol 03 §13). Served if commands can run there.
//!
//! Tasks that end with the connection send the answers that wait for a command or the disk.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::terminal::{TerminalError, Terminals, Wait};
use bobbin_model::{Terminal, ThreadId};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::terminal::types::{
    TerminalCleanParams, TerminalListParams, TerminalReadParams, TerminalResult, TerminalStopParams,
    TerminalWriteParams, TerminalsResult,
};
use bobbin_peer::Responder;

use super::convert::terminal;
use crate::client::{Client, refuse};

/// Default time for a command to react to input, in milliseconds.
const USUAL_YIELD_MS: u64 = 1000;

pub(super) fn list(
    client: &Client,
    terminals: &Arc<dyn Terminals>,
    asked: TerminalListParams,
    responder: Responder,
) {
    let terminals = terminals.clone();
    client.spawn(async move {
        let thread = asked.thread_id.map(ThreadId::new);
        let found = terminals.list(thread.as_ref()).await;
        responder.ok(TerminalsResult {
            terminals: found.iter().map(terminal).collect(),
        });
    });
}

pub(super) fn read(
    client: &Client,
    terminals: &Arc<dyn Terminals>,
    asked: TerminalReadParams,
    responder: Responder,
) {
    let terminals = terminals.clone();
    let peer = client.peer().clone();
    client.spawn(async move {
        let wait = Wait::News(Duration::from_millis(asked.wait_ms.unwrap_or(0)));
        let chars = characters(asked.max_output_chars);
        tokio::select! {
            () = peer.closed() => {}
            read = terminals.read(&asked.session_id, wait, chars) => answer(responder, &read),
        }
    });
}

pub(super) fn write(
    client: &Client,
    terminals: &Arc<dyn Terminals>,
    asked: TerminalWriteParams,
    responder: Responder,
) {
    let terminals = terminals.clone();
    let (peer, once) = (client.peer().clone(), client.once().cloned());
    let wait = Duration::from_millis(asked.yield_time_ms.unwrap_or(USUAL_YIELD_MS));
    let chars = characters(asked.max_output_chars);
    // The write happens now, in the order of requests; only the answer waits.
    let written = terminals.write(&asked.session_id, asked.input, wait, chars, once);
    client.spawn(async move {
        tokio::select! {
            () = peer.closed() => {}
            written = written => answer(responder, &written),
        }
    });
}

pub(super) fn stop(
    client: &Client,
    terminals: &Arc<dyn Terminals>,
    TerminalStopParams { session_id, .. }: TerminalStopParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let reply = Box::new(move |stopped: Result<Terminal, TerminalError>| match stopped {
        Ok(stopped) => first.ok(&TerminalResult {
            terminal: terminal(&stopped),
        }),
        Err(error) => first.err(wire_error(&error)),
    });
    terminals.stop(&session_id, reply);
}

pub(super) fn clean(
    client: &Client,
    terminals: &Arc<dyn Terminals>,
    asked: TerminalCleanParams,
    responder: Responder,
) {
    let terminals = terminals.clone();
    if asked.thread_id.trim().is_empty() {
        let error = RpcError::invalid_params("'threadId' must not be blank.");
        return refuse(responder, error);
    }
    let Some(first) = client.first_time(responder) else {
        return;
    };
    client.spawn(async move {
        let reply = Box::new(move |cleaned: Vec<Terminal>| {
            first.ok(&TerminalsResult {
                terminals: cleaned.iter().map(terminal).collect(),
            });
        });
        terminals.clean(&ThreadId::new(asked.thread_id), reply).await;
    });
}

fn answer(responder: Responder, shown: &Result<Terminal, TerminalError>) {
    match shown {
        Ok(shown) => responder.ok(TerminalResult {
            terminal: terminal(shown),
        }),
        Err(error) => refuse(responder, wire_error(error)),
    }
}

fn characters(asked: Option<u64>) -> Option<usize> {
    asked.map(|chars| usize::try_from(chars).unwrap_or(usize::MAX))
}

/// Returns the wire's error for an error of background terminals.
fn wire_error(error: &TerminalError) -> RpcError {
    match error {
        // A borrowed code that clients know (01 §10.2).
        TerminalError::NotFound(id) => RpcError::thread_not_found(id),
        TerminalError::Invalid(detail) => RpcError::invalid_params(detail.clone()),
        TerminalError::RequestIdReused(_) => RpcError::client_request_id_reused(),
    }
}
