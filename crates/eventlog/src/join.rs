//! Joining Deltas for readers that are behind: fewer, longer pieces, the same text.
//!
//! Pure. Deltas of one stream that follow each other become one, up to a size; anything else of the same
//! Item between them keeps them apart, so that no text moves across another event of its Item.

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

/// Deltas that will go out as one.
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

    /// A run of one piece is the shared frame itself, with what is already encoded of it.
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
mod tests {
    use bobbin_model::{DeltaChannel, Event, Seq, ThreadId, UnixMillis};
    use proptest::prelude::*;

    use super::*;
    use crate::View;

    fn delta(seq: u64, item: u32, offset: usize, text: &str) -> Arc<Frame> {
        let delta = Delta {
            turn: TurnId(1),
            item: ItemId(item),
            channel: DeltaChannel::AgentMessage,
            offset,
            text: text.into(),
            call: None,
        };
        frame(seq, FrameBody::Delta(delta))
    }

    fn frame(seq: u64, body: FrameBody) -> Arc<Frame> {
        Arc::new(Frame::new(
            ThreadId::new("t"),
            Seq(seq),
            UnixMillis(0),
            body,
            View::None,
            1,
        ))
    }

    #[test]
    fn an_event_keeps_deltas_apart() {
        let event = Event::CallStarted {
            turn: TurnId(1),
            call_id: "c".into(),
        };
        let frames = vec![
            delta(1, 1, 0, "a"),
            delta(2, 1, 1, "b"),
            frame(3, FrameBody::Recorded(Arc::new(event))),
            delta(4, 1, 2, "c"),
        ];
        let seqs: Vec<_> = join(frames).iter().map(|frame| frame.seq.0).collect();
        assert_eq!(seqs, [2, 3, 4]);
    }

    #[test]
    fn a_single_delta_stays_the_shared_frame() {
        let one = delta(1, 1, 0, "a");
        assert!(Arc::ptr_eq(&join(vec![one.clone()])[0], &one));
    }

    proptest! {
        /// Invariant 6: joined Deltas equal the concatenation of the originals, per Item.
        #[test]
        fn joined_text_equals_the_text(pieces in proptest::collection::vec((1u32..4, "[a-zé]{1,5}"), 0..60)) {
            let mut texts = [const { String::new() }; 4];
            let frames = pieces.iter().zip(1..).map(|((item, text), seq)| {
                let stream = &mut texts[*item as usize];
                let frame = delta(seq, *item, stream.len(), text);
                stream.push_str(text);
                frame
            });
            let frames: Vec<_> = frames.collect();
            let count = frames.len();
            let joined = join(frames);
            prop_assert!(joined.len() <= count);
            prop_assert!(joined.is_sorted_by_key(|frame| frame.seq));
            let mut again = [const { String::new() }; 4];
            for frame in &joined {
                let delta = frame.delta().unwrap();
                let stream = &mut again[delta.item.0 as usize];
                prop_assert_eq!(stream.len(), delta.offset);
                stream.push_str(&delta.text);
            }
            prop_assert_eq!(again, texts);
        }
    }
}
