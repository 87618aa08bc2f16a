//! Removes old records of the shadow repository: Turns older than [`MAX_AGE`], the oldest beyond [`MAX_STEPS`] calls,
//! and the older half while the repository exceeds [`MAX_KIB`] of disk.
//!
//! This runs every [`PAUSE`]. A server that starts sooner waits for the rest of the interval, so many short runs tidy
//! like one long run. A Turn is removed as a whole. Git collects unreferenced objects that are at least an hour old, so
//! a call that is being recorded loses nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::git::{GitError, Job};
use crate::repository::{Repository, TIME, chain};

/// How long a Turn can be undone.
const MAX_AGE: Duration = Duration::from_hours(14 * 24);
/// Most recorded calls.
const MAX_STEPS: usize = 10_000;
/// Most disk, in KiB: 2 GiB, twice the largest workspace.
const MAX_KIB: u64 = 2 << 20;
/// Number of loose objects from which they are packed.
const MANY_LOOSE: u64 = 2_000;
/// Number of packs from which git joins them: each server without an index writes one.
const MANY_PACKS: u64 = 20;
/// Time between two runs.
const PAUSE: Duration = Duration::from_hours(6);
/// Longest run of git that packs objects.
const GC_TIME: Duration = Duration::from_mins(5);
/// Most halvings in one run.
const HALVINGS: u32 = 4;

/// A Turn, by the refs of its calls.
#[derive(Debug, Default)]
struct TurnRefs {
    /// When its last call started, in milliseconds since 1970.
    newest: i64,
    steps: usize,
    refs: Vec<String>,
}

/// The size of a repository.
struct ObjectsSize {
    /// Number of loose objects.
    loose: u64,
    packs: u64,
    /// Disk of all objects.
    kib: u64,
}

impl Repository {
    /// Tidies regularly, until the server stops.
    pub(crate) async fn tidy_until_stopped(self: Arc<Self>) {
        let since = tokio::fs::metadata(self.mark())
            .await
            .and_then(|about| about.modified());
        let since = since.ok().and_then(|at| at.elapsed().ok());
        let mut wait = match since {
            Some(since) => PAUSE.saturating_sub(since),
            None if self.is_new().await => PAUSE,
            None => Duration::ZERO,
        };
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
            self.remove_earlier_versions().await;
            let tidied = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                tidied = self.tidy(MAX_AGE, MAX_STEPS, MAX_KIB) => tidied,
            };
            match tidied {
                // Without the mark, the next server tidies at once.
                Ok(()) => drop(tokio::fs::write(self.mark(), "").await),
                Err(error) => tracing::warn!(error = chain(&error), "cannot tidy the snapshots"),
            }
            wait = PAUSE;
        }
    }

    /// Returns whether no call was ever recorded, and marks the time then.
    async fn is_new(&self) -> bool {
        let directory = self.git.directory();
        for refs in ["refs/undo", "packed-refs"] {
            if tokio::fs::try_exists(directory.join(refs)).await.unwrap_or(true) {
                return false;
            }
        }
        tokio::fs::write(self.mark(), "").await.is_ok()
    }

    /// Removes the data of earlier versions in a neighbouring directory.
    async fn remove_earlier_versions(&self) {
        let directory: Option<&Path> = self.git.directory().parent();
        if let Some(directory) = directory {
            drop(tokio::fs::remove_dir_all(directory.join("checkpoints")).await);
        }
    }

    /// Returns the file whose time is that of the last run.
    fn mark(&self) -> PathBuf {
        self.git.directory().join("tidied")
    }

    pub(crate) async fn tidy(
        &self,
        max_age: Duration,
        max_steps: usize,
        max_kib: u64,
    ) -> Result<(), GitError> {
        let max_age = i64::try_from(max_age.as_millis()).unwrap_or(i64::MAX);
        let oldest = self.clock.now().0.saturating_sub(max_age);
        let turns = self.turns().await?;
        let mut over = turns.iter().map(|turn| turn.steps).sum::<usize>();
        let old = turns.iter().take_while(|turn| {
            let goes = over > max_steps || turn.newest < oldest;
            over -= turn.steps;
            goes
        });
        let old = old.count();
        self.remove(&turns[..old]).await?;
        let size = self.size().await?;
        if old > 0 || size.loose > MANY_LOOSE || size.packs > MANY_PACKS {
            self.collect().await?;
        }
        let mut before = u64::MAX;
        for _ in 0..HALVINGS {
            let now = self.size().await?.kib;
            let turns = self.turns().await?;
            // Recent objects stay for now, however many Turns are removed.
            if now <= max_kib || now >= before || turns.is_empty() {
                break;
            }
            before = now;
            self.remove(&turns[..turns.len().div_ceil(2)]).await?;
            self.collect().await?;
        }
        Ok(())
    }

    /// Returns all Turns, the oldest first.
    async fn turns(&self) -> Result<Vec<TurnRefs>, GitError> {
        let mut turns: BTreeMap<String, TurnRefs> = BTreeMap::new();
        for step in self.steps().await? {
            let turn = turns.entry(step.turn.clone()).or_default();
            turn.newest = turn.newest.max(step.start);
            turn.steps += 1;
            turn.refs.extend(step.names());
        }
        let mut turns: Vec<TurnRefs> = turns.into_values().collect();
        turns.sort_by_key(|turn| turn.newest);
        Ok(turns)
    }

    async fn remove(&self, turns: &[TurnRefs]) -> Result<(), GitError> {
        let mut orders = String::new();
        for name in turns.iter().flat_map(|turn| &turn.refs) {
            // Writing to a String cannot fail.
            let _ = writeln!(orders, "delete {name}");
        }
        if !orders.is_empty() {
            let job = Job::new(["update-ref", "--stdin"], GC_TIME).input(orders.into_bytes());
            self.git.run(job).await?;
        }
        Ok(())
    }

    async fn size(&self) -> Result<ObjectsSize, GitError> {
        let said = self.git.run(Job::new(["count-objects", "-v"], TIME)).await?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let figure = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.trim_start_matches(':').trim().parse::<u64>().ok())
                .unwrap_or_default()
        };
        Ok(ObjectsSize {
            loose: figure("count:"),
            packs: figure("packs:"),
            kib: figure("size:") + figure("size-pack:"),
        })
    }

    async fn collect(&self) -> Result<(), GitError> {
        self.git.run(Job::new(["pack-refs", "--all"], GC_TIME)).await?;
        let args = ["gc", "--quiet", "--prune=1.hour.ago"];
        self.git.run(Job::new(args, GC_TIME)).await?;
        Ok(())
    }
}
