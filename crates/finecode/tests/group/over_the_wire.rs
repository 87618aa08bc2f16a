//! Listing, running, cancelling; runners and their notifications.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use bobbin_agent_api::{Features, Services};
use bobbin_children::{Children, Environment};
use bobbin_core::Threads;
use bobbin_finecode::group::{FineCode, FineCodeNews};
use bobbin_finecode::{Host, Parts, Settings};
use bobbin_finecode_runner::{Action, ActionResult, Call, CommandLine, Done, Failure, Program, run};
use bobbin_framing::{Limits, Transport};
use bobbin_native::Endpoint;
use bobbin_native::group::Groups;
use bobbin_testkit::{Client, Link, ScriptEngine, TestWorkspace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Words {
    words: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Seen {
    seen: Vec<String>,
}

impl ActionResult for Seen {
    fn merge(&mut self, other: Self) {
        self.seen.extend(other.seen);
    }

    fn text(&self) -> String {
        self.seen.join(" ")
    }

    fn return_code(&self) -> i64 {
        i64::from(!self.seen.is_empty())
    }
}

async fn look(call: Call<Words, Seen>) -> Result<Done<Seen>, Failure> {
    call.begin("looking", None).await?;
    for word in call.payload()?.words {
        if word == "wait" {
            std::future::pending::<()>().await;
        }
        let seen = if word == "edit" {
            call.manager()
                .apply_edit(&json!({ "documentChanges": [] }))
                .await?
                .to_string()
        } else {
            word
        };
        call.partial(&Seen { seen: vec![seen] }).await?;
    }
    call.end(None).await?;
    Ok(Done::Nothing)
}

pub(crate) fn serve() {
    let action = Action::<Words, Seen>::new("x.Look").handler("x.Handler", look);
    let arguments = std::env::vars()
        .find(|(name, _)| name == "RUNNER_ARGS")
        .unwrap()
        .1;
    let command = CommandLine::read(arguments.split(' ').map(Into::into)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime
        .block_on(run(Program::new().action(action), command))
        .unwrap();
    std::process::exit(0);
}

struct Server {
    workspace: TestWorkspace,
    _hub: Arc<Threads>,
    host: Arc<Host>,
    native: Arc<bobbin_native::Server>,
}

impl Server {
    async fn start() -> Self {
        let workspace = TestWorkspace::default();
        let bin = workspace.path().join("shop/.venvs/tools/bin");
        fs::create_dir_all(&bin).unwrap();
        let exe = std::env::current_exe().unwrap();
        let script = format!(
            "#!/bin/sh\nRUNNER_ARGS=\"$*\"\nexport RUNNER_ARGS\nexec '{}' runner --exact --ignored --nocapture\n",
            exe.display()
        );
        fs::write(bin.join("python"), script).unwrap();
        fs::set_permissions(bin.join("python"), fs::Permissions::from_mode(0o755)).unwrap();
        let handler = json!({ "name": "look", "source": "x.Handler", "env": "tools" });
        let table = json!({ "action": { "look": { "source": "x.Look", "handlers": [handler] } } });
        let settings = Settings {
            projects: [("shop".into(), table.as_object().unwrap().clone())].into(),
            ..Settings::default()
        };
        let threads = workspace.open(Arc::new(ScriptEngine::default())).await;
        let host = || {
            let news = threads.clone();
            Arc::new(Host::new(Parts {
                root: workspace.path().to_owned(),
                settings: settings.clone(),
                children: Children::new(None),
                environment: Environment::empty(),
                sandbox: None,
                trust: Arc::new(|_| Ok(())),
                announce: Arc::new(move |event| news.broadcasts().send(FineCodeNews(event), 0)),
                version: "0".to_owned(),
            }))
        };
        let (agents, host) = (host(), host());
        let services = Services {
            version: "0.0.0",
            others: Features::default().with(FineCode::new(host.clone(), agents)),
            ..Services::default()
        };
        let groups = Groups::of(&[bobbin_native::GROUPS, bobbin_finecode::group::GROUPS]);
        let native = Arc::new(bobbin_native::Server::new(threads.clone(), services, groups));
        Self {
            workspace,
            _hub: threads,
            host,
            native,
        }
    }

    async fn client(&self, capabilities: Value) -> Client {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(near);
        let transport = Transport::lines(reader, writer, Limits::default());
        tokio::spawn(bobbin_native::serve(
            transport,
            Endpoint::Stdio,
            self.native.clone(),
        ));
        let (reader, writer) = tokio::io::split(far);
        Client::ready(Link::lines(reader, writer), "test", capabilities).await
    }

    fn shop(&self) -> String {
        self.workspace.path().join("shop").display().to_string()
    }
}

#[tokio::test]
async fn a_run_sends_progress_and_partial_results_and_then_its_answer() {
    let server = Server::start().await;
    let mut client = server.client(json!({ "extensions": { "finecode": true } })).await;
    let shop = server.shop();
    let projects = client.call("finecode/project/list", json!({})).await;
    assert_eq!(projects["projects"][0]["path"], shop);
    let actions = client.call("finecode/action/list", json!({})).await;
    let listed = &actions["actions"][0];
    assert_eq!(
        (&listed["name"], &listed["envs"]),
        (&json!("look"), &json!(["tools"]))
    );
    let params = json!({
        "action": "look", "payload": { "words": ["p", "q"] }, "runId": "r-1", "partialResults": true,
    });
    let run = client.request("finecode/action/run", params).await;
    let begin = client.wait_for("finecode/action/progress").await;
    assert_eq!(
        begin["params"],
        json!({ "runId": "r-1", "kind": "begin", "title": "looking", "percentage": 0.0 })
    );
    for word in ["p", "q"] {
        let part = client.wait_for("finecode/action/partialResult").await;
        let expected = json!({ "runId": "r-1", "projectPath": shop, "result": { "seen": [word] } });
        assert_eq!(part["params"], expected);
    }
    let end = client.wait_for("finecode/action/progress").await;
    assert_eq!(end["params"]["kind"], "end");
    let answer = client.answer(run).await;
    let result = json!({ "projectPath": shop, "status": "streamed", "returnCode": 1 });
    assert_eq!(answer["result"], json!({ "results": [result] }));
    // The states of the runner, as they came.
    for status in ["INITIALIZING", "RUNNING"] {
        let updated = client.wait_for("finecode/runner/updated").await;
        assert_eq!(updated["params"]["runner"]["status"], status);
    }
    let whole = client
        .call(
            "finecode/action/run",
            json!({ "action": "x.Look", "payload": { "words": ["p"] } }),
        )
        .await;
    let whole = &whole["results"][0];
    assert_eq!(
        (&whole["result"], &whole["text"]),
        (&json!({ "seen": ["p"] }), &json!("p"))
    );
    let nowhere = json!({ "action": "look", "projectPaths": ["nowhere"] });
    let error = client.error("finecode/action/run", nowhere).await;
    assert!(
        error["data"]["detail"]
            .as_str()
            .unwrap()
            .contains("is not a project"),
        "{error}"
    );
    server.host.end().await;
}

#[tokio::test]
async fn a_run_is_cancelled_by_its_name_and_by_its_client_leaving() {
    let server = Server::start().await;
    let mut client = server.client(json!({})).await;
    let params = json!({ "action": "look", "payload": { "words": ["wait"] }, "runId": "r-1" });
    let run = client.request("finecode/action/run", params.clone()).await;
    client.wait_for("finecode/action/progress").await;
    let taken = client.error("finecode/action/run", params.clone()).await;
    assert_eq!(taken["code"], -32602);
    let cancel = json!({ "runId": "r-1" });
    assert_eq!(
        client.call("finecode/action/cancel", cancel.clone()).await,
        json!({ "cancelled": true })
    );
    assert_eq!(client.answer(run).await["error"]["code"], -32800);
    assert_eq!(
        client.call("finecode/action/cancel", cancel).await,
        json!({ "cancelled": false })
    );
    client.request("finecode/action/run", params).await;
    client.wait_for("finecode/action/progress").await;
    client.finish().await;
    server.host.end().await;
}

#[tokio::test]
async fn runners_are_listed_restarted_and_stopped_and_show_what_they_printed() {
    let server = Server::start().await;
    let mut client = server.client(json!({})).await;
    assert_eq!(
        client.call("finecode/runner/list", json!({})).await,
        json!({ "runners": [] })
    );
    let run = json!({ "action": "look", "payload": { "words": [] } });
    client.call("finecode/action/run", run.clone()).await;
    let listed = client.call("finecode/runner/list", json!({})).await;
    let shop = server.shop();
    let runner = json!({ "projectPath": shop, "env": "tools", "status": "RUNNING" });
    assert_eq!(listed["runners"], json!([runner]));
    let one = json!({ "projectPath": shop, "env": "tools" });
    let logs = client.call("finecode/runner/logs", one.clone()).await;
    assert!(
        logs["lines"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line == "running 1 test"),
        "{logs}"
    );
    assert_eq!(
        client.call("finecode/runner/restart", one.clone()).await,
        json!({ "found": true })
    );
    client.call("finecode/action/run", run).await;
    assert_eq!(
        client.call("finecode/runner/stop", one).await,
        json!({ "found": true })
    );
    let other = json!({ "projectPath": shop, "env": "docs" });
    assert_eq!(
        client.call("finecode/runner/stop", other).await,
        json!({ "found": false })
    );
    server.host.end().await;
}

#[tokio::test]
async fn an_edit_reaches_the_client_that_asked_for_the_run() {
    let server = Server::start().await;
    let applies = json!({ "extensions": { "finecode": { "applyEdit": true } } });
    let mut follower = server.client(json!({ "extensions": { "finecode": true } })).await;
    let edit = json!({ "action": "look", "payload": { "words": ["edit"] } });
    let refused = follower.call("finecode/action/run", edit.clone()).await;
    let said = refused["results"][0]["text"].as_str().unwrap();
    assert!(said.contains("no client can apply edits"), "{refused}");

    let mut first = server.client(applies.clone()).await;
    let mut second = server.client(applies).await;
    for (asker, applied) in [(0, true), (1, false)] {
        let clients = [&mut first, &mut second];
        let run = clients[asker].request("finecode/action/run", edit.clone()).await;
        let asked = clients[asker].wait_for("finecode/applyEdit").await;
        assert_eq!(asked["params"], json!({ "edit": { "documentChanges": [] } }));
        clients[asker].reply(&asked, json!({ "applied": applied })).await;
        let answer = clients[asker].answer(run).await;
        let expected = json!({ "applied": applied }).to_string();
        assert_eq!(answer["result"]["results"][0]["text"], expected);
    }
    drop(first);
    // Of one that has no files open, the client that was active last is asked.
    let run = follower.request("finecode/action/run", edit).await;
    let asked = second.wait_for("finecode/applyEdit").await;
    second.reply(&asked, json!({ "applied": true })).await;
    assert_eq!(
        follower.answer(run).await["result"]["results"][0]["text"],
        json!({ "applied": true }).to_string()
    );
    server.host.end().await;
}
