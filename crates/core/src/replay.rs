//! Reading back what is no longer in memory, for a reader that fell behind or comes back.
//!
//! Recorded events come from the store in pages; Deltas were never stored, so the text of Items that are
//! still open is given as it stands, in one piece each, from where the reader had got to.

use std::collections::HashSet;
use std::sync::Arc;

use bobbin_model::{Delta, DeltaChannel, Event, ItemBody, ItemId, Seq, ThreadState, TurnId};
use bobbin_store::StoredEvent;

use crate::owner::weight_of;
use crate::{CoreError, Ephemeral, Frame, FrameBody, Hub, Part, Snapshot, ThreadHandle, View};

/// Events read back at once.
const PAGE: u32 = 500;
/// Most events one reader may be behind before it must start over (start value of the design).
const MAX_EVENTS: usize = 1000;
/// Most bytes, likewise.
const MAX_BYTES: usize = 8 << 20;

/// Most of it that one event counts for: a single big Turn must not make its own end unreadable.
const MAX_COUNTED: usize = 1 << 20;

/// What a reader has missed.
#[derive(Debug)]
pub enum Backlog {
    /// All of it, oldest first; live reading goes on at `next`.
    Frames {
        /// The frames.
        frames: Vec<Arc<Frame>>,
        /// Where to read next.
        next: Seq,
    },
    /// Too much to read back, or not exactly known what: text of an Item that is still open came in pieces
    /// that were never stored.
    TooFar,
}

impl Hub {
    /// Reads everything from `next` up to now. `shown` tells how many bytes of an open Item's text the
    /// reader already has, `None` when nobody knows.
    ///
    /// # Errors
    /// [`CoreError::Store`], [`CoreError::Stopping`].
    pub async fn backlog(
        self: &Arc<Self>,
        handle: &ThreadHandle,
        next: Seq,
        shown: impl Fn(TurnId, ItemId) -> Option<usize>,
    ) -> Result<Backlog, CoreError> {
        let snapshot = self.snapshot(handle).await?;
        let mut frames = Vec::new();
        let mut bytes = 0;
        let mut after = next.prev();
        loop {
            let page = self.store.events(handle.id(), after, snapshot.at, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            let full = page.len() >= PAGE as usize;
            for event in page {
                let frame = self.frame_of(handle, &snapshot.state, event).await?;
                bytes += frame.bytes().min(MAX_COUNTED);
                frames.push(frame);
                if frames.len() > MAX_EVENTS || bytes > MAX_BYTES {
                    return Ok(Backlog::TooFar);
                }
            }
            if !full {
                break;
            }
        }
        let begun: HashSet<ItemId> = frames.iter().filter_map(|frame| started(frame)).collect();
        // An Item that began after the reader left has shown it nothing.
        let shown = |turn, item| {
            if begun.contains(&item) {
                Some(0)
            } else {
                shown(turn, item)
            }
        };
        let Some(open) = self.open_text(handle, &snapshot, shown) else {
            return Ok(Backlog::TooFar);
        };
        frames.extend(open);
        // Whether the Thread runs is told at every change and stored at none.
        let runtime = FrameBody::Ephemeral(Ephemeral::RuntimeChanged(snapshot.state.runtime()));
        frames.push(self.behind(handle, snapshot.at, Part::LAST, runtime, 0));
        Ok(Backlog::Frames {
            frames,
            next: snapshot.at.next(),
        })
    }

    /// Returns where the newest `count` recorded events of a Thread begin, for a reader that wants what
    /// was there before it came although the Thread's memory does not reach back that far.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn recent_start(&self, handle: &ThreadHandle, count: u32) -> Result<Option<Seq>, CoreError> {
        let recent = self
            .store
            .recent_events(handle.id(), handle.log().visible(), count)
            .await?;
        Ok(recent.first().map(|event| event.seq))
    }

    async fn frame_of(
        &self,
        handle: &ThreadHandle,
        state: &Arc<ThreadState>,
        stored: StoredEvent,
    ) -> Result<Arc<Frame>, CoreError> {
        let view = match &*stored.event {
            Event::TurnEnded { turn, .. } => {
                let turn = self.store.turn(handle.id(), *turn).await?;
                turn.map_or(View::None, |turn| View::Turn(Arc::new(turn)))
            }
            Event::ThreadStarted { .. } | Event::ThreadResumed { .. } => View::Thread(state.clone()),
            _ => View::None,
        };
        let weight = weight_of(&stored.event, &view);
        let body = FrameBody::Recorded(stored.event);
        Ok(Arc::new(Frame::new(
            handle.id().clone(),
            stored.seq,
            stored.at,
            body,
            view,
            weight,
        )))
    }

    fn open_text(
        &self,
        handle: &ThreadHandle,
        snapshot: &Snapshot,
        shown: impl Fn(TurnId, ItemId) -> Option<usize>,
    ) -> Option<Vec<Arc<Frame>>> {
        let Some(live) = &snapshot.state.live else {
            return Some(Vec::new());
        };
        let turn = live.turn.id;
        let mut frames = Vec::new();
        for item in live.open_items() {
            let mut call = None;
            let (channel, text) = match &item.body {
                ItemBody::AgentMessage { text } => (DeltaChannel::AgentMessage, text),
                ItemBody::Reasoning { text } => (DeltaChannel::Reasoning, text),
                ItemBody::CommandExecution(run) => (DeltaChannel::CommandOutput, &run.aggregated_output),
                ItemBody::ToolCall {
                    tool_name, call_id, ..
                } => {
                    call = Some(Arc::new((tool_name.clone(), call_id.clone())));
                    let Some(text) = live.arguments.get(&item.id) else {
                        continue;
                    };
                    (DeltaChannel::ToolArguments, text)
                }
                _ => continue,
            };
            if text.is_empty() {
                continue;
            }
            let offset = shown(turn, item.id)?;
            let Some(text) = text.get(offset..).filter(|text| !text.is_empty()) else {
                continue;
            };
            let delta = Delta {
                turn,
                item: item.id,
                channel,
                offset,
                text: text.into(),
                call,
            };
            let weight = delta.text.len();
            let part = Part::behind(frames.len());
            frames.push(self.behind(handle, snapshot.at, part, FrameBody::Delta(delta), weight));
        }
        Some(frames)
    }

    /// Makes a frame for one reader, to go behind what is in the log at `seq`.
    fn behind(
        &self,
        handle: &ThreadHandle,
        seq: Seq,
        part: Part,
        body: FrameBody,
        weight: usize,
    ) -> Arc<Frame> {
        let at = self.clock.now();
        let frame = Frame::new(handle.id().clone(), seq, at, body, View::None, weight);
        Arc::new(frame.at_part(part))
    }
}

/// Returns the Item that a frame opens.
fn started(frame: &Frame) -> Option<ItemId> {
    match &frame.body {
        FrameBody::Recorded(event) => match &**event {
            Event::ItemStarted { item, .. } => Some(item.id),
            _ => None,
        },
        FrameBody::Delta(_) | FrameBody::Ephemeral(_) => None,
    }
}
