//! One stream to many subscribers: at full speed, and at a millisecond a piece.

use std::time::Duration;

use anyhow::ensure;

use crate::client::Client;
use crate::link::Link;
use crate::provider::Stream;
use crate::samples::{micros, millis, number, rate};
use crate::stamp;
use crate::watch::{Watch, Watched};
use crate::{Plan, Row, Target};

const NAME: &str = "fan-out";
/// Length of a piece: a word or two, and what marks it.
const BYTES: usize = 32;

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &readers in plan.counts(&[1, 10, 100, 500], &[1, 10]) {
        // Long enough to last, short enough that five hundred end in seconds.
        let count = plan.count(if readers > 100 { 5_000 } else { 20_000 }, 100);
        let stream = Stream {
            count,
            gap: Duration::ZERO,
            bytes: BYTES,
        };
        let (ours, bare) = (
            ours(plan, readers, stream).await?,
            bare(plan, readers, stream).await?,
        );
        let about = |what: &str| format!("{readers} readers, full speed: {what}");
        let row = Row::new(NAME, about("deliveries"), "/s", ours.rate()).beside(bare.rate());
        rows.push(row);
        let late = 100.0 * number(ours.watched.with_item) / number(ours.watched.delivered);
        rows.push(Row::new(
            NAME,
            about("of them with the finished item only"),
            "%",
            late,
        ));
        let row =
            Row::new(NAME, about("CPU a delivery"), "µs", ours.per_delivery()).beside(bare.per_delivery());
        rows.push(if readers == 100 {
            row.wanted(Target::RatioAtMost(3.0))
        } else {
            row
        });
    }
    for &readers in plan.counts(&[100, 500], &[5]) {
        let stream = Stream {
            count: plan.count(2_000, 50),
            gap: Duration::from_millis(1),
            bytes: BYTES,
        };
        let (ours, bare) = (
            ours(plan, readers, stream).await?,
            bare(plan, readers, stream).await?,
        );
        let about = |what: &str| format!("{readers} readers, 1 ms a piece: {what}");
        rows.push(
            Row::new(
                NAME,
                about("slowest p99 lag"),
                "ms",
                millis(ours.watched.slowest_p99),
            )
            .beside(millis(bare.watched.slowest_p99))
            .wanted(Target::RatioAtMost(2.0)),
        );
        rows.push(
            Row::new(
                NAME,
                about("median lag"),
                "ms",
                millis(ours.watched.lags.median()),
            )
            .beside(millis(bare.watched.lags.median())),
        );
        rows.push(
            Row::new(NAME, about("CPU a delivery"), "µs", ours.per_delivery())
                .beside(bare.per_delivery())
                .wanted(Target::RatioAtMost(3.0)),
        );
    }
    Ok(rows)
}

/// A stream that has reached all its readers.
pub(super) struct Fan {
    pub(super) watched: Watched,
    began_at: Duration,
    processor: Duration,
}

impl Fan {
    /// Returns the time from the request to the last piece at the last reader.
    pub(super) fn took(&self) -> Duration {
        self.watched.last_at.saturating_sub(self.began_at)
    }

    fn rate(&self) -> f64 {
        rate(self.watched.delivered, self.took())
    }

    /// Returns the server's processor time for each piece that reached a reader, in microseconds.
    pub(super) fn per_delivery(&self) -> f64 {
        micros(self.processor) / number(self.watched.delivered)
    }
}

/// Streams through the server; the last reader is the one that asks.
pub(super) async fn ours(plan: &Plan, readers: usize, stream: Stream) -> anyhow::Result<Fan> {
    let workspace = plan.workspace()?;
    let (process, address, _provider) = plan.serve_clocked(workspace.path()).await?;
    let mut asking = Client::connect(&address).await?;
    let thread = asking.start_thread().await?;
    let mut links = Vec::new();
    for _ in 1..readers {
        let mut client = Client::connect(&address).await?;
        client.subscribe(&thread).await?;
        links.push(client.into_link());
    }
    asking.subscribe(&thread).await?;
    let (processor, began_at) = (process.processor_time()?, stamp::now());
    asking.start_turn(&thread, &stream.prompt()).await?;
    links.push(asking.into_link());
    let watched = Watch::start(links, stream.count)?.finish().await?;
    let processor = process.processor_time()?.saturating_sub(processor);
    process.kill().await?;
    all(watched, readers, stream, began_at, processor)
}

/// Streams through a bare broadcast.
pub(super) async fn bare(plan: &Plan, readers: usize, stream: Stream) -> anyhow::Result<Fan> {
    let home = plan.workspace()?;
    let (process, address) = plan.bare(home.path()).await?;
    let mut links = Vec::new();
    for _ in 0..readers {
        let mut link = Link::web_socket(&address).await?;
        // An answer shows that it is subscribed.
        link.send("hello".to_owned()).await?;
        link.next().await?;
        links.push(link);
    }
    let (processor, began_at) = (process.processor_time()?, stamp::now());
    if let Some(last) = links.last_mut() {
        last.send(format!("broadcast {}", stream.prompt())).await?;
    }
    let watched = Watch::start(links, stream.count)?.finish().await?;
    let processor = process.processor_time()?.saturating_sub(processor);
    process.kill().await?;
    all(watched, readers, stream, began_at, processor)
}

fn all(
    watched: Watched,
    readers: usize,
    stream: Stream,
    began_at: Duration,
    processor: Duration,
) -> anyhow::Result<Fan> {
    let expected = readers * stream.count;
    ensure!(
        watched.delivered == expected,
        "{} of {expected} pieces came",
        watched.delivered
    );
    Ok(Fan {
        watched,
        began_at,
        processor,
    })
}
