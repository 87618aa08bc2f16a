//! The Codex terminal client's protocol over the WebSocket at `/`, and the installed client itself.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::mcp::configure;
use crate::mcp_runtime::clerk;
use crate::support::{PATIENCE, Process, Workspace};

/// One client.
struct Codex {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    next: u64,
    /// Messages that nobody has looked at.
    seen: Vec<Value>,
}

async fn connect(
    address: &str,
    headers: &[(&'static str, &str)],
) -> Result<WebSocketStream<MaybeTlsStream<TcpStream>>, Error> {
    let mut request = format!("ws://{address}/").into_client_request()?;
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    connect_async(request).await.map(|(socket, _)| socket)
}

impl Codex {
    /// Connects and greets.
    async fn new(address: &str, token: &str) -> Self {
        let bearer = format!("Bearer {token}");
        let socket = connect(address, &[("authorization", &bearer)]).await.unwrap();
        let mut codex = Self {
            socket,
            next: 0,
            seen: Vec::new(),
        };
        let info = json!({ "name": "codex-tui", "title": null, "version": "0.169.0" });
        let server = codex
            .call("initialize", json!({ "clientInfo": info, "capabilities": null }))
            .await;
        assert_eq!(
            server["userAgent"], "bobbin",
            "a version would be compared with the client's"
        );
        codex.send(&json!({ "method": "initialized" })).await;
        codex
    }

    async fn send(&mut self, message: &Value) {
        self.socket
            .send(Message::text(message.to_string()))
            .await
            .unwrap();
    }

    async fn read(&mut self) -> Value {
        loop {
            let message = tokio::time::timeout(PATIENCE, self.socket.next()).await;
            if let Message::Text(text) = message.unwrap().unwrap().unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    async fn answer(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "id": id, "method": method, "params": params }))
            .await;
        loop {
            let message = self.read().await;
            if message["id"] == id && message["method"].is_null() {
                return message;
            }
            self.seen.push(message);
        }
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params).await;
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    async fn error(&mut self, method: &str, params: Value) -> Value {
        self.answer(method, params).await["error"].clone()
    }

    /// Returns the messages up to the next one of this method.
    async fn until(&mut self, method: &str) -> Vec<Value> {
        let mut seen = std::mem::take(&mut self.seen);
        if let Some(place) = seen.iter().position(|message| message["method"] == method) {
            self.seen = seen.split_off(place + 1);
            return seen;
        }
        loop {
            let message = self.read().await;
            let is_it = message["method"] == method;
            seen.push(message);
            if is_it {
                return seen;
            }
        }
    }

    async fn last(&mut self, method: &str) -> Value {
        self.until(method).await.pop().unwrap()
    }

    async fn thread(&mut self) -> Value {
        self.call("thread/start", json!({ "ephemeral": false })).await["thread"]["id"].clone()
    }

    async fn turn(&mut self, thread: &Value, text: &str) -> Value {
        let input = json!([{ "type": "text", "text": text, "text_elements": [] }]);
        let params = json!({ "threadId": thread, "input": input, "clientUserMessageId": "u1" });
        self.call("turn/start", params).await["turn"]["id"].clone()
    }
}

/// Returns where a server listens, and the token.
async fn door(server: &Process) -> (String, String) {
    let address = server.address().await;
    let rest = address.strip_prefix("ws://").unwrap();
    let (host, token) = rest.split_once("/ws?token=").unwrap();
    (host.to_owned(), token.to_owned())
}

/// Returns what the messages say, without the pieces of texts.
fn outline(messages: &[Value]) -> Vec<String> {
    messages
        .iter()
        .filter_map(|message| {
            let method = message["method"].as_str()?;
            let kind = message["params"]["item"]["type"].as_str().unwrap_or_default();
            let status = message["params"]["status"]["type"].as_str().unwrap_or_default();
            Some(format!("{method} {kind}{status}").trim().to_owned())
        })
        .filter(|line| !line.contains("elta"))
        .collect()
}

#[tokio::test]
async fn only_a_client_with_the_token_gets_in_and_the_page_stays() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let (address, token) = door(&server).await;
    let status = |refused: Result<_, Error>| match refused {
        Err(Error::Http(answer)) => answer.status().as_u16(),
        other => panic!("{other:?}"),
    };
    assert_eq!(status(connect(&address, &[]).await), 401);
    let bearer = format!("Bearer {token}");
    let foreign = [
        ("authorization", bearer.as_str()),
        ("origin", "https://evil.example"),
    ];
    assert_eq!(status(connect(&address, &foreign).await), 403);
    Codex::new(&address, &token).await;
}

#[tokio::test]
async fn a_turn_with_an_approval_comes_in_the_clients_order() {
    let workspace = Workspace::asking();
    let server = workspace.web_socket();
    let (address, token) = door(&server).await;
    let mut codex = Codex::new(&address, &token).await;
    let thread = codex.thread().await;
    let turn = codex.turn(&thread, "run `echo hi > made`").await;
    let asked = codex.until("item/commandExecution/requestApproval").await;
    insta::assert_snapshot!(outline(&asked).join("\n"));
    let request = asked.last().unwrap();
    assert_eq!(request["params"]["command"], "bash -lc 'echo hi > made'");
    assert_eq!(request["params"]["turnId"], turn);
    let item = &asked
        .iter()
        .rev()
        .find(|message| message["method"] == "item/started")
        .unwrap()["params"]["item"];
    assert_eq!(
        item["id"], request["params"]["itemId"],
        "the dialog finds its item"
    );
    codex
        .send(&json!({ "id": request["id"], "result": { "decision": "accept" } }))
        .await;
    let ended = codex.until("turn/completed").await;
    insta::assert_snapshot!(outline(&ended).join("\n"));
    assert!(workspace.path().join("made").exists());
}

#[tokio::test]
async fn a_second_client_reads_the_history_and_the_open_question_and_either_answers() {
    let workspace = Workspace::asking();
    let server = workspace.web_socket();
    let (address, token) = door(&server).await;
    let mut first = Codex::new(&address, &token).await;
    let thread = first.thread().await;
    for text in ["say one", "say two"] {
        first.turn(&thread, text).await;
        first.until("turn/completed").await;
    }
    first.turn(&thread, "run `touch made`").await;
    let asked = first.last("item/commandExecution/requestApproval").await;
    let mut second = Codex::new(&address, &token).await;
    let listed = second
        .call("thread/list", json!({ "limit": 5, "sourceKinds": ["cli"] }))
        .await;
    assert_eq!(listed["data"][0]["id"], thread);
    assert_eq!(
        listed["data"][0]["status"]["activeFlags"],
        json!(["waitingOnApproval"])
    );
    second
        .call(
            "thread/resume",
            json!({ "threadId": thread, "excludeTurns": true }),
        )
        .await;
    let again = second.last("item/commandExecution/requestApproval").await;
    assert_eq!(again["params"]["itemId"], asked["params"]["itemId"]);
    let mut ids = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = second
            .call(
                "thread/items/list",
                json!({ "threadId": thread, "limit": 2, "cursor": cursor }),
            )
            .await;
        for entry in page["data"].as_array().unwrap() {
            ids.push(entry["item"]["type"].as_str().unwrap().to_owned());
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let newest = [
        "commandExecution",
        "userMessage",
        "agentMessage",
        "userMessage",
        "agentMessage",
        "userMessage",
    ];
    assert_eq!(ids, newest);
    let turns = second
        .call("thread/turns/list", json!({ "threadId": thread, "limit": 2 }))
        .await;
    let page: Vec<&Value> = turns["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| &turn["id"])
        .collect();
    assert_eq!(page, ["turn_003", "turn_002"]);
    second
        .send(&json!({ "id": again["id"], "result": { "decision": "decline" } }))
        .await;
    let resolved = first.last("serverRequest/resolved").await;
    assert_eq!(resolved["params"]["requestId"], asked["id"]);
    first.until("turn/completed").await;
    assert!(!workspace.path().join("made").exists());
}

#[tokio::test]
async fn a_turn_is_steered_and_interrupted_in_the_words_that_the_client_tests() {
    let workspace = Workspace::new();
    workspace.without_bubblewrap();
    let server = workspace.web_socket();
    let (address, token) = door(&server).await;
    let mut codex = Codex::new(&address, &token).await;
    let thread = codex.thread().await;
    let steer = |turn: Value| json!({ "threadId": thread, "expectedTurnId": turn, "input": [{ "type": "text", "text": "say more" }] });
    let none = codex.error("turn/steer", steer(json!("turn_001"))).await;
    assert_eq!(none["message"], "no active turn to steer");
    let turn = codex.turn(&thread, "run `sleep 30`").await;
    let other = codex.error("turn/steer", steer(json!("turn_009"))).await;
    assert_eq!(
        other["message"],
        "expected active turn id `turn_009` but found `turn_001`"
    );
    assert_eq!(
        codex.call("turn/steer", steer(turn.clone())).await["turnId"],
        turn
    );
    codex
        .call("turn/interrupt", json!({ "threadId": thread, "turnId": turn }))
        .await;
    let ended = codex.last("turn/completed").await;
    assert_eq!(ended["params"]["turn"]["status"], "interrupted");
}

#[tokio::test]
async fn what_is_not_served_is_refused_without_a_question() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let (address, token) = door(&server).await;
    let mut codex = Codex::new(&address, &token).await;
    let refused = [
        ("thread/start", json!({ "ephemeral": true }), -32600),
        ("thread/start", json!({ "cwd": "/" }), -32600),
        (
            "thread/resume",
            json!({ "threadId": "20270104-0000-8000-8000-713977336b31" }),
            -32600,
        ),
        ("command/exec", json!({ "command": ["touch", "made"] }), -32600),
        ("fs/readFile", json!({ "path": "/etc/passwd" }), -32601),
        (
            "config/batchWrite",
            json!({ "edits": [{ "keyPath": "mcp_servers", "value": {} }] }),
            -32600,
        ),
    ];
    for (method, params, code) in refused {
        assert_eq!(codex.error(method, params).await["code"], code, "{method}");
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!workspace.path().join("made").exists());
}

#[tokio::test]
async fn a_program_of_the_sandbox_is_allowed_for_ever_by_its_name() {
    let workspace = Workspace::new();
    workspace.configure(&json!({ "Permissions": { "DefaultApprovalPolicy": "default" } }));
    let server = workspace.web_socket();
    let (address, token) = door(&server).await;
    let mut codex = Codex::new(&address, &token).await;
    let thread = codex.thread().await;
    codex.turn(&thread, "run `pytest -q`").await;
    let request = codex.last("item/commandExecution/requestApproval").await;
    let amendment = json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": ["pytest"] } });
    assert_eq!(
        (
            &request["params"]["availableDecisions"],
            &request["params"]["proposedExecpolicyAmendment"]
        ),
        (
            &json!(["accept", "acceptForSession", amendment, "decline", "cancel"]),
            &json!(["pytest"])
        )
    );
    codex
        .send(&json!({ "id": request["id"], "result": { "decision": amendment } }))
        .await;
    codex.until("turn/completed").await;
    let other = codex.thread().await;
    codex.turn(&other, "run `pytest tests`").await;
    let seen = outline(&codex.until("turn/completed").await).join("\n");
    assert!(!seen.contains("requestApproval"), "{seen}");
}

#[tokio::test]
async fn a_form_of_an_mcp_server_is_filled_in() {
    let workspace = Workspace::new();
    configure(workspace.path(), &json!({ "clerk": clerk() }));
    let server = workspace.web_socket();
    let (address, token) = door(&server).await;
    let mut codex = Codex::new(&address, &token).await;
    let thread = codex.thread().await;
    while !codex
        .call("mcpServerStatus/list", json!({}))
        .await
        .to_string()
        .contains("hello")
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    codex.turn(&thread, "call mcp__clerk__form with {}").await;
    let asked = codex.last("mcpServer/elicitation/request").await;
    assert_eq!(
        (
            &asked["params"]["serverName"],
            &asked["params"]["mode"],
            &asked["params"]["threadId"]
        ),
        (&json!("clerk"), &json!("form"), &thread)
    );
    let answer = json!({ "action": "accept", "content": { "leaf": "mint", "cups": 2 }, "_meta": null });
    codex.send(&json!({ "id": asked["id"], "result": answer })).await;
    let ended = codex.until("turn/completed").await;
    let text = serde_json::to_string(&ended).unwrap();
    assert!(text.contains("mint"), "{text}");
}

#[tokio::test]
async fn the_changes_of_the_repository_are_shown() {
    let workspace = Workspace::new();
    workspace.git(&["init", "-q"]);
    std::fs::write(workspace.path().join("boil.txt"), "90\n").unwrap();
    workspace.git(&["add", "."]);
    std::fs::write(workspace.path().join("boil.txt"), "95\n").unwrap();
    let server = workspace.web_socket();
    let (address, token) = door(&server).await;
    let mut codex = Codex::new(&address, &token).await;
    let begin = "git -c safe.bareRepository=explicit -c core.fsmonitor=false -c core.hooksPath=/dev/null";
    let line = format!(
        "{begin} diff --no-textconv --no-ext-diff --submodule=short --ignore-submodules=dirty --color"
    );
    let words: Vec<&str> = line.split(' ').collect();
    let root = workspace.path().canonicalize().unwrap();
    let shown = codex
        .call(
            "command/exec",
            json!({ "command": words, "cwd": root, "timeoutMs": 30000 }),
        )
        .await;
    assert_eq!((&shown["exitCode"], &shown["stderr"]), (&json!(0), &json!("")));
    assert!(shown["stdout"].as_str().unwrap().contains("95"), "{shown}");
    let elsewhere = codex
        .error(
            "command/exec",
            json!({ "command": words, "cwd": "/", "timeoutMs": 30000 }),
        )
        .await;
    assert_eq!(elsewhere["code"], -32600);
}

/// Requests that a client of version 0.169.0 sent, one of each method.
const REQUESTS: &str = include_str!("codex-requests.jsonl");
/// Of them those that are not served.
const REFUSED: &[&str] = &[
    "hooks/list",
    "account/bedrock/checkGovCloudRequirements",
    "thread/readState/update",
];

#[tokio::test]
async fn each_request_of_the_client_is_answered_or_refused_as_unknown() {
    let workspace = Workspace::new();
    workspace.without_bubblewrap();
    let server = workspace.web_socket();
    let (address, token) = door(&server).await;
    let mut codex = Codex::new(&address, &token).await;
    let thread = codex.thread().await;
    codex.turn(&thread, "say hello").await;
    codex.until("turn/completed").await;
    for line in REQUESTS.lines() {
        let mut request: Value = serde_json::from_str(line).unwrap();
        let method = request["method"].as_str().unwrap().to_owned();
        let mut params = request["params"].take();
        // Those that end or change what the next one needs have tests of their own.
        if method == "initialize" || params["ephemeral"] == true {
            continue;
        }
        if params["threadId"].is_string() {
            params["threadId"] = thread.clone();
        }
        for turn in ["lastTurnId", "beforeTurnId", "turnId", "expectedTurnId"] {
            if params[turn].is_string() {
                params[turn] = "turn_001".into();
            }
        }
        for cursor in ["cursor", "cwd", "cwds"] {
            if let Some(params) = params.as_object_mut() {
                params.remove(cursor);
            }
        }
        let answer = codex.answer(&method, params).await;
        let code = answer["error"]["code"].as_i64();
        match method.as_str() {
            method if REFUSED.contains(&method) => assert_eq!(code, Some(-32601), "{method}"),
            // No Turn runs.
            "turn/steer" | "turn/interrupt" => assert_eq!(code, Some(-32600), "{method}"),
            _ => assert_eq!(code, None, "{method}: {answer}"),
        }
        if [
            "turn/start",
            "thread/compact/start",
            "thread/shellCommand",
            "review/start",
        ]
        .contains(&method.as_str())
        {
            codex.until("turn/completed").await;
        }
    }
}

#[tokio::test]
async fn a_command_of_the_user_runs_without_a_question() {
    let workspace = Workspace::new();
    workspace.without_bubblewrap();
    let server = workspace.web_socket();
    let (address, token) = door(&server).await;
    let mut codex = Codex::new(&address, &token).await;
    let thread = codex.thread().await;
    let params = json!({ "threadId": thread, "command": "echo green > tea.txt; cat tea.txt" });
    assert_eq!(codex.call("thread/shellCommand", params).await, json!({}));
    let seen = codex.until("turn/completed").await;
    let ran = seen
        .iter()
        .find(|message| message["method"] == "item/completed" && message["params"]["item"]["exitCode"] == 0);
    let ran = &ran.unwrap()["params"]["item"];
    assert_eq!(
        (&ran["source"], &ran["aggregatedOutput"]),
        (&json!("userShell"), &json!("green\n")),
        "{ran}"
    );
}

#[tokio::test]
async fn a_picture_comes_as_bytes_and_is_stored() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let (address, token) = door(&server).await;
    let mut codex = Codex::new(&address, &token).await;
    let thread = codex.thread().await;
    let dot = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let input = |url: &str| json!([{ "type": "image", "url": url }, { "type": "text", "text": "say hello" }]);
    codex
        .call("turn/start", json!({ "threadId": thread, "input": input(dot) }))
        .await;
    let seen = codex.until("turn/completed").await;
    let said = seen
        .iter()
        .find(|message| message["params"]["item"]["type"] == "userMessage")
        .unwrap();
    let path = said["params"]["item"]["content"][0]["path"].as_str().unwrap();
    assert!(std::path::Path::new(path).exists(), "{path}");
    let broken = json!({ "threadId": thread, "input": input("data:image/png;base64,?") });
    assert_eq!(codex.error("turn/start", broken).await["code"], -32600);
}
