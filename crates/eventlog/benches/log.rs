//! A thousand Deltas into a log and out of it again, beside the least that could keep and share them.
//!
//! `bare` is a queue of shared pointers behind a mutex, without numbers, bounds, hidden entries or bells; for joining,
//! the same text put together by hand.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up should stop loudly"
)]

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;

use bobbin_eventlog::{Frame, FrameBody, Limits, Log, Read, View, Waker, join};
use bobbin_model::{Delta, DeltaChannel, ItemId, Seq, ThreadId, TurnId, UnixMillis};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use parking_lot::Mutex;

const DELTAS: usize = 1000;
/// What a pump takes at once.
const BATCH_BYTES: usize = 64 << 10;
const PIECE: &str = "another word ";

fn frame(thread: &ThreadId, seq: Seq, offset: usize) -> Arc<Frame> {
    let delta = Delta {
        turn: TurnId(1),
        item: ItemId(2),
        channel: DeltaChannel::AgentMessage,
        offset,
        text: PIECE.into(),
        call: None,
    };
    Arc::new(Frame::new(
        thread.clone(),
        seq,
        UnixMillis(0),
        FrameBody::Delta(delta),
        View::None,
        PIECE.len(),
    ))
}

fn append(log: &Log<Arc<Frame>>, thread: &ThreadId) {
    for number in 0..DELTAS {
        let appended = log.append(|seq| frame(thread, seq, number * PIECE.len()));
        log.show(appended.seq);
    }
}

/// Reads everything from a number on; returns how many entries that was.
fn drain(log: &Log<Arc<Frame>>, mut next: Seq) -> usize {
    let mut count = 0;
    while let Read::Entries { entries, next: after } = log.read(next, BATCH_BYTES) {
        if entries.is_empty() {
            break;
        }
        count += black_box(entries).len();
        next = after;
    }
    count
}

fn bare_append(queue: &Mutex<VecDeque<Arc<Frame>>>, thread: &ThreadId) {
    for number in 0..DELTAS {
        let frame = frame(thread, Seq(number as u64), number * PIECE.len());
        queue.lock().push_back(frame);
    }
}

fn roomy() -> Limits {
    Limits {
        entries: 1 << 20,
        bytes: 1 << 30,
    }
}

fn logs(criterion: &mut Criterion) {
    let thread = ThreadId::new("thread_1");
    let mut group = criterion.benchmark_group("log");
    group.throughput(Throughput::Elements(DELTAS as u64));
    group.bench_function("append/bare", |bencher| {
        bencher.iter_batched_ref(
            || Mutex::new(VecDeque::new()),
            |queue| bare_append(queue, &thread),
            BatchSize::LargeInput,
        );
    });
    for (name, watchers) in [
        ("append and show/nobody reads", 0),
        ("append and show/100 readers rung", 100),
    ] {
        group.bench_function(name, |bencher| {
            let wakers: Vec<Waker> = (0..watchers).map(|_| Waker::default()).collect();
            bencher.iter_batched_ref(
                || {
                    let log = Log::new(Seq(1), Limits::default());
                    for waker in &wakers {
                        log.watch(waker);
                    }
                    log
                },
                |log| append(log, &thread),
                BatchSize::LargeInput,
            );
        });
    }
    let queue = Mutex::new(VecDeque::new());
    bare_append(&queue, &thread);
    group.bench_function("read/bare", |bencher| {
        bencher.iter(|| black_box(queue.lock().iter().cloned().collect::<Vec<_>>()).len());
    });
    let log = Log::new(Seq(1), roomy());
    append(&log, &thread);
    group.bench_function("read/log", |bencher| {
        bencher.iter(|| assert_eq!(drain(&log, Seq(1)), DELTAS));
    });
    let Read::Entries { entries, .. } = log.read(Seq(1), usize::MAX) else {
        unreachable!()
    };
    group.bench_function("join/bare", |bencher| {
        bencher.iter(|| {
            let pieces = entries.iter().filter_map(|frame| frame.delta());
            black_box(pieces.map(|delta| &*delta.text).collect::<String>()).len()
        });
    });
    group.bench_function("join/log", |bencher| {
        bencher.iter_batched(
            || entries.clone(),
            |entries| assert_eq!(join(entries).first().unwrap().seq, Seq(DELTAS as u64)),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, logs);
criterion_main!(benches);
