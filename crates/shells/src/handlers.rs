//! The handlers, and the task that sends a connection the output of a shell.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_children::TerminalSize;
use bobbin_native::Endpoint;
use bobbin_native::client::{Client, environment, refuse, refuse_params};
use bobbin_native_wire::RpcError;
use bobbin_peer::{PeerHandle, Responder};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::screen::{End, Next, Screen};
use crate::shell::Shell;
use crate::types::{
    ShellAttachParams, ShellAttachResult, ShellCloseParams, ShellCloseResult, ShellDetachParams,
    ShellDetachResult, ShellExitedNotification, ShellListParams, ShellListResult, ShellOpenParams,
    ShellOpenResult, ShellOutputNotification, ShellResizeParams, ShellResizeResult, ShellSkippedNotification,
    ShellWriteParams, ShellWriteResult,
};
use crate::{EXITED, OUTPUT, OpenError, SKIPPED, Shells};

/// Most bytes that are typed at once.
const MAX_TYPED: usize = 64 << 10;
/// Most columns and rows.
const MAX_SIZE: u16 = 1000;

pub(crate) async fn open(client: &Client, shells: &Shells, asked: ShellOpenParams, responder: Responder) {
    let Some(responder) = of_owner(client, responder) else {
        return;
    };
    let Some((size, responder)) = size(asked.columns, asked.rows, responder) else {
        return;
    };
    let Some((environment, responder)) = environment(client, asked.thread_id.as_deref(), responder).await
    else {
        return;
    };
    let Some(answer) = client.first_time(responder) else {
        return;
    };
    let (shells, peer) = (shells.clone(), client.peer().clone());
    let attached = Attached::of(&peer);
    client.spawn(async move {
        match shells.open(environment.root, asked.thread_id, size).await {
            Ok(shell) => {
                let current = attached.attach(&shell);
                shell.typed_by(&attached);
                answer.ok(&ShellOpenResult { shell: shell.info() });
                follow(&peer, &shell.id, (&shell.screen, 0), &current).await;
            }
            Err(error) => answer.err(wire_error(&error)),
        }
    });
}

pub(crate) fn list(client: &Client, shells: &Shells, _: ShellListParams, responder: Responder) {
    if let Some(responder) = of_owner(client, responder) {
        let shells = shells.list().iter().map(|shell| shell.info()).collect();
        responder.ok(ShellListResult { shells });
    }
}

pub(crate) fn attach(
    client: &Client,
    shells: &Shells,
    ShellAttachParams { id }: ShellAttachParams,
    responder: Responder,
) {
    let Some((shell, responder)) = found(client, shells, &id, responder) else {
        return;
    };
    let (peer, tasks) = (client.peer().clone(), client.clone());
    let current = Attached::of(&peer).attach(&shell);
    client.answer_large(responder, async move |responder| {
        let (recent, position) = shell.screen.copy();
        responder.ok(ShellAttachResult {
            shell: shell.info(),
            data_base64: STANDARD.encode(recent),
            position,
        });
        // A task of its own: the connection's next large answer waits for this one.
        tasks.spawn(async move { follow(&peer, &shell.id, (&shell.screen, position), &current).await });
    });
}

pub(crate) fn detach(
    client: &Client,
    _: &Shells,
    ShellDetachParams { id }: ShellDetachParams,
    responder: Responder,
) {
    if let Some(responder) = of_owner(client, responder) {
        Attached::of(client.peer()).end(&id);
        responder.ok(ShellDetachResult {});
    }
}

pub(crate) fn write(
    client: &Client,
    shells: &Shells,
    ShellWriteParams {
        id,
        data_base64,
        answer,
    }: ShellWriteParams,
    responder: Responder,
) {
    let Some((shell, responder)) = found(client, shells, &id, responder) else {
        return;
    };
    match STANDARD.decode(&data_base64) {
        Ok(text) if text.len() <= MAX_TYPED => {
            let connection = Attached::of(client.peer());
            if !answer {
                shell.typed_by(&connection);
            } else if !shell.is_answered_by(&connection) {
                return responder.ok(ShellWriteResult {});
            }
            shell.write(text, responder);
        }
        Ok(_) => refuse_params(
            responder,
            format!("'dataBase64' has more than {MAX_TYPED} bytes."),
        ),
        Err(_) => refuse_params(responder, "'dataBase64' is no base64."),
    }
}

pub(crate) fn resize(
    client: &Client,
    shells: &Shells,
    ShellResizeParams { id, columns, rows }: ShellResizeParams,
    responder: Responder,
) {
    let Some((shell, responder)) = found(client, shells, &id, responder) else {
        return;
    };
    if let Some((size, responder)) = size(columns, rows, responder) {
        shell.resize(size);
        responder.ok(ShellResizeResult {});
    }
}

pub(crate) fn close(
    client: &Client,
    shells: &Shells,
    ShellCloseParams { id }: ShellCloseParams,
    responder: Responder,
) {
    let Some((shell, responder)) = found(client, shells, &id, responder) else {
        return;
    };
    shell.close();
    let peer = client.peer().clone();
    client.spawn(async move {
        tokio::select! {
            () = peer.closed() => {}
            () = shell.screen.ended() => responder.ok(ShellCloseResult {}),
        }
    });
}

/// Sends the output after a position until the shell has ended, the connection is gone or attached anew. A client that is
/// too slow is sent away: see [`Screen`].
async fn follow(
    peer: &PeerHandle,
    id: &str,
    (screen, mut position): (&Screen, u64),
    current: &CancellationToken,
) {
    let all = async {
        loop {
            let id = id.to_owned();
            let sent = match screen.after(position).await {
                Next::Part(part) => {
                    position += part.len() as u64;
                    let data_base64 = STANDARD.encode(part);
                    // Returns once it is written, so one part is on its way.
                    peer.notify(OUTPUT, ShellOutputNotification { id, data_base64 })
                        .await
                }
                Next::Lost => return peer.notify(SKIPPED, ShellSkippedNotification { id }).await,
                Next::End(End { code }) => {
                    return peer.notify(EXITED, ShellExitedNotification { id, code }).await;
                }
            };
            sent?;
        }
    };
    tokio::select! {
        // Nothing more of this attachment comes once there is another one.
        biased;
        () = current.cancelled() => {}
        () = peer.closed() => {}
        sent = all => if let Err(error) = sent {
            tracing::debug!(%error, "a client was not sent the output of a shell");
        },
    }
    current.cancel();
}

/// The shells that a connection is attached to: it is sent the output of each once.
#[derive(Debug, Default)]
pub(crate) struct Attached(Mutex<HashMap<String, CancellationToken>>);

impl Attached {
    /// Returns those of a connection. Its requests come one after the other.
    fn of(peer: &PeerHandle) -> Arc<Self> {
        peer.extensions().get().unwrap_or_else(|| {
            peer.extensions().insert(Self::default());
            peer.extensions().get().unwrap_or_default()
        })
    }

    /// Attaches the connection to a shell, in place of an earlier time. Returns what ends it.
    fn attach(&self, shell: &Shell) -> CancellationToken {
        let mut attached = self.0.lock();
        attached.retain(|_, current| !current.is_cancelled());
        let current = CancellationToken::new();
        if let Some(former) = attached.insert(shell.id.clone(), current.clone()) {
            former.cancel();
        }
        current
    }

    /// Whether the connection is attached to a shell.
    pub(crate) fn has(&self, id: &str) -> bool {
        let attached = self.0.lock();
        attached.get(id).is_some_and(|current| !current.is_cancelled())
    }

    /// Ends the attachment to a shell, if there is one.
    fn end(&self, id: &str) {
        if let Some(current) = self.0.lock().remove(id) {
            current.cancel();
        }
    }
}

/// Refuses a client that is not the server's user, or whose connection others can read.
fn of_owner(client: &Client, responder: Responder) -> Option<Responder> {
    let is_adapter = client.adapter_of().is_some();
    let (why, reason) = match client.endpoint() {
        Endpoint::Adapter(_) => ("An adapter of a channel has no terminals.", "notOwner"),
        _ if is_adapter => ("An adapter of a channel has no terminals.", "notOwner"),
        Endpoint::Stdio | Endpoint::Local(_) | Endpoint::WebSocket { is_private: true, .. } => {
            return Some(responder);
        }
        Endpoint::WebSocket {
            is_private: false, ..
        } => (
            "Others could read and change what you type here. Start the server with --tls-cert and --tls-key, or use an SSH tunnel \
             to its loopback address.",
            "notPrivate",
        ),
    };
    refuse(responder, RpcError::invalid_request(why).with_reason(reason));
    None
}

fn found(
    client: &Client,
    shells: &Shells,
    id: &str,
    responder: Responder,
) -> Option<(Arc<Shell>, Responder)> {
    let responder = of_owner(client, responder)?;
    if let Some(shell) = shells.find(id) {
        return Some((shell, responder));
    }
    let why = "This terminal has ended. Open a new one.";
    refuse(
        responder,
        RpcError::invalid_request(why).with_reason("shellNotFound"),
    );
    None
}

fn size(columns: u16, rows: u16, responder: Responder) -> Option<(TerminalSize, Responder)> {
    let fits = |value| (1..=MAX_SIZE).contains(&value);
    if fits(columns) && fits(rows) {
        return Some((TerminalSize { columns, rows }, responder));
    }
    refuse_params(
        responder,
        format!("'columns' and 'rows' are from 1 to {MAX_SIZE}."),
    );
    None
}

fn wire_error(error: &OpenError) -> RpcError {
    let reason = match error {
        OpenError::Full => "tooManyShells",
        OpenError::Ending => "ending",
        OpenError::Start { .. } => "notStarted",
    };
    RpcError::invalid_request(error.to_string()).with_reason(reason)
}

#[cfg(test)]
mod tests {
    use bobbin_peer::{Handlers, Peer, PeerOptions, StreamFraming};
    use serde_json::Value;

    use super::*;
    use crate::screen::{BYTES, PART};

    #[tokio::test]
    async fn a_client_that_lags_is_sent_to_the_present() {
        let options = PeerOptions::default();
        let started = Peer::pair_raw(StreamFraming::Lines, 1024, options, |_| Handlers::new());
        let (peer, mut client) = started.unwrap();
        let (screen, current) = (Screen::new(), CancellationToken::new());
        screen.add(b"first");
        let handle = peer.handle();
        let following = follow(&handle, "a", (&screen, 0), &current);
        let reading = async {
            let mut seen = Vec::new();
            while seen.last() != Some(&SKIPPED.to_owned()) {
                let message = client.recv().await.unwrap().unwrap();
                let message: Value = serde_json::from_slice(&message).unwrap();
                assert_eq!(message["params"]["id"], "a");
                seen.push(message["method"].as_str().unwrap().to_owned());
                if seen.len() == 1 {
                    // The next part is on its way, and more follows than is there for readers.
                    screen.add(&vec![b'x'; PART]);
                    tokio::task::yield_now().await;
                    for _ in 0..=BYTES / PART {
                        screen.add(&vec![b'y'; PART]);
                    }
                }
            }
            seen
        };
        let ((), seen) = tokio::join!(following, reading);
        assert_eq!(seen, [OUTPUT, OUTPUT, SKIPPED]);
        assert!(current.is_cancelled(), "it is not attached any more");
    }

    #[tokio::test]
    async fn all_output_comes_before_the_end() {
        let options = PeerOptions::default();
        let started = Peer::pair_raw(StreamFraming::Lines, 1024, options, |_| Handlers::new());
        let (peer, mut client) = started.unwrap();
        let (screen, current) = (Screen::new(), CancellationToken::new());
        screen.add(&vec![b'x'; PART + 1]);
        screen.end(Some(3));
        let handle = peer.handle();
        let reading = async {
            let mut read = 0;
            loop {
                let message = client.recv().await.unwrap().unwrap();
                let message: Value = serde_json::from_slice(&message).unwrap();
                if message["method"] == EXITED {
                    assert_eq!(message["params"]["code"], 3);
                    return read;
                }
                let data = message["params"]["dataBase64"].as_str().unwrap();
                read += STANDARD.decode(data).unwrap().len();
            }
        };
        let ((), read) = tokio::join!(follow(&handle, "a", (&screen, 0), &current), reading);
        assert_eq!(read, PART + 1);
    }
}
