//! A day's work: a bug is fixed over forty replies in a repository of 30,000 files, with a model on each wire.
//!
//! The repository's tests open sockets on loopback, so these stories need bubblewrap.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use bobbin_testkit::{Client, Link, ModelServer, Part, Reply, Script, ScriptedCall};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::support::{PATIENCE, Process, Workspace, agent_text, not_tested, rich};
use crate::{eca, mcp};

/// The variable that names what a process of the repository does.
const ERRAND: &str = "STORY_ERRAND";
/// Where the repository's own server listens: in the network of the Thread, so nothing else can be there.
const KETTLE: &str = "127.0.0.1:4173";
const WINDOW: u64 = 32_768;
const FILES: usize = 30_000;

/// A program of the repository: its tests, its server, and a client of that.
#[test]
#[ignore = "not a test: the program that the stories run"]
fn errand() {
    #[expect(clippy::disallowed_methods, reason = "the story's command says what to do")]
    let errand = std::env::var(ERRAND).unwrap();
    match errand.as_str() {
        "test" => {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            std::thread::spawn(move || serve(&listener));
            let text = ask(address);
            assert!(text.contains("100"), "the kettle boils at the wrong heat: {text}");
            println!("kettle: passed");
        }
        "serve" => serve(&TcpListener::bind(KETTLE).unwrap()),
        "ask" => println!("{}", ask(KETTLE.parse().unwrap())),
        other => panic!("{other}?"),
    }
}

/// Answers each connection with the source of the kettle, until the process ends.
fn serve(listener: &TcpListener) {
    for stream in listener.incoming() {
        let kettle = std::fs::read("src/kettle.rs").unwrap();
        stream.unwrap().write_all(&kettle).unwrap();
    }
}

fn ask(address: std::net::SocketAddr) -> String {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Fills a workspace with the repository.
#[expect(clippy::disallowed_methods, reason = "the repository is git's")]
fn repository(root: &Path) {
    for number in 0..FILES {
        let directory = root.join(format!("lib/part{:03}", number / 100));
        if number % 100 == 0 {
            std::fs::create_dir_all(&directory).unwrap();
        }
        let text = format!("pub fn cup{number}() -> u32 {{ {number} }}\n");
        std::fs::write(directory.join(format!("cup{number}.rs")), text).unwrap();
    }
    for directory in ["src", "data", ".tools"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    std::fs::write(root.join("src/kettle.rs"), "pub const BOILS_AT: u32 = 90;\n").unwrap();
    std::fs::write(root.join("AGENTS.md"), "Run the tests before you answer.\n").unwrap();
    std::fs::write(root.join("data/lines.txt"), "one of many lines\n".repeat(80_000)).unwrap();
    std::fs::write(root.join("data/line.txt"), "a long line, ".repeat(110_000)).unwrap();
    for number in 0..27 {
        let text = format!("Note {number}: the kettle is hot.\n").repeat(180);
        std::fs::write(root.join(format!("data/notes{number}.txt")), text).unwrap();
    }
    std::fs::write(root.join(".gitignore"), ".tools\n.craft\n").unwrap();
    let this = std::env::current_exe().unwrap();
    let errand = root.join(".tools/errand");
    if std::fs::hard_link(&this, &errand).is_err() {
        std::fs::copy(&this, &errand).unwrap();
    }
    for args in [&["init", "-q"][..], &["add", "-A"]] {
        let git = std::process::Command::new("git")
            .current_dir(root)
            .args(args)
            .status();
        assert!(git.unwrap().success());
    }
}

/// What a model says, reply by reply.
#[derive(Default)]
struct Replies(Vec<Reply>);

impl Replies {
    fn call(&mut self, tool: &str, arguments: Value) {
        let call = self.one(0, tool, arguments);
        self.0.push(Reply::of([call]));
    }

    fn one(&self, number: usize, tool: &str, arguments: Value) -> Part {
        Part::Call(ScriptedCall {
            id: format!("call_{}_{number}", self.0.len()),
            tool: tool.into(),
            arguments,
        })
    }

    fn run(&mut self, errand: &str, more: &Value) {
        let command = format!("{ERRAND}={errand} .tools/errand story::errand --exact --ignored --nocapture");
        let mut arguments = json!({ "command": command });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap());
        self.call("Exec", arguments);
    }

    fn say(&mut self, text: &str) {
        self.0.push(Reply::of([Part::Text(text.into())]));
    }
}

/// Returns what the model says in the first Turn.
fn fixing() -> Replies {
    let mut story = Replies::default();
    let reads = ["AGENTS.md", "src/kettle.rs", "data/lines.txt", "data/line.txt"];
    let reads = reads.iter().enumerate();
    let reads = reads.map(|(number, path)| story.one(number, "ReadFile", json!({ "path": path })));
    let reads = Reply::of(reads.collect::<Vec<_>>());
    story.0.push(reads);
    story.call("GrepFiles", json!({ "pattern": "fn cup29999" }));
    story.call("FindFiles", json!({ "pattern": "cup1234?.rs" }));
    story.run("test", &json!({}));
    let edit = json!({ "path": "src/kettle.rs", "oldText": "= 90;", "newText": "= 100;" });
    story.call("EditFile", edit);
    story.run("test", &json!({}));
    story.run("serve", &json!({ "runInBackground": true }));
    story.run("ask", &json!({}));
    story.call("mcp__pantry__steep", json!({ "minutes": 4 }));
    story.call("mcp__pantry__die", json!({}));
    story.call("mcp__pantry__steep", json!({ "minutes": 5 }));
    for number in 0..27 {
        story.call("ReadFile", json!({ "path": format!("data/notes{number}.txt") }));
    }
    story.run("test", &json!({}));
    story.say("The kettle boils at 100 again. The tests pass.");
    story
}

/// Follows a Turn to its end and says yes to what is asked, but for the question of this number, which it returns
/// unanswered.
async fn follow(client: &mut Client, leave: Option<usize>) -> (Value, Vec<Value>) {
    let mut seen = Vec::new();
    let mut asked = 0;
    loop {
        let message = client.next().await.expect("the connection stays");
        match message["method"].as_str() {
            Some("item/approval/request") => {
                asked += 1;
                if leave == Some(asked) {
                    return (message, seen);
                }
                client.reply(&message, json!({ "decision": "accept" })).await;
            }
            Some("turn/completed") => return (message, seen),
            Some("turn/failed" | "turn/cancelled") => panic!("{message:#}"),
            _ => seen.push(message),
        }
    }
}

/// Returns the results of a Turn's calls, by the names of the tools.
fn results(turn: &Value) -> Vec<(String, String)> {
    let items = turn["items"].as_array().unwrap();
    let of = |kind: &'static str| items.iter().filter(move |item| item["type"] == kind);
    let result = |call: &Value| {
        let id = &call["payload"]["callId"];
        let result = of("toolResult").find(|item| item["payload"]["callId"] == *id);
        let result = result.unwrap_or_else(|| panic!("no result of {call:#}"));
        result["payload"]["result"].as_str().unwrap().to_owned()
    };
    of("toolCall")
        .map(|call| {
            (
                call["payload"]["toolName"].as_str().unwrap().to_owned(),
                result(call),
            )
        })
        .collect()
}

/// Waits until an editor has seen a prompt's end, and returns the text it was shown.
async fn texts(editor: &mut Client) -> String {
    let mut shown = String::new();
    loop {
        let message = editor.next().await.expect("the connection stays");
        let content = &message["params"]["content"];
        if content["type"] == "text" {
            shown.push_str(content["text"].as_str().unwrap_or_default());
        }
        if content["state"] == "finished" {
            return shown;
        }
    }
}

/// Where a story plays.
struct Day {
    workspace: Workspace,
    home: Workspace,
    provider: ModelServer,
}

impl Day {
    async fn begin(wire: &str, replies: Vec<Reply>) -> Self {
        let (workspace, home) = (Workspace::in_memory(), Workspace::new());
        repository(workspace.path());
        let summary = "The kettle boiled at 90. Now it boils at 100.";
        let script = Script {
            replies,
            aside: Some(Reply::of([Part::Text(summary.into())])),
            counts: true,
            ..Script::default()
        };
        let provider = ModelServer::start(script).await.unwrap();
        let script = json!({ "Wire": wire, "BaseUrl": provider.base_url(), "ContextWindow": WINDOW });
        home.configure(&json!({
            "Model": "script/m",
            "Titles": { "Enabled": false },
            "Providers": { "script": script },
            "McpServers": { "pantry": mcp::entry(&home) },
        }));
        let day = Self {
            workspace,
            home,
            provider,
        };
        let trusted = day.bobbin(&["trust", "--yes"]).output().await.unwrap();
        assert!(trusted.status.success(), "{trusted:?}");
        day
    }

    fn bobbin(&self, args: &[&str]) -> Command {
        let mut command = self.workspace.bobbin(args);
        command.env("HOME", self.home.path());
        command
    }

    fn serve(&self) -> Process {
        let mut command = self.bobbin(&["serve", "--listen", "ws://127.0.0.1:0"]);
        let command = command.stdout(Stdio::null()).stderr(Stdio::inherit());
        let state = self.workspace.state_folder().join("bobbin.json");
        Process::of(command.spawn().unwrap(), state)
    }

    /// Starts an editor that has the Thread's chat open.
    async fn editor(&self, thread: &str) -> (Child, Client) {
        let mut command = self.bobbin(&["eca"]);
        let command = command.stdin(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let link = Link::headers(child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let mut client = Client::new(link);
        client.call("initialize", eca::hello(&self.workspace)).await;
        client.notify("initialized", json!({})).await;
        let opened = client.call("chat/open", json!({ "chatId": thread })).await;
        assert_eq!(opened["found"], true, "{opened}");
        (child, client)
    }

    fn kettle(&self) -> String {
        std::fs::read_to_string(self.workspace.path().join("src/kettle.rs")).unwrap()
    }

    /// The bug is fixed while a desktop and an editor follow, but for the last question, which nobody answers before
    /// the server dies. Returns the Thread.
    async fn fix(&self) -> String {
        let server = self.serve();
        let mut client = server.client_with("desktop", rich()).await;
        let thread = client.start_thread().await;
        let subscription = json!({ "threadId": thread });
        client.call("thread/subscribe", subscription).await;
        let (mut child, mut editor) = self.editor(&thread).await;
        let prompt = "The kettle's test fails. Find out why and mend it.";
        client.start_turn(&thread, prompt).await;
        let (_, seen) = follow(&mut client, Some(6)).await;
        let is_compacted = |message: &&Value| message["params"]["kind"] == "compacted";
        assert_eq!(seen.iter().filter(is_compacted).count(), 2);
        let is_last = |message: &Value| {
            let content = &message["params"]["content"];
            let id = content["id"].as_str().unwrap_or_default();
            content["manualApproval"] == true && id.contains("_38_")
        };
        editor.find("the last question", is_last).await;
        server.kill().await;
        child.kill().await.unwrap();
        thread
    }

    /// The editor's next prompt is undone from the desktop.
    async fn undo(&self, thread: &str, editor: &mut Client, client: &mut Client) {
        let prompt = json!({ "chatId": thread, "message": "Boil at 80." });
        editor.call("chat/prompt", prompt).await;
        let (ended, _) = follow(client, None).await;
        let root = self.workspace.path();
        assert!(self.kettle().contains("= 80;") && !root.join("data").exists());
        let turn = &ended["params"]["turnId"];
        let undone = json!({ "threadId": thread, "turnId": turn });
        let undone = client.call("turn/revert", undone).await;
        // The file of the kettle, what was removed, and what was made.
        assert_eq!(undone["files"].as_array().unwrap().len(), 31);
        assert!(self.kettle().contains("= 100;") && root.join("data/line.txt").exists());
        assert!(!root.join("lib/made").exists());
    }

    async fn ask_by_script(&self, thread: &str) {
        let mut exec = self.bobbin(&["exec", "--thread", thread, "Is all as it was?"]);
        let output = tokio::time::timeout(PATIENCE, exec.output()).await;
        let output = output.unwrap().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("The kettle is as it was."));
    }

    /// Returns the tokens of each request, as the provider counts them.
    fn sent(&self) -> Vec<u64> {
        let asked = self.provider.asked();
        let tokens = asked.iter().map(|request| request.body.to_string().len() / 4);
        tokens.map(|tokens| u64::try_from(tokens).unwrap()).collect()
    }
}

/// Compares what the first Turn's calls returned with what they should.
fn check(results: &[(String, String)]) {
    let cup = "lib/part299/cup29999.rs:1:pub fn cup29999() -> u32 { 29999 }";
    let served = "exit code 0\n\nrunning 1 test\npub const BOILS_AT: u32 = 100;";
    let begins = [
        ("ReadFile", "1\tRun the tests"),
        ("ReadFile", "1\tpub const BOILS_AT: u32 = 90;"),
        ("ReadFile", "1\tone of many lines"),
        ("ReadFile", "1\ta long line"),
        ("GrepFiles", cup),
        ("FindFiles", "lib/part123/cup12340.rs\n"),
        ("Exec", "exit code 101\n"),
        ("EditFile", "changed src/kettle.rs"),
        ("Exec", "exit code 0\n\nrunning 1 test\nkettle: passed"),
        ("Exec", "goes on in the background as term_"),
        ("Exec", served),
        ("mcp__pantry__steep", "steeped for 4 minutes"),
        (
            "mcp__pantry__die",
            "the MCP server pantry ended while this call ran",
        ),
        ("mcp__pantry__steep", ""),
    ];
    for ((tool, begin), (called, result)) in begins.iter().zip(results) {
        assert!(tool == called && result.starts_with(begin), "{called}: {result}");
    }
    let (_, last) = results.last().unwrap();
    assert!(last.contains("kettle: passed"), "{last}");
}

async fn play(wire: &str) {
    let doctor = Workspace::new().run(&["doctor"]).await;
    if !String::from_utf8_lossy(&doctor.stdout).contains("bubblewrap") {
        return not_tested("bubblewrap does not work here");
    }
    let mut story = fixing();
    let fixed = story.0.len();
    let edit = json!({ "path": "src/kettle.rs", "oldText": "= 100;", "newText": "= 80;" });
    story.call("EditFile", edit);
    let command = json!({ "command": "rm -r data && echo x > lib/made" });
    story.call("Exec", command);
    story.say("It saves energy.");
    story.say("The kettle is as it was.");
    let day = Day::begin(wire, story.0).await;
    let thread = day.fix().await;

    // The next server asks again, and the answer counts.
    let server = day.serve();
    let mut client = server.client_with("desktop", rich()).await;
    let subscription = json!({ "threadId": thread });
    client.call("thread/subscribe", subscription).await;
    let (_child, mut editor) = day.editor(&thread).await;
    let (ended, _) = follow(&mut client, None).await;
    let turn = &ended["params"]["turn"];
    check(&results(turn));
    assert_eq!(agent_text(turn), "The kettle boils at 100 again. The tests pass.");
    assert_eq!(day.kettle(), "pub const BOILS_AT: u32 = 100;\n");
    let shown = texts(&mut editor).await;
    assert!(shown.contains("The tests pass."), "{shown}");
    let sent = day.sent();
    assert_eq!(sent.len(), fixed + 2, "two of them are summaries");
    assert!(sent.iter().all(|tokens| *tokens < WINDOW), "{sent:?}");

    day.undo(&thread, &mut editor, &mut client).await;
    day.ask_by_script(&thread).await;

    // The bill has every request.
    let read = json!({ "threadId": thread, "includeTurns": true });
    let read = client.call("thread/read", read).await;
    let turns = read["thread"]["turns"].as_array().unwrap();
    let tokens = |turn: &Value| turn["tokenUsage"]["inputTokens"].as_u64().unwrap();
    assert_eq!(
        turns.iter().map(tokens).sum::<u64>(),
        day.sent().iter().sum::<u64>()
    );
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn a_bug_is_fixed_by_a_model_on_the_wire_of_chat_completions() {
    play("chat").await;
}

#[tokio::test]
async fn a_bug_is_fixed_by_a_model_on_the_wire_of_responses() {
    play("responses").await;
}

#[tokio::test]
async fn a_bug_is_fixed_by_a_model_on_the_wire_of_messages() {
    play("messages").await;
}
