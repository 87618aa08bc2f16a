//! A command that needs a person: from the answer until everybody has been told that it is settled, which is after
//! the answer is on disk; and, where it is let, until the Turn is over: the command has run in its sandbox, what it may
//! have changed in the workspace was looked at before and after, and the model has had its result.

use anyhow::ensure;
use serde_json::json;
use tokio::time::Instant;

use crate::bare::Database;
use crate::client::Client;
use crate::samples::{Samples, millis};
use crate::{Plan, Row, Target};

const NAME: &str = "approval";

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let (home, workspace) = (plan.workspace()?, plan.workspace()?);
    let mut database = Database::create(plan).await?;
    let (process, address) = plan.serve_beside(home.path(), workspace.path()).await?;
    let mut client = Client::connect(&address).await?;
    let thread = client.start_thread().await?;
    let (mut asked, mut told, mut bare) = (Samples::default(), Samples::default(), Samples::default());
    for number in 0..plan.count(200, 3) {
        let began = Instant::now();
        client.start_turn(&thread, "run `sleep 0`").await?;
        let question = client.wait_for("item/approval/request").await?;
        asked.push(began.elapsed());
        let began = Instant::now();
        client
            .reply(&question["id"], &json!({ "decision": "decline" }))
            .await?;
        let settled = client.wait_for("item/approval/resolved").await?;
        told.push(began.elapsed());
        let decision = &settled["params"]["item"]["payload"]["decision"];
        ensure!(decision == "decline", "approval {number} is {settled}");
        client.wait_for("turn/completed").await?;
        bare.push(database.commit(1).await?);
    }
    let (mut done, mut held) = (Samples::default(), true);
    for number in 0..plan.count(150, 3) {
        client.start_turn(&thread, "run `sleep 0`").await?;
        let question = client.wait_for("item/approval/request").await?;
        let reason = question["params"]["reason"].as_str();
        held &= reason.is_some_and(|reason| reason.contains("Sandbox: "));
        let began = Instant::now();
        client
            .reply(&question["id"], &json!({ "decision": "accept" }))
            .await?;
        let last = client.wait_for("turn/completed").await?;
        done.push(began.elapsed());
        ensure!(
            last["params"]["turn"]["status"] == "completed",
            "turn {number} is {last}"
        );
    }
    process.kill().await?;
    let row = |name: &str, ours: &Samples, share: f64| {
        Row::new(NAME, name, "ms", millis(ours.quantile(share))).beside(millis(bare.quantile(share)))
    };
    // What is not held is another figure.
    let unheld = if held { "" } else { " (nothing holds it)" };
    let end = |share: f64, which: &str| {
        let name = format!("accept to the end of the turn{unheld}, {which}");
        Row::new(NAME, &name, "ms", millis(done.quantile(share)))
    };
    Ok(vec![
        row("answer to settled, median", &told, 0.5).wanted(Target::RatioAtMost(2.0)),
        row("answer to settled, p99", &told, 0.99),
        row("prompt to question, median", &asked, 0.5),
        end(0.5, "median").wanted(Target::AtMost(40.0)),
        end(0.99, "p99"),
    ])
}
