//! Where a play runs: a server with what its steps need, and its clients.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use bobbin_testkit::kiosk::Kiosk;
use bobbin_testkit::{Client, Link, ModelServer, Script};
use serde::Deserialize;
use serde_json::{Value, json};

use super::names::Names;
use super::schemas::Schemas;
use crate::support::{Process, Workspace};

/// The first line of a play.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    /// The methods of which it gives the examples, by their beginnings.
    shows: Vec<String>,
    /// The user's configuration.
    #[serde(default)]
    configuration: Value,
    /// Files of the workspace.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// One step of a play.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    /// The client, `main` when left out.
    #[serde(default = "main_client")]
    client: String,
    #[serde(flatten)]
    act: Act,
    /// What is sent.
    #[serde(default)]
    params: Value,
    /// What an answer says.
    #[serde(default)]
    result: Value,
    /// Members that the awaited message has.
    #[serde(default, rename = "where")]
    with: Value,
    /// The code of the error that is expected.
    error: Option<i64>,
    /// Remembers parts of the message under names.
    #[serde(default)]
    keep: BTreeMap<String, String>,
    /// Members whose values elements of a list in the answer have; the example has no others. For answers that differ from one
    /// machine to the next.
    #[serde(default)]
    only: BTreeMap<String, Vec<Value>>,
    /// Whether this is the example of its method, although it is not the first.
    #[serde(default)]
    example: bool,
}

fn main_client() -> String {
    "main".to_owned()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Act {
    /// Connects a client with these capabilities.
    Connect(Value),
    /// Sends a request and waits for its answer.
    Request(String),
    /// Sends a request whose answer is awaited later under its method's name.
    Begin(String),
    /// Waits for the answer of `begin`.
    End(String),
    /// Repeats a request until its result has what `where` says.
    Until(String),
    /// Sends a notification.
    Notify(String),
    /// Waits for a notification.
    Wait(String),
    /// Waits for a request of the server and answers it.
    Answer(String),
    /// Writes a file of the workspace.
    Write(String, String),
    /// Runs git in the workspace.
    Git(Vec<String>),
    /// Opens the page of a login, as a browser would.
    Browse(String),
}

struct Stage {
    names: Names,
    schemas: Schemas,
    server: Process,
    workspace: Workspace,
    kiosk: Kiosk,
    clients: BTreeMap<String, Client>,
    open: BTreeMap<String, (i64, Value)>,
    shows: Vec<String>,
    examples: BTreeMap<String, BTreeMap<String, Value>>,
    chosen: BTreeSet<String>,
}

/// Plays a file and returns its examples, by direction and method.
pub(super) async fn play(name: &str) -> Value {
    let text = file(&format!("{name}.jsonl"));
    let mut lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("//"));
    let setting: Setting = serde_json::from_str(lines.next().unwrap()).unwrap();
    let home = Workspace::new();
    let model = ModelServer::start(Script::default()).await.unwrap();
    let (kiosk, serving) = Kiosk::open().await;
    let mut stage = Stage::set(setting, &home, &model, kiosk);
    for line in lines {
        let step: Step = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        println!("{line}");
        stage.step(step).await;
    }
    let examples = stage.end().await;
    serving.abort();
    examples
}

fn file(name: &str) -> String {
    let plays = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/server/protocol/plays");
    std::fs::read_to_string(plays.join(name)).unwrap()
}

impl Stage {
    fn set(setting: Setting, home: &Workspace, model: &ModelServer, kiosk: Kiosk) -> Self {
        let workspace = Workspace::new();
        let mut names = Names::default();
        let bin = home.path().join("bin");
        let exe = std::env::current_exe().unwrap();
        let test = |name: &str| format!("'{}' {name} --exact --ignored --nocapture", exe.display());
        let pantry = format!("#!/bin/sh\nexec 3>&1 >/dev/null\nexec {}\n", test("mcp::pantry"));
        let python = format!(
            "#!/bin/sh\nRUNNER_ARGS=\"$*\"\nexport RUNNER_ARGS\nexec {}\n",
            test("protocol::runner_process")
        );
        let pantry = program(bin.join("pantry-mcp"), &pantry);
        let lab = program(bin.join("lab"), &file("lab.sh"));
        let clerk = format!("#!/bin/sh\n{}", include_str!("../clerk.sh"));
        let clerk = program(bin.join("clerk-mcp"), &clerk);
        program(workspace.path().join("shop/.venvs/tools/bin/python"), &python);
        let folder = workspace.state_folder();
        std::fs::create_dir_all(&folder).unwrap();
        for (name, path, shown) in [
            ("WORKSPACE", workspace.path(), "/srv/tea"),
            ("HOME", home.path(), "/home/mika"),
            ("STATE", workspace.state(), "/home/mika/.local/state/bobbin"),
            (
                "FOLDER",
                &folder,
                "/home/mika/.local/state/bobbin/workspaces/tea-9f2c7e1000000000",
            ),
            ("PANTRY", &pantry, "/opt/pantry/pantry-mcp"),
            ("LAB", &lab, "/opt/lab/lab"),
        ] {
            let real = path.canonicalize().unwrap().to_str().unwrap().to_owned();
            names.show(&real, shown);
            names.set(name, real.into());
        }
        names.set("CLERK", clerk.canonicalize().unwrap().to_str().unwrap().into());
        names.set("MODEL", model.base_url().into());
        names.show(&model.base_url(), "https://models.example/v1");
        names.set("KIOSK", kiosk.url().into());
        names.show(&kiosk.url(), "https://kiosk.example/mcp");
        names.show(kiosk.url().trim_end_matches("/mcp"), "https://kiosk.example");
        names.show(env!("CARGO_PKG_VERSION"), "0.1.0");
        for (path, text) in &setting.files {
            write(&workspace.path().join(path), text);
        }
        home.configure(&names.filled(&setting.configuration));
        let mut command = workspace.bobbin(&["serve", "--listen", "ws://127.0.0.1:0"]);
        command
            .env("HOME", home.path())
            .env("USER", "mika")
            .env("TZ", "UTC");
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let server = Process::of(child, workspace.state_folder().join("bobbin.json"));
        Self {
            names,
            schemas: Schemas::read(),
            server,
            workspace,
            kiosk,
            clients: BTreeMap::new(),
            open: BTreeMap::new(),
            shows: setting.shows,
            examples: BTreeMap::new(),
            chosen: BTreeSet::new(),
        }
    }

    async fn step(&mut self, step: Step) {
        let params = self.names.filled(&step.params);
        match &step.act {
            Act::Connect(capabilities) => self.connect(&step.client, capabilities).await,
            Act::Write(path, text) => write(&self.workspace.path().join(path), text),
            Act::Git(args) => git(self.workspace.path(), args),
            Act::Browse(link) => {
                let link = self.names.filled(&json!(link));
                let link = link.as_str().unwrap();
                self.kiosk
                    .browse(link, "/callback", "code=leaf&state=STATE")
                    .await;
            }
            Act::Notify(method) => {
                self.record("clientNotifications", method, &params, None, step.example);
                self.client(&step).notify(method, params).await;
            }
            Act::Begin(method) => {
                let id = self.client(&step).request(method, params.clone()).await;
                self.open.insert(method.clone(), (id, params));
            }
            Act::Request(method) => {
                let id = self.client(&step).request(method, params.clone()).await;
                self.answered(&step, method, id, &params).await;
            }
            Act::End(method) => {
                let (id, params) = self.open.remove(method).unwrap();
                self.answered(&step, method, id, &params).await;
            }
            Act::Until(method) => {
                let with = self.names.filled(&step.with);
                for _ in 0..2000 {
                    let result = self.client(&step).call(method, params.clone()).await;
                    if has(&result, &with) {
                        self.keep(&step, &result);
                        return self.record("requests", method, &params, Some(&result), step.example);
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
                panic!("{method} never has {with}");
            }
            Act::Wait(method) => {
                let message = self.awaited(&step, method).await;
                self.keep(&step, &message["params"]);
                if message.get("id").is_some() {
                    // A request that another client answers.
                    return;
                }
                self.record("notifications", method, &message["params"], None, step.example);
            }
            Act::Answer(method) => {
                let message = self.awaited(&step, method).await;
                let result = self.names.filled(&step.result);
                self.keep(&step, &message["params"]);
                self.record(
                    "serverRequests",
                    method,
                    &message["params"],
                    Some(&result),
                    step.example,
                );
                self.client(&step).reply(&message, result).await;
            }
        }
    }

    async fn connect(&mut self, name: &str, capabilities: &Value) {
        let address = self.server.address().await;
        let host = address.split('/').nth(2).unwrap();
        self.names.show(host, "127.0.0.1:9100");
        let mut client = Client::new(Link::web_socket(&address).await);
        let info = json!({ "name": "kettle", "version": "2.0" });
        let params = json!({ "clientInfo": info, "capabilities": capabilities });
        let result = client.call("initialize", params.clone()).await;
        self.record("requests", "initialize", &params, Some(&result), false);
        client.notify("initialized", json!({})).await;
        self.record("clientNotifications", "initialized", &json!({}), None, false);
        self.clients.insert(name.to_owned(), client);
    }

    fn client(&mut self, step: &Step) -> &mut Client {
        let client = self.clients.get_mut(&step.client);
        client.unwrap_or_else(|| panic!("no client {}", step.client))
    }

    async fn awaited(&mut self, step: &Step, method: &str) -> Value {
        let with = self.names.filled(&step.with);
        let is_it = |message: &Value| message["method"] == method && has(&message["params"], &with);
        self.client(step)
            .find(&format!("{method} with {with}"), is_it)
            .await
    }

    async fn answered(&mut self, step: &Step, method: &str, id: i64, params: &Value) {
        let answer = self.client(step).answer(id).await;
        if let Some(code) = step.error {
            assert_eq!(answer["error"]["code"], code, "{method}: {answer:#}");
            return;
        }
        let result = answer
            .get("result")
            .unwrap_or_else(|| panic!("{method}: {answer:#}"));
        self.keep(step, result);
        let result = only(result, &step.only);
        self.record("requests", method, params, Some(&result), step.example);
    }

    fn keep(&mut self, step: &Step, part: &Value) {
        for (name, pointer) in &step.keep {
            let value = part.pointer(pointer);
            let value = value.unwrap_or_else(|| panic!("there is no {pointer} in {part:#}"));
            self.names.set(name, value.clone());
        }
    }

    /// Compares a message with its schema, and makes it an example if it is the first of its method.
    fn record(
        &mut self,
        direction: &str,
        method: &str,
        params: &Value,
        result: Option<&Value>,
        choose: bool,
    ) {
        self.schemas.check(direction, method, "params", params);
        if let Some(result) = result {
            self.schemas.check(direction, method, "result", result);
        }
        if method == "item/completed" && self.shows.iter().any(|begin| method.starts_with(begin)) {
            let item = self.names.example(&params["item"]);
            let kind = item["type"].as_str().unwrap().to_owned();
            self.examples
                .entry("items".to_owned())
                .or_default()
                .entry(kind)
                .or_insert(item);
        }
        let example = json!({ "params": self.names.example(params), "result": result.map(|result| self.names.example(result)) });
        let of = self.examples.entry(direction.to_owned()).or_default();
        let is_shown = self.shows.iter().any(|begin| method.starts_with(begin));
        if is_shown && (choose || !of.contains_key(method)) {
            assert!(
                !choose || self.chosen.insert(method.to_owned()),
                "{method} has two chosen examples"
            );
            of.insert(method.to_owned(), example);
        }
    }

    /// Ends the server and looks at what no step has waited for.
    async fn end(mut self) -> Value {
        assert!(
            self.open.is_empty(),
            "answers that no step waits for: {:?}",
            self.open.keys()
        );
        self.server.end_softly();
        for client in std::mem::take(&mut self.clients).into_values() {
            for message in client.finish().await {
                let Some(method) = message["method"].as_str() else {
                    continue;
                };
                assert!(message.get("id").is_none(), "nobody answers {message:#}");
                self.record("notifications", method, &message["params"], None, false);
            }
        }
        assert!(self.server.exit().await.success());
        json!(self.examples)
    }
}

/// Returns a value whose lists have only the elements with one of the values of each member.
fn only(value: &Value, members: &BTreeMap<String, Vec<Value>>) -> Value {
    let mut value = value.clone();
    for list in value
        .as_object_mut()
        .into_iter()
        .flatten()
        .filter_map(|(_, value)| value.as_array_mut())
    {
        list.retain(|element| {
            members
                .iter()
                .all(|(name, values)| values.contains(&element[name]))
        });
    }
    value
}

/// Returns whether a value has these members, at any depth.
fn has(value: &Value, with: &Value) -> bool {
    match with {
        Value::Null => true,
        Value::Object(members) => members
            .iter()
            .all(|(name, with)| value.get(name).is_some_and(|value| has(value, with))),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .all(|(at, with)| value.get(at).is_some_and(|value| has(value, with))),
        other => value == other,
    }
}

#[expect(clippy::disallowed_methods, reason = "the repository is git's")]
fn git(directory: &Path, args: &[String]) {
    let git = std::process::Command::new("git")
        .current_dir(directory)
        .args(args)
        .status();
    assert!(git.unwrap().success());
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn program(path: PathBuf, text: &str) -> PathBuf {
    write(&path, text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}
