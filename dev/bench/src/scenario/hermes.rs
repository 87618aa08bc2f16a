//! HL7 documents at their largest, and Hermes extensions: what a client waits for, and what extensions cost.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::Client;
use crate::extension::COMMAND;
use crate::plan::Workspace;
use crate::process::Process;
use crate::samples::{Samples, millis, number};
use crate::{Plan, Row};

const NAME: &str = "hermes";
/// Extensions that run at once.
const EXTENSIONS: usize = 20;
/// How long extensions may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let without = started(plan, 0).await?;
    let with = started(plan, EXTENSIONS).await?;
    let grown = with.memory.saturating_sub(without.memory);
    let mut rows = vec![
        Row::new(
            NAME,
            format!("{EXTENSIONS} extensions are there"),
            "ms",
            with.took,
        ),
        Row::new(
            NAME,
            "the server's memory for each of them",
            "KiB",
            number(grown / EXTENSIONS) / 1024.0,
        ),
    ];
    let (mut client, process) = (with.client, with.process);

    // 150 bytes a segment: close to the 8 MiB that a document may have.
    let segments = plan.count(50_000, 500);
    let thread = client.start_thread().await?;
    write(with.workspace.path(), segments)?;
    let began = Instant::now();
    let open = json!({ "threadId": thread, "path": "large.hl7" });
    client.call("hermes/document/open", &open).await?;
    let opened = millis(began.elapsed());
    let row = |what: &str, took: f64| Row::new(NAME, format!("{segments} segments: {what}"), "ms", took);
    rows.push(row("open", opened));
    let mut calls = [
        ("get, p99", "hermes/document/get", Samples::default()),
        (
            "patch of one field, p99",
            "hermes/document/patch",
            Samples::default(),
        ),
        ("validate, p99", "hermes/document/validate", Samples::default()),
    ];
    for round in 0..plan.count(100, 3) {
        for (_, method, samples) in &mut calls {
            let mut params = json!({ "threadId": thread });
            if *method == "hermes/document/patch" {
                let path = format!("OBX[{}].5", 1 + round * (segments / 200));
                params["patches"] = json!([{ "path": path, "value": round.to_string() }]);
            }
            let began = Instant::now();
            client.call(method, &params).await?;
            samples.push(began.elapsed());
        }
    }
    for (what, _, samples) in calls {
        rows.push(row(what, millis(samples.quantile(0.99))));
    }

    let execute = json!({ "threadId": thread, "command": COMMAND });
    client.call("hermes/command/execute", &execute).await?;
    let shown = client.wait_for("hermes/ui/showMessage").await?;
    let took: f64 = shown["params"]["message"]
        .as_str()
        .context("the extension shows no figure")?
        .parse()?;
    rows.push(row("getMessage of an extension whose dialog is open, p99", took));
    let peak = number(process.peak_memory()?) / number(1 << 20);
    rows.push(Row::new(NAME, "peak memory", "MiB", peak));
    process.kill().await?;
    Ok(rows)
}

/// A server whose extensions are there.
struct Started {
    client: Client,
    process: Process,
    took: f64,
    memory: usize,
    /// The state of the server lies beside its user's home.
    _home: Workspace,
    workspace: Workspace,
}

async fn started(plan: &Plan, count: usize) -> anyhow::Result<Started> {
    let (home, workspace) = (plan.workspace()?, plan.workspace()?);
    let extension = |number: usize| {
        // An extension is known by its command line.
        json!({ "Path": plan.driver, "Args": ["extension", number.to_string()], "Name": format!("bench {number}") })
    };
    let all: Vec<Value> = (0..count).map(extension).collect();
    std::fs::create_dir(home.path().join(".craft"))?;
    let config = json!({ "HermesExtensions": all }).to_string();
    std::fs::write(home.path().join(".craft/config.json"), config)?;
    let (process, address) = plan.serve_beside(home.path(), workspace.path()).await?;
    let mut client = Client::connect(&address).await?;
    let began = Instant::now();
    loop {
        let listed = client.call("hermes/extension/list", &json!({})).await?;
        let states = listed["extensions"].as_array().context("no list")?;
        if states.len() == count && states.iter().all(|one| one["state"] == "running") {
            break;
        }
        ensure!(began.elapsed() < PATIENCE, "extensions do not start: {listed}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let took = millis(began.elapsed());
    Ok(Started {
        client,
        took,
        memory: process.memory()?,
        process,
        _home: home,
        workspace,
    })
}

fn write(directory: &Path, segments: usize) -> anyhow::Result<()> {
    let mut text = "MSH|^~\\&|LAB|BENCH|||20270101||ORU^R01|1|P|2.5\rPID|1||4711\r".to_owned();
    for number in 3..=segments {
        let value = "0123456789".repeat(12);
        // Writing to a String cannot fail.
        let _ = write!(text, "OBX|{number}|ST|CUP^{number}||{value}|||\r");
    }
    Ok(std::fs::write(directory.join("large.hl7"), text)?)
}
