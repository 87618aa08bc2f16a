//! A Turn of one word on one Thread, a thousand times, with a model behind a provider that answers at once: request to
//! `turn/completed`. What it costs beside the offline model is the provider's wire and the conversation sent with it.

use anyhow::{Context as _, ensure};
use tokio::time::Instant;

use crate::client::Client;
use crate::samples::{Samples, millis};
use crate::{Plan, Row, Target};

const NAME: &str = "model-turn";

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let workspace = plan.workspace()?;
    let (process, address, provider) = plan.serve_clocked(workspace.path()).await?;
    let mut client = Client::connect(&address).await?;
    let thread = client.start_thread().await?;
    let mut ours = Samples::default();
    let count = plan.count(1_000, 10);
    for number in 0..count {
        let began = Instant::now();
        client.start_turn(&thread, "say ok").await?;
        client
            .wait_for("turn/completed")
            .await
            .with_context(|| format!("turn {number}"))?;
        ours.push(began.elapsed());
    }
    let asked = provider.requests();
    process.kill().await?;
    // It was asked for summaries too, when the conversation had more Turns than are sent.
    ensure!(
        asked >= count,
        "the provider was asked {asked} times in {count} turns"
    );
    // Around the tenth, as many as there can be; at the end a hundred, all of which send as much, so that a moment in which the
    // machine does something else does not count for all of it.
    let near = (count / 50).max(2);
    let early = ours.part(near / 2..near / 2 + near).median();
    let late = ours.part(count - (count / 10).max(2)..count).median();
    Ok(vec![
        Row::new(NAME, "median", "ms", millis(ours.quantile(0.5))).wanted(Target::AtMost(5.0)),
        Row::new(NAME, "p99", "ms", millis(ours.quantile(0.99))),
        Row::new(
            NAME,
            format!("turn {count} beside turn {}", near / 2),
            "ms",
            millis(late),
        )
        .beside(millis(early))
        .wanted(Target::RatioAtMost(1.5)),
    ])
}
