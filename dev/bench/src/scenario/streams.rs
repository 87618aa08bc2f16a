//! Many Turns that stream at the same time, each on its own Thread and connection: a hundred pieces, five
//! milliseconds apart, so that half a second is all it should take.

use std::time::Duration;

use crate::client::Client;
use crate::link::Link;
use crate::provider::Stream;
use crate::samples::{micros, millis, number};
use crate::stamp;
use crate::watch::Watch;
use crate::{Plan, Row};

const NAME: &str = "streams";

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &count in plan.counts(&[1, 8, 32, 128], &[1, 4]) {
        let stream = Stream {
            count: plan.count(100, 10),
            gap: Duration::from_millis(5),
            bytes: 32,
        };
        let (ours, bare) = (ours(plan, count, stream).await?, bare(plan, count, stream).await?);
        let pieces = number(count * stream.count);
        rows.push(
            Row::new(NAME, format!("{count} at once: all done"), "ms", millis(ours.0)).beside(millis(bare.0)),
        );
        rows.push(
            Row::new(
                NAME,
                format!("{count} at once: server CPU a piece"),
                "µs",
                micros(ours.1) / pieces,
            )
            .beside(micros(bare.1) / pieces),
        );
    }
    Ok(rows)
}

/// Returns the time until all are done and the server's processor time for it.
async fn ours(plan: &Plan, count: usize, stream: Stream) -> anyhow::Result<(Duration, Duration)> {
    let workspace = plan.workspace()?;
    let (process, address, _provider) = plan.serve_clocked(workspace.path()).await?;
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut client = Client::connect(&address).await?;
        let thread = client.start_thread().await?;
        clients.push((client, thread));
    }
    let (processor, began_at) = (process.processor_time()?, stamp::now());
    let mut links = Vec::new();
    for (mut client, thread) in clients {
        client.start_turn(&thread, &stream.prompt()).await?;
        links.push(client.into_link());
    }
    let watched = Watch::start(links, stream.count)?.finish().await?;
    let processor = process.processor_time()?.saturating_sub(processor);
    process.kill().await?;
    Ok((watched.last_at.saturating_sub(began_at), processor))
}

async fn bare(plan: &Plan, count: usize, stream: Stream) -> anyhow::Result<(Duration, Duration)> {
    let home = plan.workspace()?;
    let (process, address) = plan.bare(home.path()).await?;
    let mut links = Vec::new();
    for _ in 0..count {
        links.push(Link::web_socket(&address).await?);
    }
    let (processor, began_at) = (process.processor_time()?, stamp::now());
    for link in &mut links {
        link.send(stream.prompt()).await?;
    }
    let watched = Watch::start(links, stream.count)?.finish().await?;
    let processor = process.processor_time()?.saturating_sub(processor);
    process.kill().await?;
    Ok((watched.last_at.saturating_sub(began_at), processor))
}
