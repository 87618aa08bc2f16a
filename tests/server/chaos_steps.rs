//! SIGKILL at every named durable step of everything a client can do: each operation is played once to see which steps it
//! reaches, then once for each of them with the server killed there.
//!
//! The client repeats what it asked for and reads on; in the end it knows what the store knows, every prompt has run once
//! and every command at most once.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::chaos_client::{Knowledge, Line, Op, Wire, check};
use crate::support::{Process, Workspace};

/// How long one operation may take, killed and repeated.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long it takes at most until what is new is indexed and what is deleted is gone.
const QUIET: Duration = Duration::from_millis(400);

/// A server that is started again whenever it is gone, and that can be told where to die.
struct Host {
    workspace: Workspace,
    server: Process,
    starts: usize,
}

impl Host {
    fn new() -> Self {
        let workspace = Workspace::new();
        Self {
            server: workspace.web_socket_armed(),
            workspace,
            starts: 1,
        }
    }

    fn order(&self, extension: &str) -> PathBuf {
        self.workspace.kill_at().with_extension(extension)
    }

    fn arm(&self, order: &str) {
        // Renamed into place: the server sees all of it or nothing.
        let new = self.order("new");
        std::fs::write(&new, order).unwrap();
        std::fs::rename(new, self.workspace.kill_at()).unwrap();
    }

    /// Takes the order back. Returns where the server has died by it, if it has.
    fn disarm(&self) -> Option<String> {
        drop(std::fs::remove_file(self.workspace.kill_at()));
        let died = std::fs::read_to_string(self.order("died")).ok();
        drop(std::fs::remove_file(self.order("died")));
        died
    }

    fn trace(&self) -> BTreeSet<String> {
        let trace = std::fs::read_to_string(self.order("trace")).unwrap_or_default();
        drop(std::fs::remove_file(self.order("trace")));
        trace.lines().map(str::to_owned).collect()
    }

    /// Connects, to a new server if there is none.
    async fn connect(&mut self) -> Wire {
        loop {
            if self.server.is_over() {
                self.server = self.workspace.web_socket_armed();
                self.starts += 1;
            }
            if let Some(address) = self.server.listening().await
                && let Ok(wire) = Wire::socket(&address, u64::MAX).await
            {
                return wire;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Plays a script to its end, whatever becomes of the server, and compares.
    async fn play(&mut self, name: &str, script: &[Op], told: &str) {
        let mut known = Knowledge::default();
        let played = async {
            loop {
                let wire = self.connect().await;
                if Line::new(wire, &mut known, name).work(script).await.is_ok() {
                    return;
                }
            }
        };
        assert!(
            tokio::time::timeout(PATIENCE, played).await.is_ok(),
            "{told}: it does not come to an end"
        );
        // What happens when nothing else does may come only now.
        let quiet = tokio::time::Instant::now() + QUIET;
        while self.workspace.kill_at().exists()
            && !self.server.is_over()
            && tokio::time::Instant::now() < quiet
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        loop {
            let late = self.connect().await;
            if check(late, &known, script, told).await.is_ok() {
                return;
            }
        }
    }

    /// How often a command of the scripts was run.
    fn runs(&self, word: &str) -> usize {
        let done = std::fs::read_to_string(self.workspace.path().join("done.txt")).unwrap_or_default();
        done.lines().filter(|line| *line == word).count()
    }
}

/// What is played: everything that a client can have recorded, each by itself.
fn scripts(word: &str) -> Vec<(&'static str, Vec<Op>)> {
    let command = format!("run `echo {word} >> done.txt`");
    vec![
        ("a turn with a command", vec![Op::Turn(command)]),
        ("a long answer", vec![Op::Turn("repeat 4000 word".to_owned())]),
        ("a queued input", vec![Op::Queue("say queued".to_owned())]),
        (
            "a turn that is stopped",
            vec![Op::Stop("run `sleep 0`".to_owned())],
        ),
        (
            "a title and the archive",
            vec![Op::Rename("chaos".to_owned()), Op::Archive],
        ),
        ("a thread that is deleted", vec![Op::Delete]),
    ]
}

/// Plays every step of one script. Returns the steps at which the server has died.
async fn every_step(number: usize) -> BTreeSet<String> {
    let mut host = Host::new();
    let (what, script) = scripts("traced").swap_remove(number);
    host.connect().await;
    host.arm("trace");
    host.play(&format!("{number}-traced"), &script, what).await;
    host.disarm();
    let mut deadly = BTreeSet::new();
    for step in host.trace() {
        let name = format!("{number}-{step}");
        let (_, script) = scripts(&name).swap_remove(number);
        let told = format!("{what}, killed at {step}");
        host.connect().await;
        host.arm(&format!("{step} 1"));
        host.play(&name, &script, &told).await;
        let died = host.disarm();
        deadly.extend(died);
        assert!(
            host.runs(&name) <= 1,
            "{told}: the command ran {} times",
            host.runs(&name)
        );
    }
    assert_eq!(host.runs("traced"), usize::from(number == 0));
    deadly
}

/// Steps that a server reaches as it starts and ends, with a Turn open.
async fn start_and_end() -> BTreeSet<String> {
    let mut host = Host::new();
    let mut deadly = BTreeSet::new();
    for step in ["Opened", "Recovering", "TakingUp", "BeforeClose"] {
        let script = [Op::Turn(format!("run `echo {step} >> done.txt`"))];
        let told = format!("started and ended, killed at {step}");
        let mut known = Knowledge::default();
        let wire = host.connect().await;
        let mut line = Line::new(wire, &mut known, step);
        line.accepts = false;
        // It waits for an answer that nobody gives.
        let waited = tokio::time::timeout(Duration::from_millis(1_500), line.work(&script)).await;
        assert!(waited.is_err(), "{told}: nobody was asked");
        if step == "BeforeClose" {
            host.arm(&format!("{step} 1"));
            host.server.end_softly();
            while !host.server.is_over() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        } else {
            host.server.kill_now().await;
            host.arm(&format!("{step} 1"));
        }
        host.play(step, &script, &told).await;
        deadly.extend(host.disarm());
        assert!(host.runs(step) <= 1, "{told}");
    }
    deadly
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_every_named_step_of_everything_loses_and_repeats_nothing() {
    let mut playing: Vec<_> = (0..scripts("").len())
        .map(|number| tokio::spawn(every_step(number)))
        .collect();
    playing.push(tokio::spawn(start_and_end()));
    let mut deadly = BTreeSet::new();
    for played in playing {
        deadly.extend(played.await.unwrap());
    }
    let named: BTreeSet<String> = bobbin_store::step::Step::ALL
        .iter()
        .map(|step| format!("{step:?}"))
        .collect();
    assert_eq!(
        named.difference(&deadly).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "no server died there"
    );
}
