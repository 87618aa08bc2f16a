//! SIGKILL in a workspace of many Threads with Turns open, and the time until a client is served again.

use anyhow::ensure;
use serde_json::json;
use tokio::time::Instant;

use super::seeded;
use crate::client::Client;
use crate::samples::{Samples, millis};
use crate::{Plan, Row, Target};

const NAME: &str = "recovery";
/// Turns that wait for a person when the server is killed.
const OPEN: usize = 20;

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let workspace = plan.workspace()?;
    let home = plan.workspace()?;
    let threads = plan.count(50_000, 100);
    let (mut process, address) = plan.serve(workspace.path()).await?;
    let mut client = Client::connect(&address).await?;
    seeded::start_threads(&mut client, 0..threads).await?;
    let mut waiting = String::new();
    for _ in 0..OPEN {
        waiting = client.start_thread().await?;
        client.start_turn(&waiting, "run `sleep 0`").await?;
        client.wait_for("item/approval/request").await?;
    }
    let (mut ours, mut bare) = (Samples::default(), Samples::default());
    for _ in 0..plan.count(10, 2) {
        process.kill().await?;
        let began = Instant::now();
        let (started, address) = plan.serve(workspace.path()).await?;
        client = Client::connect(&address).await?;
        ours.push(began.elapsed());
        process = started;
        // What was open is open still.
        let read = client
            .call("thread/read", &json!({ "threadId": waiting }))
            .await?;
        ensure!(
            read["thread"]["runtime"]["waitingOnApproval"] == true,
            "after the crash: {read}"
        );
        let began = Instant::now();
        let (started, address) = plan.bare(home.path()).await?;
        drop(crate::link::Link::web_socket(&address).await?);
        bare.push(began.elapsed());
        started.kill().await?;
    }
    process.kill().await?;
    let row = |name: &str, share: f64| {
        Row::new(
            NAME,
            format!("{threads} threads: {name}"),
            "ms",
            millis(ours.quantile(share)),
        )
        .beside(millis(bare.quantile(share)))
    };
    Ok(vec![
        row("median", 0.5).wanted(Target::AtMost(300.0)),
        row("worst", 1.0).wanted(Target::AtMost(300.0)),
    ])
}
