//! Lists and reads over many Threads, beside the bare queries that could answer them.

use anyhow::ensure;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::seeded;
use crate::bare::Database;
use crate::client::{Client, identity};
use crate::samples::{Samples, millis};
use crate::{Plan, Row, Target};

const NAME: &str = "history";
/// Threads of a page.
const PAGE: usize = 100;
/// Turns of the Thread that is read.
const TURNS: usize = 20;

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let workspace = plan.workspace()?;
    let mut database = Database::create(plan).await?;
    let (process, address) = plan.serve(workspace.path()).await?;
    let mut client = Client::connect(&address).await?;
    let thread = client.start_thread().await?;
    for _ in 0..plan.count(TURNS, 2) {
        client
            .start_turn(&thread, "say something that is worth reading later")
            .await?;
        client.wait_for("turn/completed").await?;
    }
    let mut there = 0;
    for &threads in plan.counts(&[5_000, 50_000], &[20, 200]) {
        seeded::start_threads(&mut client, there..threads).await?;
        for _ in 0..(threads - there).div_ceil(1_000) {
            database.commit(1_000.min(threads - there)).await?;
        }
        there = threads;
        rows.extend(lists(plan, &mut client, &mut database, threads).await?);
        rows.extend(reads(plan, &mut client, &mut database, &thread, threads).await?);
    }
    process.kill().await?;
    Ok(rows)
}

async fn lists(
    plan: &Plan,
    client: &mut Client,
    database: &mut Database,
    threads: usize,
) -> anyhow::Result<Vec<Row>> {
    let (mut first, mut later, mut bare) = (Samples::default(), Samples::default(), Samples::default());
    let mut cursor = Value::Null;
    for _ in 0..plan.count(300, 3) {
        let mut page = json!({ "identity": identity(), "limit": PAGE });
        let began = Instant::now();
        let answer = client.call("thread/list", &page).await?;
        first.push(began.elapsed());
        let expected = PAGE.min(threads + 1);
        ensure!(
            answer["data"].as_array().map(Vec::len) == Some(expected),
            "a page of {answer}"
        );
        if cursor.is_null() {
            cursor = answer["nextCursor"].clone();
        }
        if !cursor.is_null() {
            page["cursor"] = cursor;
            let began = Instant::now();
            let answer = client.call("thread/list", &page).await?;
            later.push(began.elapsed());
            cursor = answer["nextCursor"].clone();
        }
        bare.push(database.page().await?);
    }
    let row = |name: &str, ours: &Samples, share: f64| {
        Row::new(
            NAME,
            format!("{threads} threads: {name}"),
            "ms",
            millis(ours.quantile(share)),
        )
        .beside(millis(bare.quantile(share)))
    };
    let mut rows = vec![
        row("first page, median", &first, 0.5).wanted(Target::AtMost(50.0)),
        row("first page, p99", &first, 0.99).wanted(Target::AtMost(50.0)),
    ];
    if later.len() > 0 {
        rows.push(row("page after page, median", &later, 0.5));
    }
    Ok(rows)
}

async fn reads(
    plan: &Plan,
    client: &mut Client,
    database: &mut Database,
    thread: &str,
    threads: usize,
) -> anyhow::Result<Vec<Row>> {
    let (mut ours, mut bare) = (Samples::default(), Samples::default());
    for _ in 0..plan.count(300, 3) {
        let page = json!({ "threadId": thread, "includeTurns": true });
        let began = Instant::now();
        let answer = client.call("thread/read", &page).await?;
        ours.push(began.elapsed());
        let turns = answer["thread"]["turns"].as_array().map(Vec::len);
        ensure!(turns == Some(plan.count(TURNS, 2)), "{turns:?} turns were read");
        bare.push(database.page().await?);
    }
    let turns = plan.count(TURNS, 2);
    let row = Row::new(
        NAME,
        format!("{threads} threads: read one of {turns} turns, median"),
        "ms",
        millis(ours.median()),
    );
    Ok(vec![
        row.beside(millis(bare.median())).wanted(Target::AtMost(50.0)),
    ])
}
