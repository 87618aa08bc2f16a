//! A client that loses its connection at any byte, repeats everything, and reads on from where it stopped, while the
//! server is killed under it at any step or any moment, its disk takes nothing for a while, and another client reads
//! nothing. In the end it knows what the store knows, and nothing happened twice.
//!
//! `cargo xtask chaos --rounds 200` for the long form. The seed of a round that fails is in its message;
//! `cargo xtask chaos --seed SEED` plays that round alone.

use std::collections::BTreeMap;
use std::time::Duration;

use bobbin_testkit::Postgres;
use serde_json::json;

use crate::chaos_client::{Broken, Knowledge, Line, Op, Random, Wire, check};
use crate::support::{Process, Workspace, not_tested};

/// Things to do in a round.
const OPS: usize = 6;
/// Seconds of the lease in a PostgreSQL.
const LEASE: u64 = 3;
/// Rounds of the short form.
const ROUNDS: u64 = 3;
/// Connections after which a round has failed.
const MOST_CONNECTIONS: u64 = 400;
/// How long a connection may stand still.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a round does, in an order of its own.
fn script(random: &mut Random) -> Vec<Op> {
    let op = |number: usize, random: &mut Random| match random.below(8) {
        0 => Op::Turn("repeat 1500 word".to_owned()),
        1 => Op::Queue(format!("run `echo {number} >> done.txt`")),
        2 => Op::Stop("run `sleep 0`".to_owned()),
        3 => Op::Rename(format!("title {number}")),
        4 => Op::Archive,
        5 => Op::Delete,
        _ => Op::Turn(format!("run `echo {number} >> done.txt`")),
    };
    (0..OPS).map(|number| op(number, random)).collect()
}

/// What happened in a round.
#[derive(Debug, Default)]
struct Tally {
    connections: u64,
    kills: u64,
    steps: Vec<String>,
    full: u64,
    /// Why connections ended, and how many did so.
    ends: BTreeMap<String, u64>,
}

struct Round {
    workspace: Workspace,
    server: Option<Process>,
    random: Random,
    stdio: bool,
    tally: Tally,
    /// A client that has asked for everything and reads nothing.
    stalled: Option<Wire>,
}

impl Round {
    /// Makes a connection that breaks after some bytes, to a new server if there is none.
    async fn connect(&mut self, bytes: u64, thread: Option<&str>) -> Option<Wire> {
        if self.stdio {
            // Its end of input ends such a server; what it was doing is stopped, or goes on in the next.
            if let Some(mut before) = self.server.take() {
                if self.random.below(2) == 0 {
                    before.kill_now().await;
                    self.tally.kills += 1;
                } else {
                    before.exit().await;
                }
            }
            self.reap();
            let (server, reader, writer) = self.workspace.stdio_armed();
            self.server = Some(server);
            return Some(Wire::lines(reader, writer, bytes));
        }
        if self.server.as_mut().is_none_or(Process::is_over) {
            self.reap();
            self.server = Some(self.workspace.web_socket_armed());
            self.stalled = None;
        }
        let Some(address) = self.server.as_mut()?.listening().await else {
            *self
                .tally
                .ends
                .entry("it ended as it started".to_owned())
                .or_default() += 1;
            return None;
        };
        if let Some(thread) = thread.filter(|_| self.stalled.is_none()) {
            let stalling = tokio::time::timeout(PATIENCE, stall(&address, thread));
            self.stalled = stalling.await.ok().flatten();
        }
        let connected = Wire::socket(&address, bytes).await;
        connected
            .map_err(|Broken(why)| *self.tally.ends.entry(why).or_default() += 1)
            .ok()
    }

    /// Takes note of where a server has died.
    fn reap(&mut self) {
        let died = self.workspace.kill_at().with_extension("died");
        if let Ok(step) = std::fs::read_to_string(&died) {
            self.tally.steps.push(step);
            std::fs::remove_file(died).unwrap();
        }
        drop(std::fs::remove_file(self.workspace.kill_at()));
    }

    /// Makes some trouble for the next connection.
    async fn trouble(&mut self) {
        match self.random.below(6) {
            0 | 1 => {
                let step = self.random.below(120) + 1;
                std::fs::write(self.workspace.kill_at(), format!("any {step}")).unwrap();
            }
            2 if !self.stdio => {
                if let Some(server) = &mut self.server {
                    server.kill_now().await;
                    self.tally.kills += 1;
                }
            }
            3 if !self.stdio => {
                let log = self.workspace.database().with_extension("db-wal");
                if let (Some(server), Ok(log)) = (&self.server, std::fs::metadata(log)) {
                    self.tally.full += u64::from(server.limit_files(Some(log.len())));
                }
            }
            _ => {}
        }
    }

    /// Lets things be for the rest of a connection.
    fn relent(&self) {
        if let Some(server) = &self.server {
            server.limit_files(None);
        }
    }
}

/// Makes a client that subscribes and then reads nothing.
async fn stall(address: &str, thread: &str) -> Option<Wire> {
    let mut nothing = Knowledge::default();
    let wire = Wire::socket(address, u64::MAX).await.ok()?;
    let mut line = Line::new(wire, &mut nothing, "stalled");
    line.hello().await.ok()?;
    let subscribe = json!({ "threadId": thread, "afterSeq": 0 });
    line.call("thread/subscribe", subscribe).await.ok()?;
    Some(line.wire)
}

/// Plays a round, with the conversations in a PostgreSQL if there is an address of one.
async fn round(seed: u64, database: Option<&str>) {
    let mut random = Random(seed);
    let script = script(&mut random);
    let stdio = random.below(4) == 0;
    let mut round = Round {
        workspace: Workspace::new(),
        server: None,
        random,
        stdio,
        tally: Tally::default(),
        stalled: None,
    };
    if let Some(url) = database {
        let settings = json!({ "Database": { "Url": url, "LeaseSeconds": LEASE } });
        round.workspace.configure(&settings);
    }
    let mut known = Knowledge::default();
    loop {
        round.tally.connections += 1;
        let connections = round.tally.connections;
        assert!(
            connections < MOST_CONNECTIONS,
            "seed {seed}: it does not come to an end; {}; {:?}",
            known.waits_for,
            round.tally
        );
        let calm = connections > MOST_CONNECTIONS / 2;
        // Ever longer, so that every round ends.
        let bytes = 300 + round.random.below(4000) * connections.div_ceil(4) * connections.div_ceil(12);
        let Some(wire) = round.connect(bytes, known.thread.as_deref()).await else {
            // A process that is killed takes a while to be gone on a busy machine.
            tokio::time::sleep(Duration::from_millis(u64::from(calm) * 200 + 5)).await;
            continue;
        };
        if !calm {
            round.trouble().await;
        }
        let mut line = Line::new(wire, &mut known, "chaos");
        let work = line.work(&script);
        let relents = async {
            tokio::time::sleep(Duration::from_millis(60)).await;
            round.relent();
            std::future::pending::<()>().await;
        };
        let done: Result<Result<(), Broken>, _> = tokio::time::timeout(PATIENCE, async {
            tokio::select! {
                done = work => done,
                () = relents => unreachable!("it waits for ever"),
            }
        })
        .await;
        round.relent();
        match done {
            Ok(Ok(())) => break,
            Ok(Err(Broken(why))) => *round.tally.ends.entry(why).or_default() += 1,
            Err(late) => panic!(
                "seed {seed}: a connection stands still ({late}); {}",
                known.waits_for
            ),
        }
    }
    round.reap();
    let tally = &round.tally;
    let told = format!(
        "seed {seed}, {}: {} connections, {} kills at a moment, {} at a step {:?}, {} times no room, {} snapshots",
        if stdio { "stdio" } else { "WebSocket" },
        tally.connections,
        tally.kills,
        tally.steps.len(),
        tally.steps,
        tally.full,
        known.snapshots
    );
    println!("{told}");
    if tally.connections > 60 {
        println!("{:?} {script:?}", tally.ends);
    }
    loop {
        let Some(wire) = round.connect(u64::MAX, None).await else {
            continue;
        };
        if check(wire, &known, &script, &told).await.is_ok() {
            break;
        }
    }
    // Interrupted, a command may have run or not; never twice.
    let done = std::fs::read_to_string(round.workspace.path().join("done.txt")).unwrap_or_default();
    for number in 0..OPS {
        let times = done.lines().filter(|line| *line == number.to_string()).count();
        assert!(times <= 1, "{told}: prompt {number} ran {times} times");
    }
}

#[tokio::test]
async fn whatever_breaks_the_client_ends_with_what_the_store_has() {
    for seed in seeds() {
        round(seed, None).await;
    }
}

#[tokio::test]
async fn whatever_breaks_the_client_ends_with_what_the_database_has() {
    let Some(server) = Postgres::start() else {
        return not_tested("PostgreSQL is not installed in /usr/lib/postgresql");
    };
    for seed in seeds() {
        let address = server.database(&format!("chaos{seed}"));
        round(seed, Some(&address)).await;
    }
}

fn seeds() -> impl Iterator<Item = u64> {
    let rounds = from_outside("BOBBIN_CHAOS_ROUNDS").unwrap_or(ROUNDS);
    // A row of zeros would never leave zero.
    let first = from_outside("BOBBIN_CHAOS_SEED").unwrap_or(1).max(1);
    (first..).take(usize::try_from(rounds).unwrap())
}

/// A number that whoever starts the tests may give.
#[expect(
    clippy::disallowed_methods,
    reason = "how long to go on, and from where, is said from outside"
)]
pub(crate) fn from_outside(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {value}")),
    )
}
