//! An editor on stdio, joined to a running server: whole messages from one to the other, unread and unchanged.
//!
//! Holds one message towards the server and one batch towards the editor; a side that does not read holds the
//! other one. Of a message only its method and id are looked at, to know when the editor leaves and what it
//! still waits for. What cannot be carried is answered here.

use std::future::poll_fn;
use std::time::Duration;

use bobbin_framing::{CloseReason, FrameReader, FramingError, Transport};
use bytes::Bytes;
use futures_util::FutureExt;
use tokio::sync::Mutex;

use crate::frames::{Writer, flush, next, send};
use crate::ledger::Ledger;
use crate::{Early, OpenRequest, process};

/// How long the end may take once the editor has left, and how long what it asked may take.
const END: Duration = Duration::from_secs(2);
/// Bytes after which a batch is written: readers parse what they read at once.
const BATCH_BYTES: usize = 32 << 10;

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The editor said `exit`.
    Exited {
        /// After a `shutdown`.
        after_shutdown: bool,
    },
    /// Its input ended, its process is gone, or we were told to end.
    Left,
    /// The server is gone.
    ServerGone {
        /// After a `shutdown`.
        after_shutdown: bool,
    },
}

/// An editor and the server that it is joined to.
pub struct Joined {
    /// The editor's stdio.
    pub editor: Transport,
    /// What was read of it already: its handshake.
    pub first: Option<Bytes>,
    /// The process that started us, as said there.
    pub parent: Option<i64>,
    /// The server.
    pub server: Transport,
}

/// Reads an editor's messages up to the one that names its workspace, and answers those before. Nothing behind it is read.
///
/// # Errors
/// The editor has left: how.
pub async fn handshake(
    editor: &mut Transport,
    early: fn(&[u8]) -> Early,
) -> Result<(Bytes, OpenRequest), End> {
    loop {
        let answer = match editor.next().await {
            Some(Ok(message)) => match early(&message) {
                Early::Open(wanted) => return Ok((message, wanted)),
                Early::Answer(answer) => Some(answer),
                Early::Exit => {
                    return Err(End::Exited {
                        after_shutdown: false,
                    });
                }
                Early::Nothing => None,
            },
            Some(Err(error)) => refusal(Some(&error)),
            None => return Err(End::Left),
        };
        if let Some(answer) = answer
            && editor.send(answer).await.is_err()
        {
            return Err(End::Left);
        }
    }
}

/// Passes messages until one side leaves or `stop` resolves.
pub async fn run(joined: Joined, stop: impl Future<Output = ()>) -> End {
    let Joined {
        mut editor,
        first,
        parent,
        mut server,
    } = joined;
    let (to_editor, to_server) = (Mutex::new(editor.writer), Mutex::new(server.writer));
    let ledger = Ledger::default();
    let mut up = Box::pin(up(first, &mut *editor.reader, &to_server, &to_editor, &ledger));
    let mut down = Box::pin(down(&mut *server.reader, &to_editor, &ledger));
    let mut server_open = true;
    let end = tokio::select! {
        end = &mut up => end,
        () = &mut down => {
            server_open = false;
            let after_shutdown = ledger.shutdown();
            End::ServerGone { after_shutdown }
        }
        () = parent_gone(parent) => End::Left,
        () = stop => End::Left,
    };
    drop(up);
    let leaving = async {
        // After `exit` the server has the last word.
        if matches!(end, End::Exited { .. }) {
            (&mut down).await;
            server_open = false;
        }
        let reason = CloseReason::default();
        let mut to_server = to_server.lock().await;
        let closed = poll_fn(|cx| to_server.poll_close(cx, &reason));
        if server_open {
            tokio::join!(closed, &mut down).0
        } else {
            closed.await
        }
    };
    match tokio::time::timeout(END, leaving).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the server was not told goodbye"),
        Err(_) => tracing::warn!("the end took too long; leaving anyway"),
    }
    end
}

async fn parent_gone(parent: Option<i64>) {
    match parent {
        Some(process) => process::gone(process).await,
        None => std::future::pending().await,
    }
}

/// From the editor to the server, until either is gone or the editor leaves.
async fn up(
    first: Option<Bytes>,
    reader: &mut dyn FrameReader,
    to_server: &Writer,
    to_editor: &Writer,
    ledger: &Ledger,
) -> End {
    let mut item = match first {
        Some(first) => Some(Ok(first)),
        None => next(reader).await,
    };
    loop {
        match item {
            Some(Ok(message)) if std::str::from_utf8(&message).is_ok() => {
                let leaves = ledger.asked(&message);
                if let Err(error) = send(to_server, message).await {
                    tracing::debug!(%error, "the server cannot be written to");
                    // How it ended is found out where it is read.
                    return std::future::pending().await;
                }
                if leaves {
                    let after_shutdown = ledger.shutdown();
                    return End::Exited { after_shutdown };
                }
            }
            Some(wrong) => {
                let refusal = refusal(wrong.err().as_ref());
                if let Some(refusal) = refusal
                    && let Err(error) = send(to_editor, refusal).await
                {
                    tracing::debug!(%error, "the editor cannot be written to");
                    return End::Left;
                }
            }
            None => {
                ledger.settled(END).await;
                return End::Left;
            }
        }
        item = next(reader).await;
    }
}

/// Returns what is answered to input that is no message (the codes are JSON-RPC's, as the dialect uses them);
/// nothing where the input only has to be skipped. Without an error it is a body that is not UTF-8.
fn refusal(error: Option<&FramingError>) -> Option<Bytes> {
    let text = match error {
        None | Some(FramingError::Charset(_)) => {
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#
        }
        Some(FramingError::TooLarge { .. }) => {
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}"#
        }
        Some(error) => {
            tracing::warn!(%error, "input that is no message was skipped");
            return None;
        }
    };
    Some(Bytes::from_static(text.as_bytes()))
}

/// From the server to the editor, until either is gone.
async fn down(reader: &mut dyn FrameReader, to_editor: &Writer, ledger: &Ledger) {
    loop {
        let message = match next(reader).await {
            Some(Ok(message)) => message,
            Some(Err(error)) => {
                tracing::warn!(%error, "the server's output cannot be read");
                continue;
            }
            None => return,
        };
        let mut writer = to_editor.lock().await;
        let mut bytes = message.len();
        ledger.told(&message);
        let mut fed = writer.feed(message);
        let mut over = false;
        while fed.is_ok() && !over && bytes < BATCH_BYTES {
            // What is there already shares the write.
            match next(reader).now_or_never() {
                Some(Some(Ok(message))) => {
                    bytes += message.len();
                    ledger.told(&message);
                    fed = writer.feed(message);
                }
                Some(Some(Err(error))) => tracing::warn!(%error, "the server's output cannot be read"),
                Some(None) => over = true,
                None => break,
            }
        }
        if let Err(error) = fed.and(flush(&mut **writer).await) {
            return tracing::debug!(%error, "the editor cannot be written to");
        }
        if over {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_pass_whole_in_both_directions_until_the_server_closes() {
        let (mut editor, editor_side) = Transport::memory_pair();
        let (mut server, server_side) = Transport::memory_pair();
        let first = "{ \"first\":\t1 }\n";
        let joined = Joined {
            editor: editor_side,
            first: Some(Bytes::from_static(first.as_bytes())),
            parent: None,
            server: server_side,
        };
        let running = tokio::spawn(run(joined, std::future::pending()));
        assert_eq!(server.next().await.unwrap().unwrap(), first);
        for text in ["{ \"tea\" : \"th\u{e9}\" }\n", "garbage", "[]"] {
            editor.send(Bytes::from(text)).await.unwrap();
            assert_eq!(server.next().await.unwrap().unwrap(), text);
            server.send(Bytes::from(text)).await.unwrap();
            assert_eq!(editor.next().await.unwrap().unwrap(), text);
        }
        // No text: nothing a WebSocket can carry.
        editor.send(Bytes::from_static(b"\xff")).await.unwrap();
        let refused = editor.next().await.unwrap().unwrap();
        assert!(std::str::from_utf8(&refused).unwrap().contains("-32700"));
        server.close(&CloseReason::default()).await.unwrap();
        let end = running.await.unwrap();
        assert_eq!(
            end,
            End::ServerGone {
                after_shutdown: false
            }
        );
        assert!(editor.next().await.is_none());
    }
}
