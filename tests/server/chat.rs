//! `bobbin chat` on a terminal: what its user sees, types and gets.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Child;
use tokio::time::{Instant, sleep};

use crate::support::{PATIENCE, Workspace};

/// Columns and rows.
const SIZE: (u16, u16) = (80, 30);
/// Lines of the scrollback.
const BACK: usize = 1_000;

/// A user at a terminal in which `bobbin chat` runs.
struct Terminal {
    keyboard: File,
    screen: Arc<Mutex<vt100::Parser>>,
    reader: JoinHandle<()>,
    child: Child,
}

impl Terminal {
    fn start(workspace: &Workspace, args: &[&str]) -> Self {
        Self::runs(workspace, &[&["chat"], args].concat())
    }

    /// Starts any command.
    fn runs(workspace: &Workspace, args: &[&str]) -> Self {
        let size = Winsize {
            ws_col: SIZE.0,
            ws_row: SIZE.1,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pair = openpty(&size, None).unwrap();
        let end = || Stdio::from(pair.slave.try_clone().unwrap());
        let mut command = workspace.bobbin(args);
        command.env("TERM", "xterm-256color");
        command.stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().unwrap();
        drop((command, pair.slave));
        let screen = Arc::new(Mutex::new(vt100::Parser::new(SIZE.1, SIZE.0, BACK)));
        let (mut output, shown) = (File::from(pair.master.try_clone().unwrap()), screen.clone());
        // Ends with the terminal's other side.
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut chunk) {
                shown.lock().process(&chunk[..read]);
            }
        });
        Self {
            keyboard: File::from(pair.master),
            screen,
            reader,
            child,
        }
    }

    fn text(&self) -> String {
        self.screen.lock().screen().contents()
    }

    async fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(&self.text()) {
            assert!(
                Instant::now() < deadline,
                "{what} does not come:\n{}",
                self.text()
            );
            sleep(Duration::from_millis(10)).await;
        }
    }

    async fn shows(&self, text: &str) {
        self.until(text, |screen| screen.contains(text)).await;
    }

    fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    async fn ends(mut self) -> String {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        assert!(ended.unwrap().unwrap().success(), "{}", self.text());
        let deadline = Instant::now() + PATIENCE;
        while !self.reader.is_finished() && Instant::now() < deadline {
            sleep(Duration::from_millis(10)).await;
        }
        self.text()
    }
}

/// A workspace in which a model's commands are asked about.
fn asking() -> Workspace {
    let workspace = Workspace::asking();
    std::fs::write(workspace.path().join("notes.txt"), "tea\n").unwrap();
    workspace
}

#[tokio::test]
async fn a_prompt_is_answered_and_what_was_said_stays() {
    let workspace = asking();
    let mut user = Terminal::start(&workspace, &[]);
    user.shows("Describe a task").await;
    user.types("say **hello** there\r");
    user.shows("• hello there").await;
    user.types("replace `tea` with `coffee` in notes.txt\r");
    user.shows("+coffee").await;
    user.shows("1 file changed").await;
    user.types("/undo\r");
    user.shows("↶ notes.txt").await;
    user.types("/redo\r");
    user.shows("↷ notes.txt").await;
    let notes = std::fs::read_to_string(workspace.path().join("notes.txt")).unwrap();
    assert_eq!(notes, "coffee\n");
    user.types("/redo\r");
    user.shows("no changes were undone").await;
    user.types("\u{4}");
    let end = user.ends().await;
    assert!(end.contains("goes on here"), "{end}");
    let said = ["› say **hello** there", "• hello there", "+coffee"];
    assert!(said.iter().all(|text| end.contains(text)), "{end}");
}

#[tokio::test]
async fn a_command_of_ones_own_runs_without_a_question() {
    let workspace = asking();
    let mut user = Terminal::start(&workspace, &[]);
    user.shows("Describe a task").await;
    user.types("!cat notes.txt > copy.txt; echo copied $((40 + 2))\r");
    user.shows("copied 42").await;
    user.types("\u{4}");
    user.ends().await;
    assert!(workspace.path().join("copy.txt").exists());
}

#[tokio::test]
async fn a_change_is_shown_put_back_and_its_conversation_copied() {
    let workspace = asking();
    let run = async |args: &[&str]| {
        let output = workspace.run(args).await;
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["exec", "replace `tea` with `coffee` in notes.txt"]).await;
    run(&["exec", "--last", "say later"]).await;
    let diff = run(&["diff"]).await;
    assert!(diff.contains("-tea") && diff.contains("+coffee"), "{diff}");
    let copy = run(&["fork", "--turn", "turn_001"]).await;
    let shown = run(&["threads", "show", copy.trim()]).await;
    assert!(shown.contains("coffee") && !shown.contains("later"), "{shown}");
    let listed = run(&["threads", "--json"]).await;
    let listed: Value = serde_json::from_str(listed.lines().last().unwrap()).unwrap();
    let first = listed["id"].as_str().unwrap();
    run(&[
        "exec",
        "--thread",
        first,
        "replace `coffee` with `milk` in notes.txt",
    ])
    .await;
    let notes = || std::fs::read_to_string(workspace.path().join("notes.txt")).unwrap();
    for before in ["coffee\n", "tea\n"] {
        assert_eq!(run(&["undo", first]).await, "notes.txt\n");
        assert_eq!(notes(), before);
    }
    let nothing = workspace.run(&["undo", first]).await;
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("not put back yet"));
    for after in ["coffee\n", "milk\n"] {
        assert_eq!(run(&["redo", first]).await, "notes.txt\n");
        assert_eq!(notes(), after);
    }
    assert!(!workspace.run(&["redo", first]).await.status.success());
    assert!(
        run(&["compact", first, "--json"])
            .await
            .contains("\"outcome\":\"skipped\"")
    );
}

#[tokio::test]
async fn a_question_that_another_client_answers_is_gone() {
    let workspace = asking();
    let mut user = Terminal::start(&workspace, &["run `touch made`"]);
    user.shows("y Yes").await;
    let other = Terminal::start(&workspace, &["--last"]);
    other.shows("y Yes").await;
    user.types("y");
    user.shows("ended with exit code 0").await;
    other.shows("bobbin-chat answered: yes").await;
    other
        .until("the end of the question", |screen| !screen.contains("y Yes"))
        .await;
    other.shows("ended with exit code 0").await;
    assert!(workspace.path().join("made").exists());
}

#[tokio::test]
async fn a_question_of_another_thread_is_answered_from_the_list() {
    let workspace = asking();
    let mut first = Terminal::start(&workspace, &["run `touch made`"]);
    first.shows("y Yes").await;
    let mut user = Terminal::start(&workspace, &[]);
    user.shows("1 question in another thread").await;
    user.types("\u{11}");
    user.shows("Needs attention").await;
    user.types("\r");
    user.shows("Esc leaves it for later").await;
    user.types("\u{1b}");
    user.shows("1 question in another thread").await;
    user.types("/waiting\r");
    user.shows("Needs attention").await;
    user.types("\r");
    user.shows("y Yes").await;
    user.types("y");
    user.until("the end of the question", |screen| !screen.contains("question"))
        .await;
    first.shows("bobbin-chat answered: yes").await;
    first.shows("ended with exit code 0").await;
    first.types("\u{4}");
}

#[tokio::test]
async fn the_change_of_a_question_is_shown_to_who_comes_later() {
    let workspace = asking();
    workspace.configure(&json!({ "Permissions": { "DefaultApprovalPolicy": "askWrites" } }));
    let first = Terminal::start(&workspace, &["replace `tea` with `coffee` in notes.txt"]);
    first.shows("+coffee").await;
    first.shows("y Yes").await;
    let later = Terminal::start(&workspace, &["--last"]);
    later.shows("y Yes").await;
    later.shows("1│+coffee").await;
}

#[tokio::test]
async fn a_killed_server_is_started_again_and_the_question_is_still_there() {
    let workspace = asking();
    let mut user = Terminal::start(&workspace, &["run `touch made`"]);
    user.shows("y Yes").await;
    let state = std::fs::read_to_string(workspace.state_folder().join("bobbin.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    let pid = i32::try_from(state["pid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let file = workspace.state_folder().join("bobbin.json");
    let deadline = Instant::now() + PATIENCE;
    while std::fs::read_to_string(&file).is_ok_and(|text| text.contains(&format!("\"pid\":{pid}"))) {
        assert!(Instant::now() < deadline, "no server starts");
        sleep(Duration::from_millis(10)).await;
    }
    user.types("y");
    user.shows("ended with exit code 0").await;
    assert!(workspace.path().join("made").exists());
}

#[tokio::test]
async fn an_unknown_command_and_model_are_named_and_nothing_changes() {
    let workspace = asking();
    let mut user = Terminal::start(&workspace, &[]);
    user.shows("Describe a task").await;
    user.types("/nonsens\r");
    user.shows("There is no command /nonsens").await;
    user.shows("› /nonsens").await;
    user.types("\u{15}/model offlien\r");
    user.shows("There is no model offlien; the nearest: offline.")
        .await;
    user.types(" /nonsens is said\r");
    user.shows("/nonsens is said").await;
    user.shows("I did not understand").await;
    user.types("\u{4}");
    user.ends().await;
}

#[tokio::test]
async fn the_list_of_threads_finds_what_was_said_in_them() {
    let workspace = asking();
    for args in [
        &["exec", "say first"][..],
        &["exec", "--last", "say the samovar hums"],
        &["exec", "say second"],
    ] {
        assert!(workspace.run(args).await.status.success());
    }
    let mut user = Terminal::start(&workspace, &[]);
    user.shows("Describe a task").await;
    user.types("half a prompt\u{14}");
    user.shows("2 of 2").await;
    user.types("samovar");
    user.shows("1 of 2").await;
    user.types("\r");
    user.shows("the samovar hums").await;
    user.until("the prompt of that thread", |screen| {
        !screen.contains("half a prompt")
    })
    .await;
    user.types("\u{4}");
    user.ends().await;
}

#[tokio::test]
async fn a_theme_is_remembered() {
    let workspace = asking();
    let dark_magenta = vt100::Color::Idx(5);
    let has_color = |user: &Terminal| {
        let screen = user.screen.lock();
        let screen = screen.screen();
        let mut cells = (0..SIZE.1).flat_map(|row| (0..SIZE.0).map(move |column| (row, column)));
        cells.any(|(row, column)| {
            screen
                .cell(row, column)
                .is_some_and(|cell| cell.fgcolor() == dark_magenta)
        })
    };
    let mut user = Terminal::start(&workspace, &["run `touch made`"]);
    user.shows("y Yes").await;
    assert!(!has_color(&user));
    user.types("/theme light\r");
    user.until("the colour", |_| has_color(&user)).await;
    user.types("\u{4}");
    let again = Terminal::start(&workspace, &["--last"]);
    again.shows("y Yes").await;
    assert!(has_color(&again));
}

#[tokio::test]
async fn lines_of_a_pipe_are_prompts_answers_and_choices() {
    let workspace = asking();
    let mut command = workspace.bobbin(&["chat", "say **hello**"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = "run `echo made > made`\ny\n/effort\n2\nrun `echo x > other`\nmaybe\nn\n";
    stdin.write_all(lines.as_bytes()).await.unwrap();
    drop(stdin);
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    let said = String::from_utf8(output.unwrap().unwrap().stdout).unwrap();
    let wanted = [
        "You: say **hello**",
        "\nhello\n",
        "Question: It redirects",
        "Run echo made > made",
        "Effort: type a number",
        "Note: That is no answer to the question.",
        "Run echo x > other",
        "  Refused",
    ];
    let mut rest = said.as_str();
    for text in wanted {
        let place = rest.find(text);
        assert!(place.is_some(), "{text} is missing:\n{said}");
        rest = &rest[place.unwrap()..];
    }
    assert!(!said.contains('\u{1b}'), "{said}");
    assert!(workspace.path().join("made").exists());
}

#[tokio::test]
async fn a_draft_is_there_again_after_the_client_was_killed() {
    let workspace = asking();
    let mut user = Terminal::start(&workspace, &[]);
    user.shows("Describe a task").await;
    user.types("half a prompt");
    let file = workspace.state_folder().join("drafts.json");
    let deadline = Instant::now() + PATIENCE;
    while !std::fs::read_to_string(&file).is_ok_and(|text| text.contains("half a prompt")) {
        assert!(Instant::now() < deadline, "no draft is stored");
        sleep(Duration::from_millis(10)).await;
    }
    user.child.kill().await.unwrap();
    let mut again = Terminal::start(&workspace, &[]);
    again.shows("› half a prompt").await;
    again.types("\u{15}say **done**\r");
    again.shows("• done").await;
    again.types("\u{4}");
    again.ends().await;
    let drafts = std::fs::read_to_string(&file).unwrap();
    assert_eq!(drafts, "[]");
}

#[tokio::test]
async fn exec_renders_its_answer_on_a_terminal() {
    let workspace = asking();
    let exec = Terminal::runs(&workspace, &["exec", "say **hello** `there`\u{1b}[2J"]);
    let end = exec.ends().await;
    assert!(end.contains(r"hello there\u{1b}[2J"), "{end}");
}

#[tokio::test]
async fn text_of_others_cannot_paint() {
    let workspace = asking();
    let mut user = Terminal::start(&workspace, &["say hello\u{1b}[2J\u{1b}]0;title\u{7}"]);
    user.shows(r"hello\u{1b}[2J").await;
    user.types("\u{3}\u{3}");
    user.ends().await;
}
