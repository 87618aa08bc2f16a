//! A Turn of one word on one Thread, a thousand times: request to `turn/completed`.

use tokio::time::Instant;

use crate::bare::Database;
use crate::client::Client;
use crate::samples::{Samples, micros, millis, number};
use crate::{Plan, Row, Target};

const NAME: &str = "turn";

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let workspace = plan.workspace()?;
    let mut database = Database::create(plan).await?;
    let (process, address) = plan.serve(workspace.path()).await?;
    let mut client = Client::connect(&address).await?;
    let thread = client.start_thread().await?;
    let (mut ours, mut bare) = (Samples::default(), Samples::default());
    let count = plan.count(1_000, 10);
    let processor = process.processor_time()?;
    for _ in 0..count {
        let began = Instant::now();
        client.start_turn(&thread, "say ok").await?;
        client.wait_for("turn/completed").await?;
        ours.push(began.elapsed());
        bare.push(database.commit(1).await?);
    }
    let processor = process.processor_time()?.saturating_sub(processor);
    process.kill().await?;
    let row = |name: &str, share: f64| {
        Row::new(NAME, name, "ms", millis(ours.quantile(share))).beside(millis(bare.quantile(share)))
    };
    // Stretches around the tenth and at the last, as long as the first can be.
    let near = (count / 50).max(2);
    let early = ours.part(near / 2..near / 2 + near).median();
    let late = ours.part(count - near..count).median();
    Ok(vec![
        row("median", 0.5).wanted(Target::AtMost(5.0)),
        row("p99", 0.99),
        Row::new(NAME, "server CPU each", "µs", micros(processor) / number(count)),
        Row::new(
            NAME,
            format!("turn {count} beside turn {near}"),
            "ms",
            millis(late),
        )
        .beside(millis(early))
        .wanted(Target::RatioAtMost(1.5)),
    ])
}
