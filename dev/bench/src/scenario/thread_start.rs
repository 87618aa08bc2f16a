//! `thread/start`, whose answer says that the Thread is on disk: alone, and as many at once as one client may have in
//! flight. A request and a bare commit take turns, so that both meet the disk in the same mood.

use serde_json::json;
use tokio::time::Instant;

use super::seeded;
use crate::bare::Database;
use crate::client::{Client, identity};
use crate::samples::{Samples, micros, millis, number, rate};
use crate::{Plan, Row, Target};

const NAME: &str = "thread-start";

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let workspace = plan.workspace()?;
    let mut database = Database::create(plan).await?;
    let (process, address) = plan.serve(workspace.path()).await?;
    let mut client = Client::connect(&address).await?;
    let (mut ours, mut bare) = (Samples::default(), Samples::default());
    for _ in 0..plan.count(500, 5) {
        let began = Instant::now();
        client
            .call("thread/start", &json!({ "identity": identity() }))
            .await?;
        ours.push(began.elapsed());
        bare.push(database.commit(1).await?);
    }
    let row = |name: &str, share: f64| {
        Row::new(NAME, name, "ms", millis(ours.quantile(share))).beside(millis(bare.quantile(share)))
    };
    let mut rows = vec![
        row("alone, median", 0.5).wanted(Target::RatioAtMost(2.0)),
        row("alone, p99", 0.99),
    ];

    let count = plan.count(5_000, 60);
    let processor = process.processor_time()?;
    let took = seeded::start_threads(&mut client, 0..count).await?;
    let processor = process.processor_time()?.saturating_sub(processor);
    let began = Instant::now();
    for _ in 0..count.div_ceil(seeded::IN_FLIGHT) {
        database.commit(seeded::IN_FLIGHT).await?;
    }
    let row = Row::new(
        NAME,
        format!("{} in flight", seeded::IN_FLIGHT),
        "/s",
        rate(count, took),
    );
    rows.push(row.beside(rate(count, began.elapsed())));
    rows.push(Row::new(
        NAME,
        "server CPU each of these",
        "µs",
        micros(processor) / number(count),
    ));
    process.kill().await?;
    Ok(rows)
}
