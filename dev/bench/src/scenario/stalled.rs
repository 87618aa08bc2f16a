//! Readers that stopped reading, beside one that reads: what the server keeps for them while the stream goes on.

use std::time::Duration;

use anyhow::ensure;
use tokio_util::task::AbortOnDropHandle;

use crate::client::Client;
use crate::process::Process;
use crate::provider::Stream;
use crate::samples::{millis, number, rate};
use crate::stamp;
use crate::watch::Watch;
use crate::{Plan, Row, Target};

const NAME: &str = "stalled";
/// Readers that read nothing.
const STALLED: usize = 20;
/// Length of a piece.
const BYTES: usize = 1 << 10;
/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(10);

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let stalled = plan.count(STALLED, 3);
    let stream = Stream {
        count: plan.count(256, 64),
        gap: Duration::ZERO,
        bytes: BYTES,
    };
    // Memory is looked at after a few Turns and after many: it must not follow the stream's length.
    let (few, turns) = (plan.count(16, 1), plan.count(256, 3));
    let alone = streamed(plan, 0, stream, few, turns).await?;
    let beside = streamed(plan, stalled, stream, few, turns).await?;
    let mib = |bytes: usize| number(bytes) / number(1 << 20);
    let text = |turns: usize| mib(stream.count * stream.bytes * turns);
    Ok(vec![
        Row::new(
            NAME,
            format!(
                "memory grown after {} MiB of text; beside: nobody stalls",
                text(few)
            ),
            "MiB",
            mib(beside.early),
        )
        .beside(mib(alone.early))
        .wanted(Target::AtMost(20.0)),
        Row::new(
            NAME,
            format!("the same after {} MiB", text(turns)),
            "MiB",
            mib(beside.most),
        )
        .beside(mib(alone.most))
        .wanted(Target::AtMost(20.0)),
        Row::new(
            NAME,
            "pieces to the reader that reads",
            "/s",
            rate(stream.count * turns, beside.took),
        )
        .beside(rate(stream.count * turns, alone.took)),
        Row::new(NAME, "all of it", "ms", millis(beside.took)).beside(millis(alone.took)),
    ])
}

/// What it came to.
struct Streamed {
    /// Memory grown at most during the first few Turns.
    early: usize,
    /// Memory grown at most.
    most: usize,
    took: Duration,
}

/// Streams Turn after Turn to one reader, with others that do not read.
async fn streamed(
    plan: &Plan,
    stalled: usize,
    stream: Stream,
    few: usize,
    turns: usize,
) -> anyhow::Result<Streamed> {
    let workspace = plan.workspace()?;
    let (process, address, _provider) = plan.serve_clocked(workspace.path()).await?;
    let mut asking = Client::connect(&address).await?;
    let thread = asking.start_thread().await?;
    // A server that has run one Turn has what it needs for any.
    asking.start_turn(&thread, "say ok").await?;
    asking.wait_for("turn/completed").await?;
    let mut silent = Vec::new();
    for _ in 0..stalled {
        let mut client = Client::connect(&address).await?;
        client.subscribe(&thread).await?;
        silent.push(client);
    }
    let before = process.memory()?;
    let began_at = stamp::now();
    let (process, highest) = highest(process);
    let (mut early, mut last_at) = (0, began_at);
    for turn in 0..turns {
        let mut reader = Client::connect(&address).await?;
        reader.subscribe(&thread).await?;
        asking.start_turn(&thread, &stream.prompt()).await?;
        let watched = Watch::start(vec![reader.into_link()], stream.count)?
            .finish()
            .await?;
        ensure!(
            watched.delivered == stream.count,
            "{} pieces came",
            watched.delivered
        );
        last_at = watched.last_at;
        // Its own client reads on too, and knows when the next may begin.
        asking.wait_for("turn/completed").await?;
        if turn + 1 == few {
            early = highest.borrow().saturating_sub(before);
        }
    }
    let most = highest.borrow().saturating_sub(before);
    drop(process);
    drop(silent);
    Ok(Streamed {
        early,
        most,
        took: last_at.saturating_sub(began_at),
    })
}

/// Looks at a process's memory until the handle is dropped, which also ends it.
fn highest(process: Process) -> (AbortOnDropHandle<()>, tokio::sync::watch::Receiver<usize>) {
    let (highest, seen) = tokio::sync::watch::channel(0);
    let looking = tokio::spawn(async move {
        // It ends with the process.
        while let Ok(memory) = process.memory() {
            highest.send_if_modified(|known| {
                let more = memory > *known;
                *known = memory.max(*known);
                more
            });
            tokio::time::sleep(LOOK).await;
        }
    });
    (AbortOnDropHandle::new(looking), seen)
}
