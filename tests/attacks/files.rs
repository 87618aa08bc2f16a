//! Hostile files: what a workspace holds where a program expects a small text, and links that change under a reader.

use std::os::unix::fs::symlink;
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

fn text(output: &Output) -> String {
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
                let text = text(&output);
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
        assert!(output.status.code().is_some(), "{hostile:?}: {}", text(&output));
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
        assert!(text(&output).contains("earl grey"), "{prompt}: {}", text(&output));
    }
}
