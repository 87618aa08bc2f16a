//! Joined text, checked frame by frame against the input.

use std::ops::Range;

use bobbin_model::{DeltaChannel, Event, Seq, ThreadId, UnixMillis};
use proptest::prelude::*;

use super::*;
use crate::View;

const CHANNELS: [DeltaChannel; 4] = [
    DeltaChannel::AgentMessage,
    DeltaChannel::Reasoning,
    DeltaChannel::ToolArguments,
    DeltaChannel::CommandOutput,
];

/// Returns the frames numbered from 1. A frame's time is ten times its number.
fn frames(bodies: Vec<FrameBody>) -> Vec<Arc<Frame>> {
    let frames = bodies.into_iter().zip(1..).map(|(body, seq)| {
        let at = UnixMillis(seq * 10);
        let seq = Seq(seq.unsigned_abs());
        Arc::new(Frame::new(ThreadId::new("t"), seq, at, body, View::None, 1))
    });
    frames.collect()
}

fn delta(turn: u32, item: u32, channel: DeltaChannel, offset: usize, text: &str) -> FrameBody {
    FrameBody::Delta(Delta {
        turn: TurnId(turn),
        item: ItemId(item),
        channel,
        offset,
        text: text.into(),
        call: Some(Arc::new(("Exec".into(), format!("call_{item}")))),
    })
}

fn message(offset: usize, text: &str) -> FrameBody {
    delta(1, 1, CHANNELS[0], offset, text)
}

fn event() -> FrameBody {
    let (turn, call_id) = (TurnId(1), "c".into());
    FrameBody::Recorded(Arc::new(Event::CallStarted { turn, call_id }))
}

/// Returns the numbers of the joined frames.
fn seqs(bodies: Vec<FrameBody>) -> Vec<u64> {
    join(frames(bodies)).iter().map(|frame| frame.seq.0).collect()
}

#[test]
fn deltas_are_joined_as_the_table_says() {
    let behind = |body| vec![message(0, "é"), body];
    let notice = FrameBody::Ephemeral(crate::Ephemeral::Synced);
    let table = [
        ("what follows", behind(message(2, "b")), vec![2]),
        ("across a gap", behind(message(3, "b")), vec![1, 2]),
        ("the same text again", behind(message(0, "é")), vec![1, 2]),
        (
            "across channels",
            behind(delta(1, 1, CHANNELS[1], 2, "b")),
            vec![1, 2],
        ),
        (
            "across Items",
            behind(delta(1, 2, CHANNELS[0], 2, "b")),
            vec![1, 2],
        ),
        (
            "across Turns",
            behind(delta(2, 1, CHANNELS[0], 2, "b")),
            vec![1, 2],
        ),
        (
            "across an event",
            vec![message(0, "a"), message(1, "b"), event(), message(2, "c")],
            vec![2, 3, 4],
        ),
        (
            "across a notice",
            vec![message(0, "a"), notice, message(1, "b")],
            vec![1, 2, 3],
        ),
        ("nothing", vec![], vec![]),
    ];
    for (case, bodies, expected) in table {
        assert_eq!(seqs(bodies), expected, "{case}");
    }
}

#[test]
fn a_joined_delta_has_at_most_the_text_of_one_batch() {
    let half = "x".repeat(MAX_JOINED_BYTES / 2);
    let size = half.len();
    let pieces = |last: &str| vec![message(0, &half), message(size, &half), message(2 * size, last)];
    assert_eq!(seqs(pieces("x")), [2, 3]);
    assert_eq!(seqs(pieces("")), [3], "exactly the bound");
}

#[test]
fn a_single_delta_stays_the_shared_frame() {
    let all = frames(vec![message(0, "a"), event(), message(1, "b")]);
    let joined = join(all.clone());
    assert!(all.iter().zip(&joined).all(|(one, same)| Arc::ptr_eq(one, same)));
}

/// Returns one element of a stream of frames: an event, or a piece of text at its offset in its stream. Some pieces
/// leave a gap before them.
fn stream() -> impl Strategy<Value = Vec<FrameBody>> {
    let step = (1u32..3, 1u32..3, 0usize..4, "[a-zé]{1,5}", 0u8..10);
    proptest::collection::vec(step, 0..80).prop_map(|steps| {
        let mut ends = [[[0; 4]; 3]; 3];
        let bodies = steps.into_iter().map(|(turn, item, channel, text, kind)| {
            if kind == 0 {
                return event();
            }
            let end = &mut ends[turn as usize][item as usize][channel];
            let offset = *end + usize::from(kind == 1);
            *end = offset + text.len();
            delta(turn, item, CHANNELS[channel], offset, &text)
        });
        bodies.collect()
    })
}

/// Returns the frames that a joined frame covers: those after the previous joined frame, up to its own number.
fn covered(joined: &[Arc<Frame>], n: usize) -> Range<usize> {
    let number = |frame: &Arc<Frame>| usize::try_from(frame.seq.0).unwrap();
    let before = n.checked_sub(1).map_or(0, |n| number(&joined[n]));
    before..number(&joined[n])
}

proptest! {
    /// Every frame is covered by exactly one joined frame: the frame itself, or the concatenation of pieces of one
    /// stream without a gap, with the number and time of the last. Joining again changes nothing.
    #[test]
    fn joined_deltas_are_the_concatenation_of_pieces_of_one_stream(bodies in stream()) {
        let all = frames(bodies);
        let joined = join(all.clone());
        prop_assert_eq!(joined.last().map(|frame| frame.seq), all.last().map(|frame| frame.seq));
        for (n, frame) in joined.iter().enumerate() {
            let pieces = &all[covered(&joined, n)];
            let last = pieces.last().expect("numbers go up");
            prop_assert_eq!((frame.seq, frame.at, &frame.thread), (last.seq, last.at, &last.thread));
            if let [one] = pieces {
                prop_assert!(Arc::ptr_eq(one, frame));
                continue;
            }
            let delta = frame.delta().expect("only Deltas are joined");
            let mut end = delta.offset;
            let mut text = String::new();
            for piece in pieces {
                let piece = piece.delta().expect("only Deltas are joined");
                let stream = |delta: &Delta| (delta.turn, delta.item, delta.channel, delta.call.clone());
                prop_assert_eq!(stream(piece), stream(delta));
                prop_assert_eq!(piece.offset, end);
                end += piece.text.len();
                text.push_str(&piece.text);
            }
            prop_assert_eq!(&*delta.text, text.as_str());
        }
        // No two neighbours can be joined: they are never one stream without a gap.
        prop_assert_eq!(join(joined.clone()).len(), joined.len());
    }
}
