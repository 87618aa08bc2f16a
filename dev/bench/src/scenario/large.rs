//! A large repository: the first command, which waits for the first snapshot of the workspace, plain reads, searches,
//! and how much memory all of it took. And a start beside MCP servers that never work.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::ensure;
use serde_json::json;
use tokio::time::Instant;

use crate::client::Client;
use crate::samples::{Samples, millis, number};
use crate::{Plan, Row, Target};

const NAME: &str = "large";
/// Files of one directory.
const TOGETHER: usize = 100;

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let (home, workspace) = (plan.workspace()?, plan.workspace()?);
    let (some, all) = (plan.count(30_000, 300), plan.count(50_000, 500));
    fill(workspace.path(), 0..some)?;
    let (process, address) = plan.serve_beside(home.path(), workspace.path()).await?;
    let mut client = Client::connect(&address).await?;
    let thread = client.start_thread().await?;
    let mut rows = Vec::new();
    let row =
        |name: String, took: f64, most: f64| Row::new(NAME, name, "ms", took).wanted(Target::AtMost(most));

    let first = command(&mut client, &thread).await?;
    rows.push(row(format!("first command in {some} files"), first, 500.0));
    let mut next = Samples::default();
    let mut read = Samples::default();
    for _ in 0..plan.count(20, 2) {
        let began = Instant::now();
        command(&mut client, &thread).await?;
        next.push(began.elapsed());
        let began = Instant::now();
        turn(&mut client, &thread, "read lib/part000/cup0.rs").await?;
        read.push(began.elapsed());
    }
    rows.push(Row::new(
        NAME,
        "prompt to the end of a later command, median",
        "ms",
        millis(next.quantile(0.5)),
    ));
    let name = "prompt to the end of a plain read, median";
    rows.push(row(name.to_owned(), millis(read.quantile(0.5)), 20.0));

    fill(workspace.path(), some..all)?;
    for prompt in ["list files in lib", "find *042.rs", "search for cup29942"] {
        let mut took = Samples::default();
        for _ in 0..plan.count(5, 1) {
            let began = Instant::now();
            turn(&mut client, &thread, prompt).await?;
            took.push(began.elapsed());
        }
        rows.push(row(
            format!("{prompt}, {all} files, median"),
            millis(took.quantile(0.5)),
            300.0,
        ));
    }
    let peak = number(process.peak_memory()?) / number(1 << 20);
    rows.push(Row::new(NAME, "peak memory", "MiB", peak));
    process.kill().await?;
    rows.push(dead_servers(plan).await?);
    Ok(rows)
}

/// Measures start to the end of the first Turn beside three MCP servers that never work, and without any.
async fn dead_servers(plan: &Plan) -> anyhow::Result<Row> {
    let (with, without) = (plan.workspace()?, plan.workspace()?);
    let servers = json!({
        "ends": { "command": "false" },
        "waits": { "command": "sleep", "args": ["600"] },
        "absent": { "url": "http://127.0.0.1:9/mcp" },
    });
    std::fs::create_dir(with.path().join(".craft"))?;
    let config = json!({ "McpServers": servers }).to_string();
    std::fs::write(with.path().join(".craft/config.json"), config)?;
    let (mut ours, mut bare) = (Samples::default(), Samples::default());
    for round in 0..=plan.count(10, 1) {
        for (home, samples) in [(&with, &mut ours), (&without, &mut bare)] {
            let began = Instant::now();
            let (process, address) = plan.serve(home.path()).await?;
            let mut client = Client::connect(&address).await?;
            let thread = client.start_thread().await?;
            turn(&mut client, &thread, "say hello").await?;
            // The first start makes the workspace and is not counted.
            if round > 0 {
                samples.push(began.elapsed());
            }
            process.kill().await?;
        }
    }
    let row = Row::new(
        NAME,
        "start to the end of a turn beside three dead MCP servers, median",
        "ms",
        millis(ours.quantile(0.5)),
    );
    Ok(row
        .beside(millis(bare.quantile(0.5)))
        .wanted(Target::RatioAtMost(1.5)))
}

/// Runs a command that is asked about; returns the milliseconds from the answer to the Turn's end.
async fn command(client: &mut Client, thread: &str) -> anyhow::Result<f64> {
    client.start_turn(thread, "run `sleep 0`").await?;
    let question = client.wait_for("item/approval/request").await?;
    let began = Instant::now();
    let accept = json!({ "decision": "accept" });
    client.reply(&question["id"], &accept).await?;
    ended(client).await?;
    Ok(millis(began.elapsed()))
}

async fn turn(client: &mut Client, thread: &str, prompt: &str) -> anyhow::Result<()> {
    client.start_turn(thread, prompt).await?;
    ended(client).await
}

async fn ended(client: &mut Client) -> anyhow::Result<()> {
    let last = client.wait_for("turn/completed").await?;
    let turn = &last["params"]["turn"];
    let is_well =
        |item: &serde_json::Value| item["type"] != "toolResult" || item["payload"]["success"] == true;
    let is_done = turn["items"]
        .as_array()
        .is_some_and(|items| items.iter().all(is_well));
    ensure!(is_done, "a turn is {last}");
    Ok(())
}

fn fill(root: &Path, numbers: std::ops::Range<usize>) -> anyhow::Result<()> {
    let mut text = String::new();
    for number in numbers {
        let directory = root.join(format!("lib/part{:03}", number / TOGETHER));
        std::fs::create_dir_all(&directory)?;
        text.clear();
        for line in 0..10 {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "pub fn cup{number}_{line}() -> u32 {{ {number} }}");
        }
        std::fs::write(directory.join(format!("cup{number}.rs")), &text)?;
    }
    Ok(())
}
