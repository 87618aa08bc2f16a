//! Shells of the user on the whole binary.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Process, Workspace};

const PROMPT: &str = "ready> ";

/// A folder whose user has a bash with a known prompt.
fn place() -> Workspace {
    let workspace = Workspace::new();
    std::fs::write(
        workspace.path().join(".bashrc"),
        "PS1='ready> '; PROMPT_COMMAND=; bind 'set enable-bracketed-paste off'\n",
    )
    .unwrap();
    workspace
}

fn server(workspace: &Workspace) -> Process {
    let variables = ["env", "SHELL=/bin/bash", "MY_OWN_TOKEN=mine", "BOBBIN_TOKEN="];
    workspace.web_socket_through(&variables)
}

fn bytes(text: &Value) -> Vec<u8> {
    STANDARD.decode(text.as_str().unwrap()).unwrap()
}

/// A shell as one client sees it.
struct Shown {
    id: String,
    text: String,
}

impl Shown {
    async fn open(client: &mut Client) -> Self {
        let opened = client
            .call("shell/open", json!({ "columns": 80, "rows": 24 }))
            .await;
        let mut shown = Self {
            id: opened["shell"]["id"].as_str().unwrap().to_owned(),
            text: String::new(),
        };
        shown.until(client, PROMPT).await;
        shown
    }

    async fn attach(client: &mut Client, id: &str) -> Self {
        let attached = client.call("shell/attach", json!({ "id": id })).await;
        Self {
            id: id.to_owned(),
            text: String::from_utf8(bytes(&attached["dataBase64"])).unwrap(),
        }
    }

    async fn types(&self, client: &mut Client, text: &str) {
        let params = json!({ "id": self.id, "dataBase64": STANDARD.encode(text) });
        client.call("shell/write", params).await;
    }

    /// Reads until a text is shown. Returns all up to it.
    async fn until(&mut self, client: &mut Client, text: &str) -> String {
        while !self.text.contains(text) {
            let output = client.wait_for("shell/output").await;
            assert_eq!(output["params"]["id"], self.id);
            self.text += &String::from_utf8_lossy(&bytes(&output["params"]["dataBase64"]));
        }
        let end = self.text.find(text).unwrap() + text.len();
        let rest = self.text.split_off(end);
        std::mem::replace(&mut self.text, rest)
    }

    /// Runs a line. Returns what it has written.
    async fn run(&mut self, client: &mut Client, line: &str) -> String {
        self.types(client, &format!("{line}\r")).await;
        self.until(client, &format!("{line}\r\n")).await;
        let text = self.until(client, PROMPT).await;
        text.trim_end_matches(PROMPT).to_owned()
    }
}

async fn assert_gone(pid: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    let runs = || {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.rsplit(") ").next().unwrap().starts_with(['Z', 'X']))
    };
    while runs() {
        assert!(Instant::now() < deadline, "{pid} still runs");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Has a shell leave a program in a session of its own, which ignores what asks it to end. Returns its process.
async fn left_behind(client: &mut Client, shell: &mut Shown) -> String {
    let line = "setsid bash -c 'trap \"\" HUP TERM; echo $$ > pid; sleep 600' & while [ ! -s pid ]; do sleep 0.1; done; cat pid";
    let shown = shell.run(client, line).await;
    // Bash may say meanwhile what became of the job.
    let mut lines = shown.lines().rev().map(str::trim);
    let pid = lines.find(|line| line.parse::<i32>().is_ok()).unwrap();
    pid.to_owned()
}

#[tokio::test]
async fn a_shell_runs_commands_and_outlives_its_connection() {
    let workspace = place();
    let server = server(&workspace);
    let mut other = server.client("other").await;
    let mut client = server.client("ada").await;
    let mut shell = Shown::open(&mut client).await;
    assert!(shell.run(&mut client, "echo $((40+2))").await.contains("42\r\n"));
    let root = workspace.path().canonicalize().unwrap();
    let cwd = shell.run(&mut client, "pwd").await;
    assert!(cwd.contains(root.to_str().unwrap()), "{cwd}");
    let variables = shell
        .run(
            &mut client,
            "echo \"[$MY_OWN_TOKEN][$TERM][${BOBBIN_STATE-none}${BOBBIN_TOKEN-none}]\"",
        )
        .await;
    assert!(
        variables.contains("[mine][xterm-256color][nonenone]"),
        "{variables}"
    );
    let listed = json!([{ "id": shell.id, "program": "bash", "cwd": root, "columns": 80, "rows": 24 }]);
    let list = client.call("shell/list", json!({})).await;
    assert_eq!(list, json!({ "shells": listed }));
    drop(client);

    let mut client = server.client("ada again").await;
    let mut shell = Shown::attach(&mut client, &shell.id).await;
    assert!(
        shell
            .until(&mut client, "echo $((40+2))\r\n")
            .await
            .contains(PROMPT)
    );
    shell.until(&mut client, "42\r\n").await;
    shell.until(&mut client, "nonenone").await;
    shell.until(&mut client, PROMPT).await;
    assert!(shell.run(&mut client, "echo $((50+2))").await.contains("52\r\n"));
    // Once attached anew, everything comes once.
    let mut shell = Shown::attach(&mut client, &shell.id).await;
    shell.until(&mut client, "52\r\n").await;
    shell.until(&mut client, PROMPT).await;
    assert_eq!(
        shell
            .run(&mut client, "echo o\"\"nce")
            .await
            .matches("once")
            .count(),
        1
    );
    client.call("shell/detach", json!({ "id": shell.id })).await;
    shell.types(&mut client, "echo away\r").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    client.call("shell/list", json!({})).await;
    assert_eq!(client.unread(), 0, "one that has left is sent none");
    other.call("shell/list", json!({})).await;
    assert_eq!(other.unread(), 0, "only attached connections are sent output");
}

#[tokio::test]
async fn one_of_two_terminals_answers_what_a_program_asks() {
    let workspace = place();
    let server = server(&workspace);
    let (mut ada, mut eve) = (server.client("ada").await, server.client("eve").await);
    let mut shell = Shown::open(&mut ada).await;
    let attached = eve.call("shell/attach", json!({ "id": shell.id })).await;
    let shown = bytes(&attached["dataBase64"]).len();
    assert_eq!(attached["position"], shown, "all of it so far");
    let read = |answers: &str| format!("read -rsn {}; echo \"[$REPLY]\"", answers.len());
    let answer = |text: &str| json!({ "id": shell.id, "dataBase64": STANDARD.encode(text), "answer": true });
    let (ada_first, eve_first) = (answer("1a"), answer("1e"));
    let (ada_next, eve_next, eve_last) = (answer("2a"), answer("2e"), answer("3e"));

    // The one that opened it.
    shell.types(&mut ada, &format!("{}\r", read("1a"))).await;
    shell.until(&mut ada, "REPLY]\"\r\n").await;
    eve.call("shell/write", eve_first).await;
    ada.call("shell/write", ada_first).await;
    assert!(shell.until(&mut ada, PROMPT).await.starts_with("[1a]"));
    // The one that typed last.
    shell.types(&mut eve, &format!("{}\r", read("2e"))).await;
    shell.until(&mut ada, "REPLY]\"\r\n").await;
    ada.call("shell/write", ada_next).await;
    eve.call("shell/write", eve_next).await;
    assert!(shell.until(&mut ada, PROMPT).await.starts_with("[2e]"));
    // The one that is left, though another one has typed that shows nothing.
    shell.types(&mut ada, &format!("{}\r", read("3e"))).await;
    shell.until(&mut ada, "REPLY]\"\r\n").await;
    ada.call("shell/detach", json!({ "id": shell.id })).await;
    shell.types(&mut ada, "").await;
    eve.call("shell/write", eve_last).await;
    let mut shell = Shown::attach(&mut ada, &shell.id).await;
    shell.until(&mut ada, "[3e]").await;
}

#[tokio::test]
async fn keys_stop_and_interrupt_programs_and_a_new_size_is_seen() {
    let workspace = place();
    let server = server(&workspace);
    let mut client = server.client("ada").await;
    let mut shell = Shown::open(&mut client).await;
    let line = "bash -c 'trap \"echo cau\"\"ght; exit\" INT; while :; do echo t\"\"ick; read -t 0.1; done'\r";
    shell.types(&mut client, line).await;
    shell.until(&mut client, "tick").await;
    shell.types(&mut client, "\x1a").await;
    shell.until(&mut client, "Stopped").await;
    shell.until(&mut client, PROMPT).await;
    shell.types(&mut client, "fg\r").await;
    shell.until(&mut client, "tick\r\n").await;
    shell.types(&mut client, "\x03").await;
    shell.until(&mut client, "caught").await;
    shell.until(&mut client, PROMPT).await;
    assert!(shell.run(&mut client, "stty size").await.contains("24 80\r\n"));
    let size = json!({ "id": shell.id, "columns": 132, "rows": 50 });
    client.call("shell/resize", size).await;
    assert!(shell.run(&mut client, "stty size").await.contains("50 132\r\n"));
}

#[tokio::test]
async fn a_fast_writer_takes_bounded_memory_and_is_interrupted() {
    let workspace = place();
    let server = server(&workspace);
    let mut client = server.client("ada").await;
    let mut shell = Shown::open(&mut client).await;
    let memory = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap()
    };
    let before = memory();
    shell
        .types(&mut client, "yes 0123456789012345678901234567890123456789\r")
        .await;
    let start = Instant::now();
    let mut read = 0;
    while read < 24 << 20 {
        let output = client.wait_for("shell/output").await;
        read += bytes(&output["params"]["dataBase64"]).len();
    }
    assert!(start.elapsed() > Duration::from_secs(3), "it is read at a pace");
    let grown = memory().saturating_sub(before);
    assert!(grown < 32 << 10, "{grown} KiB");
    shell.types(&mut client, "\x03").await;
    shell.until(&mut client, PROMPT).await;
    assert!(
        shell
            .run(&mut client, "echo a\"\"live")
            .await
            .contains("alive\r\n")
    );

    let mut later = server.client("later").await;
    let mut present = Shown::attach(&mut later, &shell.id).await;
    assert!(present.text.len() <= 256 << 10);
    // It begins with a whole line.
    assert!(
        present.text.starts_with("0123456789"),
        "{:?}",
        &present.text[..50]
    );
    present.until(&mut later, "alive\r\n").await;
    present.until(&mut later, PROMPT).await;
    assert!(
        present
            .run(&mut later, "echo b\"\"oth")
            .await
            .contains("both\r\n")
    );
}

#[tokio::test]
async fn closing_ends_what_the_shell_started() {
    let workspace = place();
    let server = server(&workspace);
    let mut client = server.client("ada").await;
    let mut shell = Shown::open(&mut client).await;
    let pid = left_behind(&mut client, &mut shell).await;
    client.call("shell/close", json!({ "id": shell.id })).await;
    assert_gone(&pid).await;
    let exited = client.wait_for("shell/exited").await;
    assert_eq!(exited["params"]["id"], shell.id);
    let gone = client.error("shell/attach", json!({ "id": shell.id })).await;
    assert_eq!(gone["data"]["reason"], "shellNotFound");

    let shell = Shown::open(&mut client).await;
    shell.types(&mut client, "echo la\"\"st; exit 3\r").await;
    let messages = client.until("shell/exited").await;
    let exited = messages.last().unwrap();
    assert_eq!(exited["params"], json!({ "id": shell.id, "code": 3 }));
    let outputs = messages
        .iter()
        .filter(|message| message["method"] == "shell/output");
    let text: Vec<u8> = outputs
        .flat_map(|output| bytes(&output["params"]["dataBase64"]))
        .collect();
    assert!(String::from_utf8_lossy(&text).contains("last\r\n"));
    assert_eq!(
        client.call("shell/list", json!({})).await,
        json!({ "shells": [] })
    );
}

#[tokio::test]
async fn the_end_of_the_server_ends_its_shells_however_it_ends() {
    for is_killed in [true, false] {
        let workspace = place();
        let server = server(&workspace);
        let mut client = server.client("ada").await;
        let mut shell = Shown::open(&mut client).await;
        let pid = left_behind(&mut client, &mut shell).await;
        let own = shell.run(&mut client, "echo $$").await;
        if is_killed {
            server.kill().await;
        } else {
            assert!(server.terminate().await.success());
        }
        assert_gone(&pid).await;
        assert_gone(own.trim()).await;
    }
}

#[tokio::test]
async fn there_are_eight_and_one_is_opened_once() {
    let workspace = place();
    let server = server(&workspace);
    let mut client = server.client("ada").await;
    let open = json!({ "columns": 80, "rows": 24, "clientRequestId": "first" });
    let first = client.call("shell/open", open.clone()).await;
    assert_eq!(client.call("shell/open", open).await, first);
    let more = json!({ "columns": 80, "rows": 24 });
    for _ in 1..8 {
        client.call("shell/open", more.clone()).await;
    }
    let full = client.error("shell/open", more.clone()).await;
    assert_eq!(full["data"]["reason"], "tooManyShells");
    client
        .call("shell/close", json!({ "id": first["shell"]["id"] }))
        .await;
    client.call("shell/open", more).await;
    let long = STANDARD.encode(vec![b'x'; (64 << 10) + 1]);
    for wrong in [&long, "no base64"] {
        let list = client.call("shell/list", json!({})).await;
        let write = json!({ "id": list["shells"][0]["id"], "dataBase64": wrong });
        assert_eq!(client.error("shell/write", write).await["code"], -32602);
    }
}

#[tokio::test]
async fn a_shell_of_a_thread_with_a_worktree_starts_there() {
    let workspace = place();
    workspace.git(&["init", "-q", "-b", "main"]);
    for (name, value) in [("user.name", "Mika"), ("user.email", "mika@example.org")] {
        workspace.git(&["config", name, value]);
    }
    workspace.git(&["commit", "-q", "--allow-empty", "-m", "Boil"]);
    let server = server(&workspace);
    let mut client = server.client("ada").await;
    let identity = json!({ "channelName": "cli", "userId": "ada", "workspacePath": workspace.path() });
    let made = client
        .call("worktree/createAndStart", json!({ "identity": identity }))
        .await;
    let thread = &made["thread"]["id"];
    let open = json!({ "threadId": thread, "columns": 80, "rows": 24 });
    let opened = client.call("shell/open", open).await;
    assert_eq!(opened["shell"]["threadId"], *thread);
    let cwd = opened["shell"]["cwd"].as_str().unwrap();
    assert!(cwd.starts_with(workspace.state().to_str().unwrap()), "{cwd}");
    let unknown = json!({ "threadId": "thread_none", "columns": 80, "rows": 24 });
    assert_eq!(client.error("shell/open", unknown).await["code"], -32010);
}
