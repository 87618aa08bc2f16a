//! A command that needs a person: from the answer until everybody has been told that it is settled, which is after
//! the answer is on disk; and, where it is let, until the Turn is over: the command has run in its sandbox, what it may
//! have changed in the workspace was looked at before and after, and the model has had its result. That once with an
//! answer that takes a moment, as a person's does, and once with one that comes at once.

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;
use tokio::time::Instant;

use crate::bare::Database;
use crate::client::Client;
use crate::samples::{Samples, millis};
use crate::{Plan, Row, Target};

const NAME: &str = "approval";
/// How long somebody looks at a question: less than anybody does.
const THOUGHT: Duration = Duration::from_millis(100);

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let (home, workspace) = (plan.workspace()?, plan.workspace()?);
    let mut database = Database::create(workspace.path()).await?;
    let (process, address) = plan.serve_beside(home.path(), workspace.path()).await?;
    let mut client = Client::connect(&address).await?;
    let thread = client.start_thread().await?;
    let (mut asked, mut told, mut bare) = (Samples::default(), Samples::default(), Samples::default());
    for number in 0..plan.count(200, 3) {
        let began = Instant::now();
        client.start_turn(&thread, "run `true`").await?;
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
    let mut done = [Samples::default(), Samples::default()];
    for number in 0..plan.count(400, 6) {
        client.start_turn(&thread, "run `true`").await?;
        let question = client.wait_for("item/approval/request").await?;
        let at_once = number % 2;
        if at_once == 0 {
            tokio::time::sleep(THOUGHT).await;
        }
        let began = Instant::now();
        client
            .reply(&question["id"], &json!({ "decision": "accept" }))
            .await?;
        let ended = client.wait_for("turn/completed").await?;
        done[at_once].push(began.elapsed());
        ensure!(
            ended["params"]["turn"]["status"] == "completed",
            "turn {number} is {ended}"
        );
    }
    process.kill().await?;
    let row = |name: &str, ours: &Samples, share: f64| {
        Row::new(NAME, name, "ms", millis(ours.quantile(share))).beside(millis(bare.quantile(share)))
    };
    let end =
        |name: &str, done: &Samples, share: f64| Row::new(NAME, name, "ms", millis(done.quantile(share)));
    Ok(vec![
        row("answer to settled, median", &told, 0.5).wanted(Target::RatioAtMost(2.0)),
        row("answer to settled, p99", &told, 0.99),
        row("prompt to question, median", &asked, 0.5),
        end("accept to the end of the turn, median", &done[0], 0.5).wanted(Target::AtMost(15.0)),
        end("accept to the end of the turn, p99", &done[0], 0.99),
        end("accepted at once, median", &done[1], 0.5),
        end("accepted at once, p99", &done[1], 0.99),
    ])
}
