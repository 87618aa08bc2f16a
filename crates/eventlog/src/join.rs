//! Joins Deltas for slow readers: fewer, longer pieces with the same text.
//!
//! Pure. Consecutive Deltas of one stream become one, up to a size. Any other event of the same Item between them
//! keeps them apart, so that no text moves across it.

use std::sync::Arc;

use bobbin_model::{Delta, ItemId, TurnId};

use crate::{Frame, FrameBody};

/// Longest joined piece in bytes: one pump batch.
const MAX_JOINED_BYTES: usize = 64 << 10;

/// Returns the frames with runs of Deltas joined. A joined frame has the Seq of its last piece.
pub fn join(frames: Vec<Arc<Frame>>) -> Vec<Arc<Frame>> {
    let mut joined: Vec<Arc<Frame>> = Vec::with_capacity(frames.len());
    let mut run: Option<Run> = None;
    for frame in frames {
        match (&mut run, frame.delta()) {
            (Some(current), Some(delta)) if current.takes(delta) => current.push(&frame, delta),
            (_, Some(delta)) => {
                joined.extend(run.take().map(Run::into_frame));
                run = Some(Run::new(&frame, delta));
            }
            (_, None) => {
                joined.extend(run.take().map(Run::into_frame));
                joined.push(frame);
            }
        }
    }
    joined.extend(run.take().map(Run::into_frame));
    joined
}

/// Deltas to be sent as one.
struct Run {
    last: Arc<Frame>,
    delta: Delta,
    text: String,
    pieces: usize,
}

impl Run {
    fn new(frame: &Arc<Frame>, delta: &Delta) -> Self {
        Self {
            last: frame.clone(),
            delta: delta.clone(),
            text: delta.text.to_string(),
            pieces: 1,
        }
    }

    fn stream(&self) -> (TurnId, ItemId) {
        (self.delta.turn, self.delta.item)
    }

    fn takes(&self, next: &Delta) -> bool {
        self.stream() == (next.turn, next.item)
            && self.delta.channel == next.channel
            && self.delta.offset + self.text.len() == next.offset
            && self.text.len() + next.text.len() <= MAX_JOINED_BYTES
    }

    fn push(&mut self, frame: &Arc<Frame>, next: &Delta) {
        self.text.push_str(&next.text);
        self.last = frame.clone();
        self.pieces += 1;
    }

    /// Returns the shared frame itself for a run of one piece, with its cached encodings.
    fn into_frame(self) -> Arc<Frame> {
        if self.pieces == 1 {
            return self.last;
        }
        let weight = self.text.len();
        let delta = Delta {
            text: self.text.into(),
            ..self.delta
        };
        let last = &self.last;
        Arc::new(Frame::new(
            last.thread.clone(),
            last.seq,
            last.at,
            FrameBody::Delta(delta),
            last.view.clone(),
            weight,
        ))
    }
}

#[cfg(test)]
mod tests;
