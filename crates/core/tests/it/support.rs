//! Helpers of the core's tests: commands that can be awaited, a reader of a log, a store that can be paused.

use std::sync::Arc;
use std::time::Duration;

use bobbin_core::engine::Answer;
use bobbin_core::{
    Command, CoreError, Frame, FrameBody, Read, Reply, Snapshot, StartedTurn, ThreadHandle, Threads,
};
use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{Approval, Decision, Event, HistoryMode, Identity, InputPart, Seq, TurnFeatures};
use tokio::sync::oneshot;

/// Waits for a command's answer.
pub(crate) async fn answer<T: Send + 'static>(
    handle: &ThreadHandle,
    command: impl FnOnce(Reply<T>) -> Command,
) -> Result<T, CoreError> {
    let (tx, rx) = oneshot::channel();
    handle
        .send(command(Box::new(move |result| drop(tx.send(result)))))
        .await;
    rx.await.expect("the command is answered")
}

pub(crate) async fn new_thread(threads: &Arc<Threads>) -> Arc<ThreadHandle> {
    let (tx, rx) = oneshot::channel();
    let request = NewThread {
        id: threads.fresh_thread_id(),
        identity: Identity {
            channel_name: "test".into(),
            ..Identity::default()
        },
        config: None,
        history_mode: HistoryMode::Server,
        display_name: Some("test".into()),
    };
    threads.start_thread(request, Box::new(move |result| drop(tx.send(result))));
    let snapshot: Snapshot = rx.await.expect("answered").expect("started");
    threads.thread(&snapshot.state.header.id).await.expect("live")
}

pub(crate) fn prompt(text: &str) -> StartTurn {
    StartTurn {
        client_message_id: None,
        trigger: None,
        input: vec![InputPart::Text { text: text.into() }],
        sender: None,
        channel: None,
        features: TurnFeatures {
            approvals: true,
            ..TurnFeatures::default()
        },
    }
}

pub(crate) async fn start(handle: &ThreadHandle, text: &str) -> StartedTurn {
    let request = prompt(text);
    answer(handle, |reply| Command::StartTurn { request, reply })
        .await
        .expect("the turn starts")
}

pub(crate) async fn read(handle: &ThreadHandle) -> Snapshot {
    answer(handle, |reply| Command::Read { reply })
        .await
        .expect("it can be read")
}

pub(crate) async fn decide(handle: &ThreadHandle, approval: &Approval, decision: Decision) {
    let given = Answer {
        approval: approval.id.clone(),
        decision,
        client: "test".into(),
        actor: bobbin_model::Actor::Owner,
    };
    answer(handle, |reply| Command::Answer { answer: given, reply })
        .await
        .expect("answered");
}

/// Reads a log from a cursor until a frame is found, and returns everything up to it.
pub(crate) struct LogReader {
    handle: Arc<ThreadHandle>,
    pub(crate) next: Seq,
}

impl LogReader {
    pub(crate) fn at(handle: &Arc<ThreadHandle>, next: Seq) -> Self {
        Self {
            handle: handle.clone(),
            next,
        }
    }

    pub(crate) async fn until(&mut self, wanted: impl Fn(&Frame) -> bool) -> Vec<Arc<Frame>> {
        let waker = bobbin_core::Waker::default();
        self.handle.log().watch(&waker);
        let mut seen: Vec<Arc<Frame>> = Vec::new();
        let search = async {
            loop {
                let Read::Entries { entries, .. } = self.handle.log().read(self.next, usize::MAX) else {
                    panic!("the log dropped what was not read");
                };
                for frame in entries {
                    self.next = frame.seq.next();
                    seen.push(frame.clone());
                    if wanted(&frame) {
                        return;
                    }
                }
                waker.woken().await;
            }
        };
        let found = tokio::time::timeout(Duration::from_secs(20), search).await;
        assert!(found.is_ok(), "it did not come; seen {seen:#?}");
        self.handle.log().unwatch(&waker);
        seen
    }

    pub(crate) async fn until_event(&mut self, kind: &str) -> Vec<Arc<Frame>> {
        self.until(|frame| kind_of(frame) == kind).await
    }
}

pub(crate) fn kind_of(frame: &Frame) -> &'static str {
    match &frame.body {
        FrameBody::Recorded(event) => event.kind(),
        FrameBody::Delta(_) => "delta",
        FrameBody::Ephemeral(_) => "notice",
    }
}

pub(crate) fn recorded(frame: &Frame) -> Option<&Event> {
    match &frame.body {
        FrameBody::Recorded(event) => Some(event),
        FrameBody::Delta(_) | FrameBody::Ephemeral(_) => None,
    }
}

/// Returns the approval that a frame opens.
pub(crate) fn opened(frames: &[Arc<Frame>]) -> Approval {
    let found = frames.iter().rev().find_map(|frame| match recorded(frame) {
        Some(Event::ApprovalOpened { approval, .. }) => Some((**approval).clone()),
        _ => None,
    });
    found.expect("an approval was opened")
}
