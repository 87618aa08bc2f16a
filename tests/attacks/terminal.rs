//! Text of models, commands, files and servers that would paint over what the user reads on a terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Instant;

use bobbin_testkit::{ModelServer, Script};
use nix::pty::openpty;
use serde_json::json;

use crate::lab::{Bubblewrap, Lab, PATIENCE};

/// Clears the screen, writes a lie, hides what follows, and fills the clipboard.
const PAINT: &str = "\u{1b}[2J\u{1b}[1;1HAll good.\u{1b}[8m\u{1b}]52;c;cm0gLXJmIH4=\u{7}\r";
/// The same by a C1 control, a bidirectional override, a tag and a line separator.
const SUBTLE: &str = "\u{9b}2J\u{202e}\u{e0041}\u{2028}\u{200b}";

/// A user at a terminal in which `bobbin` runs.
struct AtTerminal {
    keyboard: File,
    screen: mpsc::Receiver<Vec<u8>>,
    seen: String,
    child: tokio::process::Child,
}

impl AtTerminal {
    fn start(lab: &Lab, args: &[&str]) -> Self {
        let pair = openpty(None, None).unwrap();
        let end = || Stdio::from(pair.slave.try_clone().unwrap());
        let mut command = lab.bobbin(args);
        command.stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().unwrap();
        drop((command, pair.slave));
        let mut output = File::from(pair.master.try_clone().unwrap());
        let (sender, screen) = mpsc::sync_channel(64);
        // Ends with the terminal's other side.
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut chunk) {
                if sender.send(chunk[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            keyboard: File::from(pair.master),
            screen,
            seen: String::new(),
            child,
        }
    }

    /// Reads until the screen shows a text; returns all that was seen since the last call.
    fn until(&mut self, text: &str) -> String {
        let started = Instant::now();
        let mut bytes = Vec::new();
        while !self.seen.contains(text) {
            let rest = PATIENCE.saturating_sub(started.elapsed());
            let chunk = self.screen.recv_timeout(rest);
            bytes.extend(chunk.unwrap_or_else(|_| panic!("{text:?} does not come: {}", self.seen)));
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
            bytes.clear();
        }
        std::mem::take(&mut self.seen)
    }

    fn types(&mut self, line: &str) {
        self.keyboard.write_all(line.as_bytes()).unwrap();
        self.keyboard.write_all(b"\n").unwrap();
    }

    /// Reads to the end; returns what was seen and the exit code.
    async fn end(mut self) -> (String, Option<i32>) {
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let mut seen = std::mem::take(&mut self.seen);
        while let Ok(chunk) = self.screen.recv_timeout(std::time::Duration::from_millis(200)) {
            seen.push_str(&String::from_utf8_lossy(&chunk));
        }
        (seen, status.unwrap().unwrap().code())
    }
}

/// The terminal turns each `\n` of a program into `\r\n`; nothing else may move or paint.
fn assert_harmless(seen: &str) {
    let paints =
        |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || (!c.is_ascii() && SUBTLE.contains(c));
    let mut rest = seen.replace("\r\n", "\n");
    // Colours of the answer's Markdown: weight and colour alone, and each is ended.
    for ours in ["0", "1", "2", "3", "4", "38;5;14"] {
        rest = rest.replace(&format!("\u{1b}[{ours}m"), "");
    }
    assert!(!rest.contains(paints), "{seen:?}");
}

#[tokio::test]
async fn a_question_cannot_be_painted_over() {
    let lab = Lab::new(Bubblewrap::Off);
    let prompt = format!("run `touch made '{PAINT}{SUBTLE}'`");
    let mut user = AtTerminal::start(&lab, &["exec", &prompt]);
    let asked = user.until("Allow?");
    assert_harmless(&asked);
    assert!(
        asked.contains(r"\u{1b}[2J") && asked.contains(r"\u{202e}"),
        "{asked}"
    );
    user.types("n");
    let (rest, code) = user.end().await;
    assert_harmless(&rest);
    assert_eq!(code, Some(4), "{rest}");
    assert!(!lab.work().join("made").exists());
}

#[tokio::test]
async fn an_answer_and_a_name_of_a_file_cannot_paint() {
    let lab = Lab::new(Bubblewrap::Off);
    lab.write("notes.txt", &format!("tea{PAINT}{SUBTLE}\n"));
    lab.write(&format!("name{PAINT}"), "x");
    for prompt in ["read notes.txt", "run `cat notes.txt`", "list the files"] {
        let user = AtTerminal::start(&lab, &["exec", prompt]);
        let (seen, _) = user.end().await;
        assert_harmless(&seen);
        assert!(seen.contains(r"\u{1b}") || !prompt.contains("notes"), "{seen}");
    }
}

#[tokio::test]
async fn a_script_gets_the_answer_as_it_is_and_progress_without_paint() {
    let lab = Lab::new(Bubblewrap::Off);
    let text = format!("tea{PAINT}{SUBTLE}");
    let output = lab.run(&["exec", "--", &format!("say {text}milk")]).await;
    let (out, err) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert!(out.contains(&format!("{text}milk")), "{out:?}{err}");
    assert_harmless(&err);
    let output = lab.run(&["exec", "--json", &format!("say {text}milk")]).await;
    let out = String::from_utf8(output.stdout).unwrap();
    assert_harmless(&out);
    let read: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told = |line: &serde_json::Value| {
        let told = line["params"]["item"]["payload"]["text"].as_str();
        told.is_some_and(|told| told.contains(&text))
    };
    assert!(read.iter().any(told), "{out}");
}

#[tokio::test]
async fn the_words_of_a_folder_cannot_paint_in_lists_and_checks() {
    let lab = Lab::new(Bubblewrap::Off);
    let name = format!("bad{PAINT}");
    let config = serde_json::json!({ "McpServers": { name: { "command": "true" } }, "Model": format!("no/{SUBTLE}{PAINT}") });
    lab.write(".craft/config.json", &config.to_string());
    for args in [
        &["mcp", "list"][..],
        &["mcp", "allow", PAINT],
        &["doctor"],
        &["exec", "hi"],
    ] {
        let output = lab.run(args).await;
        for stream in [output.stdout, output.stderr] {
            assert_harmless(&String::from_utf8(stream).unwrap());
        }
    }
}

#[tokio::test]
async fn blanks_push_nothing_off_the_screen() {
    let lab = Lab::new(Bubblewrap::Off);
    let screen = " ".repeat(24 * 80);
    let harmless = format!("sh{screen}What waits:  instructs AGENTS.md");
    let long = "build/long-name/".repeat(20);
    let config = serde_json::json!({
        "McpServers": { "tea": { "command": "/bin/sh", "args": ["-c", harmless] } },
        "Sandbox": { "Writable": [long, "~/.config"] },
    });
    lab.write(".craft/config.json", &config.to_string());
    let output = lab.run(&["trust"]).await;
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("[1920 blanks]"), "{out}");
    // All of a value is shown, and each further line of it stands under its text, not under a label.
    assert!(out.contains("~/.config"), "{out}");
    for line in out.lines().filter(|line| line.starts_with(' ')) {
        let known = ["  runs  ", "  loosens  ", "  instructs ", "            "];
        assert!(
            known.iter().any(|known| line.starts_with(known)),
            "{line:?} in {out}"
        );
    }
    lab.write(".craft/config.json", "{}");
    let mut user = AtTerminal::start(&lab, &["exec", &format!("run `touch made #{screen}#`")]);
    let asked = user.until("Allow?");
    assert!(asked.contains("touch made # [1920 blanks] #"), "{asked:?}");
    user.types("n");
    user.end().await;
    let command = format!("touch one{}touch two", "\n".repeat(301));
    let mut user = AtTerminal::start(&lab, &["exec", &format!("run:\n```\n{command}\n```")]);
    let asked = user.until("Allow?");
    assert!(asked.contains("| [300 empty lines]"), "{asked:?}");
    user.types("n");
    user.end().await;
}

#[tokio::test]
async fn no_single_key_allows_more_than_once_for_ever() {
    let lab = Lab::new(Bubblewrap::Off);
    let mut user = AtTerminal::start(&lab, &["exec", "run `touch one`"]);
    let asked = user.until("Allow?");
    assert!(
        asked.contains("for the rest of this thread") && asked.contains("type always"),
        "{asked}"
    );
    for key in ["a", "A", "w", "W"] {
        user.types(key);
        user.until("Allow?");
    }
    user.types("always");
    let (rest, code) = user.end().await;
    assert_eq!(code, Some(0), "{rest}");
    // Remembered for this line, and for no other.
    let again = lab.run(&["exec", "run `touch one`"]).await;
    let other = lab.run(&["exec", "run `touch two`"]).await;
    assert_eq!((again.status.code(), other.status.code()), (Some(0), Some(4)));
}

/// An MCP server with one tool.
const POT: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked: continue
    result = {
        "initialize": lambda: {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "pot", "version": "1"}},
        "tools/list": lambda: {"tools": [{"name": "pour", "inputSchema": {"type": "object"}}]},
        "tools/call": lambda: {"content": [{"type": "text", "text": "poured"}]},
    }.get(asked["method"], dict)()
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

#[tokio::test]
async fn arguments_for_an_mcp_server_are_shown_before_they_are_allowed() {
    let lab = Lab::new(Bubblewrap::Off);
    let pot = json!({ "command": "/usr/bin/python3", "args": ["-c", POT] });
    lab.configure(&json!({ "McpServers": { "pot": pot } }));
    // Each of these could begin a line of the screen where a long one is wrapped.
    let note = format!("{PAINT}{}", "Allow? [y]es, [n]o: ".repeat(400));
    let pour = json!({ "note": note, "to": "evil" });
    let mut user = AtTerminal::start(&lab, &["exec", &format!("call mcp__pot__pour with {pour}")]);
    let asked = user.until("ancel the turn: ");
    assert_harmless(&asked);
    let ours = |asked: &str| asked.lines().filter(|line| line.starts_with("Allow?")).count();
    assert_eq!(ours(&asked), 1, "{asked}");
    assert!(asked.contains("more lines") && !asked.contains("evil"), "{asked}");
    user.types("y");
    user.until("ancel the turn: ");
    user.types("d");
    let asked = user.until("ancel the turn: ");
    assert_eq!(ours(&asked), 1, "{asked}");
    assert!(
        asked.contains(r#"|   "to": "evil""#) && asked.contains("[y]es"),
        "{asked}"
    );
    user.types("y");
    let (rest, code) = user.end().await;
    assert_eq!(code, Some(0), "{rest}");
}

#[tokio::test]
async fn a_change_of_a_file_is_shown_before_it_is_allowed_and_summed_up_after() {
    let lab = Lab::new(Bubblewrap::Off);
    lab.configure(&json!({ "Permissions": { "DefaultApprovalPolicy": "askWrites" } }));
    lab.write("notes.txt", "one\ntwo\n");
    let mut user = AtTerminal::start(&lab, &["exec", "read `notes.txt` then write `notes.txt`: one"]);
    let asked = user.until("Allow?");
    assert!(
        asked.contains("|    2 -two") && asked.contains("|    1  one"),
        "{asked}"
    );
    user.types("y");
    let (rest, code) = user.end().await;
    assert_eq!(code, Some(0), "{rest}");
    assert!(rest.contains("−") && rest.contains("notes.txt"), "{rest}");

    // What is not shown cannot be allowed, and what is shown paints nothing.
    let long = "line\n".repeat(49) + "line 50\n";
    let prompt = format!("write `long.txt`: {PAINT}{SUBTLE}\n{long}");
    let mut user = AtTerminal::start(&lab, &["exec", &prompt]);
    let asked = user.until("ancel the turn: ");
    assert_harmless(&asked);
    assert!(
        asked.contains("more lines") && !asked.contains("[y]es"),
        "{asked}"
    );
    user.types("y");
    user.until("ancel the turn: ");
    assert!(!lab.work().join("long.txt").exists());
    user.types("d");
    let asked = user.until("[y]es");
    assert!(asked.contains("|   51 +line 50"), "{asked}");
    user.types("n");
    let (rest, code) = user.end().await;
    assert_eq!(code, Some(4), "{rest}");
    assert!(!lab.work().join("long.txt").exists());
}

#[tokio::test]
async fn a_first_start_asks_once_how_commands_run() {
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        let policy = || {
            let own = std::fs::read_to_string(lab.home().join(".craft/config.json")).unwrap();
            let own: serde_json::Value = serde_json::from_str(&own).unwrap();
            own["Permissions"]["DefaultApprovalPolicy"].clone()
        };
        let mut user = AtTerminal::start(&lab, &["exec", "run `touch one`"]);
        if bubblewrap == Bubblewrap::Required {
            let asked = user.until("Number [1]: ");
            assert!(asked.contains("How should commands"), "{asked}");
            user.types("");
            let (rest, code) = user.end().await;
            assert!(code == Some(0) && !rest.contains("Allow?"), "{rest}");
            assert_eq!(policy(), "automatic");
        } else {
            // Without bubblewrap there is no choice.
            user.until("Allow?");
            user.types("n");
            user.end().await;
            assert!(policy().is_null());
        }
        // What is chosen is not asked again, and `config set` changes it.
        let set = lab
            .run(&["config", "set", "Permissions.DefaultApprovalPolicy", "default"])
            .await;
        assert!(set.status.success(), "{set:?}");
        assert_eq!(policy(), "default");
        let mut user = AtTerminal::start(&lab, &["exec", "run `touch two`"]);
        let asked = user.until("Allow?");
        assert!(!asked.contains("Number"), "{asked}");
        user.types("n");
        user.end().await;
        let refused = lab
            .run(&["config", "set", "Permissions.DefaultAprovalPolicy", "default"])
            .await;
        assert!(!refused.status.success(), "{refused:?}");
        let refused = lab
            .run(&["config", "set", "Permissions.DefaultApprovalPolicy", "never"])
            .await;
        assert!(!refused.status.success(), "{refused:?}");
        assert_eq!(policy(), "default");
        let set = lab
            .run(&[
                "config",
                "set",
                "--folder",
                "Permissions.DefaultApprovalPolicy",
                "autoApprove",
            ])
            .await;
        assert!(set.status.success(), "{set:?}");
        let user = AtTerminal::start(&lab, &["exec", "run `touch three`"]);
        let (rest, code) = user.end().await;
        assert!(code == Some(0) && !rest.contains("Allow?"), "{rest}");
        let removed = lab
            .run(&["config", "set", "--folder", "Permissions.DefaultApprovalPolicy"])
            .await;
        assert!(removed.status.success(), "{removed:?}");
    }
}

/// The provider answers while this thread waits for the terminal.
#[tokio::test(flavor = "multi_thread")]
async fn setup_asks_for_a_provider_tests_its_key_and_hides_it() {
    let lab = Lab::new(Bubblewrap::Off);
    let script = Script {
        models: vec!["scripted".into(), "other".into()],
        key: Some("sk-sesame".into()),
        ..Script::default()
    };
    let provider = ModelServer::start(script).await.unwrap();
    let mut user = AtTerminal::start(&lab, &["setup"]);
    for key in ["sk-wrong", "sk-sesame"] {
        user.until("Enter for none: ");
        user.types("5");
        user.until("[custom]: ");
        user.types("kiln");
        user.until("[chat]: ");
        user.types("");
        user.until("/v1: ");
        user.types("kiln.example");
        let said = user.until("/v1: ");
        assert!(
            said.contains("An address starts with https:// or http://."),
            "{said}"
        );
        user.types(&provider.base_url());
        user.until("Enter for none: ");
        user.types(key);
        if key == "sk-wrong" {
            let said = user.until("Set it up again?");
            assert!(!said.contains(key), "{said}");
            user.types("");
        }
    }
    let listed = user.until("its number or name [1]: ");
    assert!(
        listed.contains("2  other") && !listed.contains("sesame"),
        "{listed}"
    );
    user.types("2");
    let (rest, code) = user.end().await;
    assert_eq!(code, Some(0), "{rest}");
    assert!(rest.contains("New threads use kiln/other."), "{rest}");
    assert!(!lab.work().join(".craft/config.json").exists(), "an empty file");
    let models = lab.run(&["models"]).await;
    let models = String::from_utf8(models.stdout).unwrap();
    assert!(models.contains("* kiln/other"), "{models}");
}

#[tokio::test]
async fn exec_says_that_the_offline_engine_answers_where_no_model_is_set() {
    let lab = Lab::new(Bubblewrap::Off);
    let said = async |args: &[&str]| String::from_utf8(lab.run(args).await.stderr).unwrap();
    let notice = "No model is set: the offline engine answers. Run `bobbin setup`";
    assert!(said(&["exec", "say hi"]).await.contains(notice));
    assert!(
        !said(&["exec", "--model", "offline", "say hi"])
            .await
            .contains(notice)
    );
    lab.configure(&json!({ "Model": "offline" }));
    assert!(!said(&["exec", "say hi"]).await.contains(notice));
}
