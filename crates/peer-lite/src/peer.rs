//! One connection: its tasks, its phases, its end.
//!
//! Three tasks: the reader cuts messages and sorts them, the lane gives them to the service one after the
//! other, the writer writes. A fourth waits for the end and goes through it: stop input, fail own calls,
//! cancel requests, wait for answers, flush, close.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bobbin_framing::{Close, FrameWriter, Transport};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::calls::Calls;
use crate::id::IdKey;
use crate::incoming::{self, Incoming};
use crate::outbox::Outbox;
use crate::service::Service;
use crate::{Options, PeerHandle, Phase, Stats};

/// A running connection. Dropping it begins its end.
pub struct Peer {
    handle: PeerHandle,
    end: Option<JoinHandle<()>>,
}

/// What the tasks of one connection share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) outbox: Outbox,
    pub(crate) calls: Mutex<Calls>,
    pub(crate) running: Mutex<HashMap<IdKey, CancellationToken>>,
    pub(crate) phase: watch::Sender<Phase>,
    /// Requests that are unanswered, for waiting until there are none.
    pub(crate) unanswered: watch::Sender<usize>,
    pub(crate) queued_inbound: AtomicUsize,
    pub(crate) counters: Counters,
    close: Mutex<Option<Close>>,
    ending: CancellationToken,
    started: Instant,
}

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) bytes_read: AtomicU64,
    pub(crate) messages_read: AtomicU64,
    pub(crate) read_errors: AtomicU64,
    bytes_written: AtomicU64,
    messages_written: AtomicU64,
}

impl Peer {
    /// Starts to speak over a transport. `configure` gets the handle before the first byte is read.
    pub fn start<S: Service>(
        transport: Transport,
        options: Options,
        configure: impl FnOnce(PeerHandle) -> S,
    ) -> Self {
        let shared = Arc::new(Shared {
            outbox: Outbox::new(options.max_queue_messages, options.max_queue_bytes),
            calls: Mutex::default(),
            running: Mutex::default(),
            phase: watch::Sender::new(Phase::Active),
            unanswered: watch::Sender::new(0),
            queued_inbound: AtomicUsize::new(0),
            counters: Counters::default(),
            close: Mutex::new(None),
            ending: CancellationToken::new(),
            started: Instant::now(),
            options,
        });
        let handle = PeerHandle {
            shared: shared.clone(),
        };
        let service = Arc::new(configure(handle.clone()));
        let capacity = shared.options.max_running_requests + shared.options.max_queued_notifications;
        let (sorted, lane) = mpsc::channel::<Incoming>(capacity);
        let lane = tokio::spawn(incoming::serve(
            lane,
            service,
            shared.ending.clone(),
            shared.clone(),
        ));
        let reader = tokio::spawn(incoming::read(
            transport.reader,
            sorted,
            shared.clone(),
            shared.ending.clone(),
        ));
        let writer = tokio::spawn(write(transport.writer, shared.clone()));
        let end = tokio::spawn(end(shared, reader, lane, writer));
        Self {
            handle,
            end: Some(end),
        }
    }

    /// Returns a handle.
    pub fn handle(&self) -> &PeerHandle {
        &self.handle
    }

    /// Waits for the end and joins every task.
    pub async fn closed(mut self) {
        if let Some(end) = self.end.take()
            && let Err(error) = end.await
        {
            tracing::error!(%error, "a connection ended badly");
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.handle.begin_shutdown();
    }
}

impl Shared {
    /// Begins the end; the first reason stands.
    pub(crate) fn begin_shutdown(&self, close: Close) {
        self.close.lock().get_or_insert(close);
        self.ending.cancel();
    }

    /// Queues the answer to a request and counts it as answered.
    pub(crate) fn answer(&self, key: &IdKey, message: Bytes) {
        self.running.lock().remove(key);
        self.outbox.push(vec![message], None);
        self.unanswered
            .send_modify(|count| *count = count.saturating_sub(1));
    }

    pub(crate) fn stats(&self) -> Stats {
        let (write_queue_length, write_queue_bytes) = self.outbox.depth();
        let counters = &self.counters;
        Stats {
            phase: *self.phase.borrow(),
            write_queue_length,
            write_queue_bytes,
            pending_outbound_call_count: self.calls.lock().len(),
            running_inbound_request_count: *self.unanswered.borrow(),
            queued_inbound_count: self.queued_inbound.load(Ordering::Relaxed),
            bytes_read: counters.bytes_read.load(Ordering::Relaxed),
            bytes_written: counters.bytes_written.load(Ordering::Relaxed),
            messages_read: counters.messages_read.load(Ordering::Relaxed),
            messages_written: counters.messages_written.load(Ordering::Relaxed),
            read_errors: counters.read_errors.load(Ordering::Relaxed),
            uptime_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Writes until the outbox is closed and empty, or writing fails. Returns the writer for the last word.
async fn write(mut writer: Box<dyn FrameWriter>, shared: Arc<Shared>) -> Option<Box<dyn FrameWriter>> {
    loop {
        let batch = tokio::select! {
            biased;
            batch = shared.outbox.next() => match batch {
                Some(batch) => batch,
                None => return Some(writer),
            },
            error = writer.idle() => {
                tracing::debug!(%error, "the other side is gone");
                break;
            }
        };
        let written = match shared.options.write_stall {
            Some(limit) => tokio::time::timeout(limit, writer.write(&batch.messages))
                .await
                .unwrap_or_else(|_| {
                    Err(std::io::Error::new(
                        std::io::ErrorKind::TimedOut,
                        "the write stands still",
                    ))
                }),
            None => writer.write(&batch.messages).await,
        };
        if let Err(error) = written {
            tracing::debug!(%error, "a write failed");
            break;
        }
        let bytes = batch.messages.iter().map(|message| message.len() as u64).sum();
        shared.counters.bytes_written.fetch_add(bytes, Ordering::Relaxed);
        shared
            .counters
            .messages_written
            .fetch_add(batch.messages.len() as u64, Ordering::Relaxed);
        for flushed in batch.flushed {
            // Whoever no longer waits does not need to know.
            let _ = flushed.send(());
        }
    }
    shared.outbox.clear();
    shared.begin_shutdown(Close::normal());
    None
}

/// Goes through the end of a connection, once something has begun it.
async fn end(
    shared: Arc<Shared>,
    reader: JoinHandle<()>,
    lane: JoinHandle<()>,
    writer: JoinHandle<Option<Box<dyn FrameWriter>>>,
) {
    shared.ending.cancelled().await;
    shared.phase.send_replace(Phase::ShuttingDown);
    shared.calls.lock().close();
    for token in shared.running.lock().values() {
        token.cancel();
    }
    joined(reader).await;
    joined(lane).await;
    let mut unanswered = shared.unanswered.subscribe();
    let drained = tokio::time::timeout(shared.options.drain, unanswered.wait_for(|count| *count == 0));
    drop(drained.await);
    shared.outbox.close();
    let mut writer = writer;
    match tokio::time::timeout(shared.options.flush_grace, &mut writer).await {
        Ok(Ok(Some(mut writer))) => {
            let close = shared.close.lock().clone().unwrap_or_else(Close::normal);
            drop(tokio::time::timeout(shared.options.flush_grace, writer.close(close)).await);
        }
        Ok(_) => {}
        Err(_) => {
            writer.abort();
            drop(writer.await);
        }
    }
    shared.outbox.clear();
    shared.phase.send_replace(Phase::Stopped);
}

async fn joined(task: JoinHandle<()>) {
    if let Err(error) = task.await {
        tracing::error!(%error, "a task of a connection ended badly");
    }
}
