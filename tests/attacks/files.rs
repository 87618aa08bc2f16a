//! Hostile files: what a workspace holds where a program expects a small text, and links that change under a reader.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bobbin_testkit::Client;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::json;

use crate::lab::{Bubblewrap, Lab, PATIENCE};

/// A server that swells dies of this instead of taking the machine with it.
const MEMORY: &str = "--as=6442450944";

/// Something that is no small text.
#[derive(Debug, Clone, Copy)]
enum Hostile {
    Endless,
    Pipe,
    Sparse,
    Globs,
}

const ALL: [Hostile; 4] = [Hostile::Endless, Hostile::Pipe, Hostile::Sparse, Hostile::Globs];

impl Hostile {
    fn make(self, path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        match self {
            Self::Endless => symlink("/dev/zero", path).unwrap(),
            Self::Pipe => mkfifo(path, Mode::S_IRWXU).unwrap(),
            Self::Sparse => std::fs::File::create(path).unwrap().set_len(20 << 30).unwrap(),
            Self::Globs => std::fs::write(path, "[!a]*b?[c-x]*\n".repeat((30 << 20) / 14)).unwrap(),
        }
    }
}

/// Runs `bobbin` with bounded memory to its end.
async fn run(lab: &Lab, args: &[&str]) -> Output {
    let mut bounded = vec![MEMORY, env!("CARGO_BIN_EXE_bobbin")];
    bounded.extend(args);
    let running = lab.program(&PathBuf::from("prlimit"), &bounded).output();
    tokio::time::timeout(PATIENCE, running)
        .await
        .expect("it does not wait")
        .unwrap()
}

/// Returns all that a program has written.
pub(crate) fn written(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[tokio::test]
async fn an_ignore_file_that_is_endless_huge_or_a_pipe_changes_nothing() {
    for place in [".gitignore", ".ignore", ".git/info/exclude"] {
        for hostile in ALL {
            let lab = Lab::new(Bubblewrap::Off);
            lab.write("tea.txt", "earl grey\n");
            hostile.make(&lab.work().join(place));
            for (prompt, said) in [
                ("list the files", "tea.txt"),
                ("search for grey", "earl grey"),
                ("run `echo done`", "done"),
            ] {
                let output = run(&lab, &["exec", "--approve", prompt]).await;
                let text = written(&output);
                assert!(
                    output.status.success() && text.contains(said),
                    "{place} {hostile:?} {prompt}: {text}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_configuration_that_is_endless_huge_or_a_pipe_ends_the_start_with_words() {
    for hostile in ALL {
        let lab = Lab::new(Bubblewrap::Off);
        hostile.make(&lab.work().join(".craft/config.json"));
        let output = run(&lab, &["exec", "list the files"]).await;
        // Not by a signal.
        assert!(
            output.status.code().is_some(),
            "{hostile:?}: {}",
            written(&output)
        );
    }
}

/// Exchanges two names all the time, until dropped.
struct Swapper {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Swapper {
    fn start(one: PathBuf, other: PathBuf) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                renameat2(AT_FDCWD, &one, AT_FDCWD, &other, RenameFlags::RENAME_EXCHANGE).unwrap();
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Runs a Turn, declining what is asked; returns all that was sent meanwhile.
async fn declined_turn(client: &mut Client, thread: &str, prompt: &str) -> String {
    client.start_turn(thread, prompt).await;
    let mut all = String::new();
    loop {
        let message = tokio::time::timeout(Duration::from_secs(20), client.next())
            .await
            .expect("the turn goes on")
            .expect("the connection stays");
        all += &message.to_string();
        match message["method"].as_str() {
            Some("item/approval/request") => {
                client.reply(&message, json!({ "decision": "decline" })).await;
            }
            Some("turn/completed" | "turn/failed" | "turn/cancelled") => return all,
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_directory_that_is_swapped_for_a_link_does_not_lead_a_reader_out() {
    let lab = Lab::new(Bubblewrap::Off);
    let hidden = lab.home().join(".ssh");
    std::fs::create_dir_all(&hidden).unwrap();
    std::fs::write(hidden.join("f"), "HIDDEN secret\n").unwrap();
    lab.write("d/f", "open secret\n");
    symlink(&hidden, lab.work().join("e")).unwrap();
    let server = lab.serve().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let mut read = 0;
    {
        let _swapper = Swapper::start(lab.work().join("d"), lab.work().join("e"));
        for _ in 0..150 {
            for prompt in ["read d/f", "search for secret in d"] {
                let said = declined_turn(&mut client, &thread, prompt).await;
                assert!(!said.contains("HIDDEN"), "{prompt}: {said}");
                read += usize::from(said.contains("open secret"));
            }
        }
    }
    assert!(read > 0, "the directory is read while it is in its place");
    server.kill().await;
}

#[tokio::test]
async fn a_link_that_stays_inside_is_followed_whether_absolute_or_not() {
    let lab = Lab::new(Bubblewrap::Off);
    lab.write("real/f", "earl grey\n");
    symlink("real", lab.work().join("near")).unwrap();
    symlink(lab.work().join("real"), lab.work().join("far")).unwrap();
    for prompt in [
        "read near/f",
        "read far/f",
        "search for grey in near",
        "search for grey in far",
    ] {
        let output = run(&lab, &["exec", prompt]).await;
        assert!(
            written(&output).contains("earl grey"),
            "{prompt}: {}",
            written(&output)
        );
    }
}

/// Runs a Turn, accepting what is asked; returns its id.
async fn accepted_turn(client: &mut Client, thread: &str, prompt: &str) -> String {
    let turn = client.start_turn(thread, prompt).await;
    loop {
        let message = tokio::time::timeout(PATIENCE, client.next())
            .await
            .expect("the turn goes on")
            .expect("the connection stays");
        match message["method"].as_str() {
            Some("item/approval/request") => {
                client.reply(&message, json!({ "decision": "accept" })).await;
            }
            Some("turn/completed" | "turn/failed" | "turn/cancelled") => return turn,
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_turn_whose_command_makes_files_large_or_unreadable_is_undone() {
    let lab = Lab::new(Bubblewrap::Off);
    for name in ["grown", "locked", "other"] {
        lab.write(name, "before");
    }
    let server = lab.serve().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let prompt = "run `truncate -s 20M grown; chmod 000 locked; echo after > other`";
    let turn = accepted_turn(&mut client, &thread, prompt).await;
    let request = json!({ "threadId": thread, "turnId": turn, "force": true });
    client.call("turn/revert", request).await;
    for name in ["grown", "locked", "other"] {
        let path = lab.work().join(name);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "before", "{name}");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o400, 0o400, "{name}");
    }
    server.kill().await;
}

#[tokio::test]
async fn a_turn_that_was_open_at_two_crashes_in_a_row_fails_with_a_message() {
    let lab = Lab::new(Bubblewrap::Off);
    // A provider that takes every request and answers none.
    let provider = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = provider.local_addr().unwrap();
    lab.configure(&json!({
        "Model": "silent/m",
        "Providers": { "silent": { "Wire": "chat", "BaseUrl": format!("http://{address}/v1"), "ContextWindow": 20_000 } },
    }));
    let mut taken = Vec::new();
    let server = lab.serve().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "go on for ever").await;
    taken.push(provider.accept().await.unwrap());
    server.kill().await;
    // Once it is taken up.
    let server = lab.serve().await;
    let again = tokio::time::timeout(PATIENCE, provider.accept()).await;
    taken.push(again.expect("the turn is taken up").unwrap());
    server.kill().await;
    let server = lab.serve().await;
    let mut client = server.client().await;
    let read = client
        .call("thread/read", json!({ "threadId": thread, "includeTurns": true }))
        .await;
    let turn = &read["thread"]["turns"][0];
    assert_eq!(turn["status"], "failed", "{turn:#}");
    assert!(turn.to_string().contains("crashed twice"), "{turn:#}");
    server.kill().await;
}

#[tokio::test]
async fn a_file_that_other_programs_run_is_not_written_unasked() {
    let lab = Lab::new(Bubblewrap::Off);
    let rule = json!({ "Action": "allow", "Path": ".vscode/extensions.json", "Operation": "write" });
    for policy in ["default", "sandboxed"] {
        lab.configure(&json!({ "Permissions": { "DefaultApprovalPolicy": policy, "Rules": [rule] } }));
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        for path in [
            ".vscode/tasks.json",
            ".vscode/settings.json",
            "sub/.vscode/launch.json",
            ".claude/settings.json",
            ".cursor/mcp.json",
            ".codex/config.toml",
            ".mcp.json",
            ".envrc",
            ".devcontainer/devcontainer.json",
            ".husky/pre-commit",
            ".idea/workspace.xml",
            ".github/workflows/ci.yml",
            ".cargo/config.toml",
            ".npmrc",
            "mise.toml",
            "id_rsa",
            ".netrc",
        ] {
            let said = declined_turn(&mut client, &thread, &format!("write `{path}`: evil")).await;
            assert!(said.contains("ther programs run"), "{policy} {path}: {said}");
            assert!(!lab.work().join(path).exists(), "{policy} {path}");
        }
        for path in ["src/lib.rs", ".env", ".gitignore", ".vscode/extensions.json"] {
            let said = declined_turn(&mut client, &thread, &format!("write `{path}`: tea")).await;
            assert!(lab.work().join(path).exists(), "{policy} {path}: {said}");
            std::fs::remove_file(lab.work().join(path)).unwrap();
        }
        server.kill().await;
    }
}

#[tokio::test]
async fn the_file_tools_make_no_repository_unasked_and_change_the_settings_of_none() {
    let lab = Lab::new(Bubblewrap::Off);
    lab.write(".bare/HEAD", "ref: refs/heads/main");
    lab.write(".bare/worktrees/main/HEAD", "ref: refs/heads/main");
    let server = lab.serve().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    for path in [
        "docs/HEAD",
        "HEAD",
        "lib.git/HEAD",
        ".bare/config",
        ".bare/config.worktree",
        ".bare/hooks/pre-commit",
        ".bare/worktrees/main/commondir",
    ] {
        let said = declined_turn(&mut client, &thread, &format!("write `{path}`: evil")).await;
        assert!(said.contains("ther programs run"), "{path}: {said}");
        assert!(!lab.work().join(path).exists(), "{path}");
    }
    for path in [
        "docs/config",
        "docs/hooks/use.ts",
        "docs/objects/x",
        "docs/refs/x",
    ] {
        let said = declined_turn(&mut client, &thread, &format!("write `{path}`: tea")).await;
        assert!(lab.work().join(path).exists(), "{path}: {said}");
    }
    server.kill().await;
}

#[tokio::test]
async fn a_link_hides_no_name_that_is_asked_about_or_refused() {
    let lab = Lab::new(Bubblewrap::Off);
    let rule = json!({ "Action": "deny", "Path": "closed/**" });
    lab.configure(&json!({ "Permissions": { "Rules": [rule] } }));
    lab.write("conf/vs/keep", "");
    lab.write("open/note", "a note");
    lab.write("inner/keep", "");
    for (link, to) in [
        (".vscode", "conf/vs"),
        ("closed", "open"),
        ("inner/out", "../.vscode"),
    ] {
        std::os::unix::fs::symlink(to, lab.work().join(link)).unwrap();
    }
    let server = lab.serve().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let said = declined_turn(&mut client, &thread, "write `.vscode/tasks.json`: evil").await;
    assert!(said.contains("ther programs run"), "{said}");
    assert!(!lab.work().join("conf/vs/tasks.json").exists());
    let said = declined_turn(&mut client, &thread, "write `inner/../.vscode/a.json`: evil").await;
    assert!(!lab.work().join("conf/vs/a.json").exists(), "{said}");
    let said = declined_turn(&mut client, &thread, "write `closed/note`: evil").await;
    assert_eq!(
        std::fs::read_to_string(lab.work().join("open/note")).unwrap(),
        "a note",
        "{said}"
    );
    let said = declined_turn(&mut client, &thread, "write `conf/vs/plain`: tea").await;
    assert!(lab.work().join("conf/vs/plain").exists(), "{said}");
    server.kill().await;
}
