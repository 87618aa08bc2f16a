//! FineCode in a large workspace: 200 projects with three environments are listed, and an action runs over 64 of them,
//! beside the same requests to the same runners without a server.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::Instant;

use crate::client::Client;
use crate::frames::Frames;
use crate::process::{Process, command};
use crate::runner::{HANDLER, SOURCE};
use crate::samples::{Samples, millis, number};
use crate::{Plan, Row, Target};

const NAME: &str = "finecode";
/// Runners that are asked at once without a server.
const AT_ONCE: usize = 8;

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let (home, workspace) = (plan.workspace()?, plan.workspace()?);
    let (all, some) = (plan.count(200, 6), plan.count(64, 2));
    let projects = fill(workspace.path(), all)?;
    let runners = json!({ "FineCode": { "Runners": [{ "Command": [plan.driver, "runner"] }] } });
    std::fs::create_dir(home.path().join(".craft"))?;
    std::fs::write(home.path().join(".craft/config.json"), runners.to_string())?;
    trust(plan, home.path(), workspace.path()).await?;
    let (process, address) = plan.serve_beside(home.path(), workspace.path()).await?;
    let mut client = Client::connect(&address).await?;

    let mut rows = Vec::new();
    let began = Instant::now();
    list(&mut client, all).await?;
    let first = millis(began.elapsed());
    rows.push(Row::new(
        NAME,
        format!("first list of {all} projects"),
        "ms",
        first,
    ));
    let mut lists = Samples::default();
    for _ in 0..plan.count(20, 2) {
        let began = Instant::now();
        list(&mut client, all).await?;
        lists.push(began.elapsed());
    }
    let median = millis(lists.quantile(0.5));
    let name = format!("list of {all} projects, three environments each, median");
    rows.push(Row::new(NAME, name, "ms", median).wanted(Target::AtMost(300.0)));

    let began = Instant::now();
    act(&mut client, &projects[..some]).await?;
    let cold = millis(began.elapsed());
    let name = format!("first run over {some} projects, which starts their runners");
    rows.push(Row::new(NAME, name, "ms", cold));
    let mut runs = Samples::default();
    for _ in 0..plan.count(20, 2) {
        let began = Instant::now();
        act(&mut client, &projects[..some]).await?;
        runs.push(began.elapsed());
    }
    process.kill().await?;

    let mut bare = Vec::new();
    for project in &projects[..AT_ONCE.min(some)] {
        bare.push(Bare::start(plan, project).await?);
    }
    let mut requests = Samples::default();
    for _ in 0..plan.count(20, 2) {
        let began = Instant::now();
        let each = some / bare.len();
        try_join_all(bare.iter_mut().map(|runner| runner.ask(each))).await?;
        requests.push(began.elapsed());
    }
    let of = |samples: &mut Samples| millis(samples.quantile(0.5)) / number(some);
    let row = Row::new(
        NAME,
        format!("one of {some} projects of a run, median"),
        "ms",
        of(&mut runs),
    );
    rows.push(row.beside(of(&mut requests)).wanted(Target::RatioAtMost(2.0)));
    Ok(rows)
}

async fn list(client: &mut Client, all: usize) -> anyhow::Result<()> {
    let listed = client.call("finecode/project/list", &json!({})).await?;
    let count = listed["projects"].as_array().map(Vec::len);
    ensure!(count == Some(all), "{count:?} projects are listed");
    Ok(())
}

async fn act(client: &mut Client, projects: &[PathBuf]) -> anyhow::Result<()> {
    let params = json!({ "action": "look", "projectPaths": projects, "payload": { "text": "tea" } });
    let ran = client.call("finecode/action/run", &params).await?;
    let results = ran["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_well = |result: &&Value| result["status"] == "success" && result["returnCode"] == 0;
    ensure!(
        results.iter().filter(is_well).count() == projects.len(),
        "a run gave {ran}"
    );
    Ok(())
}

/// Has the user trust the workspace, whose projects run code.
async fn trust(plan: &Plan, home: &Path, workspace: &Path) -> anyhow::Result<()> {
    let mut trust = command(&plan.server, home);
    trust.args(["trust", "--yes", "--workspace"]).arg(workspace);
    let ended = trust.status().await?;
    ensure!(ended.success(), "the workspace could not be trusted: {ended}");
    Ok(())
}

/// Makes the projects and returns their directories. Each has an action in each of three environments.
fn fill(root: &Path, count: usize) -> anyhow::Result<Vec<PathBuf>> {
    let mut projects = Vec::new();
    for number in 0..count {
        let project = root.join(format!("part{number:03}"));
        let mut text = format!(
            "[project]\nname = \"part{number}\"\n[dependency-groups]\ndev_workspace = [\"finecode\"]\n"
        );
        for (action, env) in [("look", "tools"), ("weigh", "scales"), ("bind", "docs")] {
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "[tool.finecode.action.{action}]\nsource = \"{SOURCE}{action}\"\n\
                 handlers = [{{ name = \"look\", source = \"{HANDLER}\", env = \"{env}\" }}]\n"
            );
        }
        std::fs::create_dir(&project)?;
        std::fs::write(project.join("pyproject.toml"), text)?;
        projects.push(project);
    }
    Ok(projects)
}

/// A runner that this driver asks itself.
struct Bare {
    frames: Frames<ChildStdout, ChildStdin>,
    _process: Process,
}

impl Bare {
    async fn start(plan: &Plan, project: &Path) -> anyhow::Result<Self> {
        let mut runner = command(&plan.driver, project);
        runner.args(["runner", "start", "--env-name=tools"]);
        runner.arg(format!("--project-path={}", project.display()));
        runner.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::start(runner, PathBuf::new())?;
        let (requests, replies) = process.pipes().context("a child without pipes")?;
        let mut frames = Frames::new(replies, requests);
        let hello = json!({ "processId": null, "rootUri": null, "capabilities": {} });
        frames.call("initialize", &hello).await?;
        frames
            .send(&json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }))
            .await?;
        let handler =
            json!({ "name": "look", "source": HANDLER, "config": {}, "env": "tools", "dependencies": [] });
        let action =
            json!({ "name": "look", "source": format!("{SOURCE}look"), "config": {}, "handlers": [handler] });
        let config = json!({ "actions": [action], "action_handler_configs": {}, "services": [] });
        let update = json!({
            "workingDir": project, "projectName": "bare", "projectDefPath": project.join("pyproject.toml"), "config": config,
        });
        frames.call("finecodeRunner/updateConfig", &update).await?;
        Ok(Self {
            frames,
            _process: process,
        })
    }

    async fn ask(&mut self, count: usize) -> anyhow::Result<()> {
        let meta = json!({ "trigger": "user", "devEnv": "cli" });
        let options = json!({ "meta": meta, "resultFormats": ["json", "string"], "walRunId": "bare" });
        let params = json!({ "actionName": "look", "params": { "text": "tea" }, "options": options });
        for _ in 0..count {
            let result = self.frames.call("actions/run", &params).await?;
            ensure!(result["status"] == "success", "a runner answered {result}");
        }
        Ok(())
    }
}
