//! Reads frames that are no longer in memory, for a reader that fell behind or returns.
//!
//! Recorded events come from the store in pages. Deltas are never stored. Instead, one Delta has the rest of an Item's text
//! after the part that the reader knows. The start of a call has its arguments. Many clients have no other source of both.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bobbin_model::{Delta, DeltaChannel, Event, Item, ItemBody, ItemId, Seq, ThreadState, TurnId};
use bobbin_store::StoredEvent;

use crate::owner::weight_of;
use crate::{CoreError, Ephemeral, Frame, FrameBody, Part, Snapshot, ThreadHandle, Threads, View};

/// Events read at once.
const PAGE: u32 = 500;
/// Events in which the start of the newest Turn is searched first.
const RECENT: u32 = 32;
/// Most events that a reader may be behind before it must start over (start value of the design).
const MAX_EVENTS: u32 = 1000;
/// Most bytes that a reader may be behind.
const MAX_BYTES: usize = 8 << 20;

/// Most bytes that one event counts for, so that a single large Turn does not make its own end unreadable.
const MAX_COUNTED: usize = 1 << 20;

/// The frames that a reader has missed.
#[derive(Debug)]
pub enum Backlog {
    /// All frames, oldest first; live reading continues at `next`.
    Frames {
        /// The frames.
        frames: Vec<Arc<Frame>>,
        /// Position of the next read.
        next: Seq,
    },
    /// There are too many frames, or the gap is unknown: the text of an open Item came in Deltas, which were never stored.
    TooFar,
}

impl Threads {
    /// Reads all frames from `next` to the present. `shown` returns how many bytes of an Item's text the reader has, or
    /// `None` if that is unknown.
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
                if frames.len() > MAX_EVENTS as usize || bytes > MAX_BYTES {
                    return Ok(Backlog::TooFar);
                }
            }
            if !full {
                break;
            }
        }
        let mut frames = self.with_texts(handle, frames, &shown);
        let begun: HashSet<(TurnId, ItemId)> = frames.iter().filter_map(|frame| started(frame)).collect();
        // The reader has no text of an Item that started after it left.
        let shown = |turn, item| {
            if begun.contains(&(turn, item)) {
                Some(0)
            } else {
                shown(turn, item)
            }
        };
        let Some(open) = self.open_text(handle, &snapshot, shown) else {
            return Ok(Backlog::TooFar);
        };
        frames.extend(open);
        // Changes of the runtime status are sent and never stored.
        let runtime = FrameBody::Ephemeral(Ephemeral::RuntimeChanged(snapshot.state.runtime()));
        frames.push(self.behind(handle, snapshot.at, Part::LAST, runtime, 0));
        Ok(Backlog::Frames {
            frames,
            next: snapshot.at.next(),
        })
    }

    /// Returns the start of a Thread's newest Turn, for a reader that wants frames from before its arrival that are no
    /// longer in memory. `None` if there is no Turn, or if its start is too far back.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn recent_start(&self, handle: &ThreadHandle) -> Result<Option<Seq>, CoreError> {
        let visible = handle.log().visible();
        for count in [RECENT, MAX_EVENTS] {
            let recent = self.store.recent_events(handle.id(), visible, count).await?;
            let starts = |stored: &&StoredEvent| matches!(*stored.event, Event::TurnStarted { .. });
            if let Some(start) = recent.iter().rev().find(starts) {
                return Ok(Some(start.seq));
            }
            if recent.len() < count as usize {
                break;
            }
        }
        Ok(None)
    }

    /// Adds the rest of each completed Item's text before its end, and the arguments of each call to its start. This at most
    /// doubles the bytes.
    fn with_texts(
        &self,
        handle: &ThreadHandle,
        frames: Vec<Arc<Frame>>,
        shown: impl Fn(TurnId, ItemId) -> Option<usize>,
    ) -> Vec<Arc<Frame>> {
        let completed: HashMap<(TurnId, ItemId), ItemBody> = frames
            .iter()
            .filter_map(|frame| match recorded(frame)? {
                Event::ItemCompleted { turn, item } if matches!(item.body, ItemBody::ToolCall { .. }) => {
                    Some(((*turn, item.id), item.body.clone()))
                }
                _ => None,
            })
            .collect();
        let mut whole = Vec::with_capacity(frames.len());
        let mut last = frames.first().map_or(Seq(0), |frame| frame.seq.prev());
        for frame in frames {
            let seq = frame.seq;
            match recorded(&frame) {
                Some(Event::ItemStarted { turn, item }) => {
                    let frame = match completed.get(&(*turn, item.id)) {
                        Some(body) => started_with(&frame, *turn, item, body.clone()),
                        None => frame,
                    };
                    whole.push(frame);
                }
                Some(Event::ItemCompleted { turn, item }) => {
                    if let Some((channel, text)) = text_of(&item.body)
                        && let Some(offset) = shown(*turn, item.id)
                        && let Some(text) = text.get(offset..).filter(|text| !text.is_empty())
                    {
                        let (turn, item, text) = (*turn, item.id, text.into());
                        let delta = Delta {
                            turn,
                            item,
                            channel,
                            offset,
                            text,
                            call: None,
                        };
                        let weight = delta.text.len();
                        whole.push(self.behind(
                            handle,
                            last,
                            Part::behind(0),
                            FrameBody::Delta(delta),
                            weight,
                        ));
                    }
                    whole.push(frame);
                }
                _ => whole.push(frame),
            }
            last = seq;
        }
        whole
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
            Event::ThreadStarted { .. } | Event::ThreadResumed { .. } | Event::ThreadConfigured { .. } => {
                View::Thread(state.clone())
            }
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
                ItemBody::ToolCall {
                    tool_name, call_id, ..
                } => {
                    call = Some(Arc::new((tool_name.clone(), call_id.clone())));
                    let Some(text) = live.arguments.get(&item.id) else {
                        continue;
                    };
                    (DeltaChannel::ToolArguments, text)
                }
                body => match text_of(body) {
                    Some(text) => text,
                    None => continue,
                },
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

    /// Makes a frame for one reader that follows the frame `seq` of the log.
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

/// Returns the text that an Item streams, except a call's arguments.
fn text_of(body: &ItemBody) -> Option<(DeltaChannel, &String)> {
    Some(match body {
        ItemBody::AgentMessage { text } => (DeltaChannel::AgentMessage, text),
        ItemBody::Reasoning { text } => (DeltaChannel::Reasoning, text),
        ItemBody::CommandExecution(run) => (DeltaChannel::CommandOutput, &run.aggregated_output),
        _ => return None,
    })
}

fn recorded(frame: &Frame) -> Option<&Event> {
    match &frame.body {
        FrameBody::Recorded(event) => Some(event),
        FrameBody::Delta(_) | FrameBody::Ephemeral(_) => None,
    }
}

/// Returns the Item that a frame opens.
fn started(frame: &Frame) -> Option<(TurnId, ItemId)> {
    match recorded(frame)? {
        Event::ItemStarted { turn, item } => Some((*turn, item.id)),
        _ => None,
    }
}

/// Returns the start of an Item with another body.
fn started_with(frame: &Frame, turn: TurnId, item: &Item, body: ItemBody) -> Arc<Frame> {
    let item = Box::new(Item { body, ..item.clone() });
    let event = Event::ItemStarted { turn, item };
    let (id, view) = (frame.thread.clone(), frame.view.clone());
    let weight = weight_of(&event, &view);
    let body = FrameBody::Recorded(Arc::new(event));
    Arc::new(Frame::new(id, frame.seq, frame.at, body, view, weight))
}
