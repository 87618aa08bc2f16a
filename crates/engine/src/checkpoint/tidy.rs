//! What the shadow repository forgets: steps older than [`KEPT`], the oldest beyond [`MAX_STEPS`], and the older half
//! while it takes more than [`MAX_KIB`] of disk.
//!
//! Every [`PAUSE`], beside everything else; a server that is started sooner after the last time waits for the rest of it,
//! so that many short runs tidy like one long one: git collects what nothing refers to and
//! what was written an hour ago or before, so nothing that a step is just writing goes. A Turn whose steps went keeps
//! a mark, so that undoing it says so instead of doing nothing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::git::{GitError, Job};
use super::shadow::{Checkpoints, TIME, chain};

/// How long a step is kept.
const KEPT: Duration = Duration::from_hours(14 * 24);
/// Most steps.
const MAX_STEPS: usize = 10_000;
/// Most disk, in KiB: 1 GiB.
const MAX_KIB: u64 = 1 << 20;
/// Loose objects from which they are put together.
const MANY_LOOSE: u64 = 2_000;
/// Time between two looks at what is old.
const PAUSE: Duration = Duration::from_hours(6);
/// Longest run of git that puts things together.
const GC_TIME: Duration = Duration::from_mins(2);
/// Most halvings at a time.
const HALVINGS: u32 = 4;

/// Returns how long ago a file was written. One that is not there, or is of the future, says nothing.
fn since(file: &Path) -> Option<Duration> {
    file.metadata().ok()?.modified().ok()?.elapsed().ok()
}

impl Checkpoints {
    /// Tidies now and then, until the server stops.
    pub(super) async fn tidy_until_stopped(self: Arc<Self>) {
        let (mark, stop) = (self.mark(), self.stop.clone());
        let since = tokio::task::spawn_blocking(move || since(&mark)).await;
        let wait = since
            .ok()
            .flatten()
            .map_or(Duration::ZERO, |since| PAUSE.saturating_sub(since));
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
        loop {
            let tidied = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                tidied = self.tidy(KEPT, MAX_STEPS, MAX_KIB) => tidied,
            };
            match tidied {
                Ok(()) => {
                    // Without it the next start tidies at once.
                    drop(tokio::fs::write(self.mark(), "").await);
                }
                Err(error) => tracing::warn!(error = chain(&error), "cannot tidy the checkpoints"),
            }
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    /// Returns the file whose time says when this was done last.
    fn mark(&self) -> PathBuf {
        self.notes().with_file_name("tidied")
    }

    pub(super) async fn tidy(&self, kept: Duration, max_steps: usize, max_kib: u64) -> Result<(), GitError> {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
        let oldest = now.saturating_sub(kept).as_secs();
        let steps = self.all_steps().await?;
        let over = steps.len().saturating_sub(max_steps);
        let old = |(at, (time, _)): (usize, &(u64, String))| at < over || *time < oldest;
        let old: Vec<&str> = steps
            .iter()
            .enumerate()
            .filter(|step| old(*step))
            .map(|(_, (_, name))| name.as_str())
            .collect();
        self.drop_steps(&old).await?;
        let (loose, _) = self.size().await?;
        if !old.is_empty() || loose > MANY_LOOSE {
            self.collect().await?;
        }
        let mut before = u64::MAX;
        for _ in 0..HALVINGS {
            let (_, now) = self.size().await?;
            // What was written just now does not go yet, however much is forgotten.
            if now <= max_kib || now >= before {
                break;
            }
            before = now;
            let steps = self.all_steps().await?;
            let half: Vec<&str> = steps[..steps.len().div_ceil(2)]
                .iter()
                .map(|step| step.1.as_str())
                .collect();
            if half.is_empty() {
                break;
            }
            self.drop_steps(&half).await?;
            self.collect().await?;
        }
        Ok(())
    }

    /// Returns all steps that nobody works at with their times, oldest first.
    async fn all_steps(&self) -> Result<Vec<(u64, String)>, GitError> {
        let args = [
            "for-each-ref",
            "--sort=committerdate",
            "--format=%(committerdate:unix) %(refname)",
            "refs/steps/",
        ];
        let said = self.git.run(Job::new(args, TIME).up_to(32 << 20)).await?;
        let said = String::from_utf8_lossy(&said);
        let step = |line: &str| {
            let (time, name) = line.split_once(' ')?;
            Some((time.parse().ok()?, name.to_owned()))
        };
        let mut steps: Vec<(u64, String)> = said.lines().filter_map(step).collect();
        let open = self.of_open_looks(|looks| looks.names("refs/steps/")).await?;
        let open = open.into_iter().map(|(time, name)| {
            let since = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            (since.as_secs(), name)
        });
        steps.extend(open);
        steps.retain(|(_, name)| !self.alive.is_worked_at(name));
        steps.sort_by_key(|(time, _)| *time);
        Ok(steps)
    }

    async fn drop_steps(&self, names: &[&str]) -> Result<(), GitError> {
        if names.is_empty() {
            return Ok(());
        }
        let nothing = self
            .git
            .run(Job::new(["hash-object", "-w", "--stdin"], TIME))
            .await?;
        let nothing = String::from_utf8_lossy(&nothing).trim().to_owned();
        let looks: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        self.of_open_looks(move |open| looks.iter().try_for_each(|name| open.end(name)))
            .await?;
        let mut orders = String::new();
        let mut marked = "";
        for name in names {
            // Writing to a String cannot fail.
            let _ = writeln!(orders, "delete {name}");
            let turn = name.rsplit_once('/').map_or("", |(turn, _)| turn);
            if turn != marked
                && let Some(turn) = turn.strip_prefix("refs/steps/")
            {
                let _ = writeln!(orders, "update refs/forgotten/{turn} {nothing}");
            }
            marked = turn;
        }
        let job = Job::new(["update-ref", "--stdin"], GC_TIME).input(orders.into_bytes());
        self.git.run(job).await?;
        Ok(())
    }

    /// Returns the number of loose objects and the KiB of all objects.
    async fn size(&self) -> Result<(u64, u64), GitError> {
        let said = self.git.run(Job::new(["count-objects", "-v"], TIME)).await?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let figure = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.trim_start_matches(':').trim().parse::<u64>().ok())
                .unwrap_or_default()
        };
        Ok((figure("count:"), figure("size:") + figure("size-pack:")))
    }

    async fn collect(&self) -> Result<(), GitError> {
        self.git.run(Job::new(["pack-refs", "--all"], GC_TIME)).await?;
        let args = ["gc", "--quiet", "--prune=1.hour.ago"];
        self.git.run(Job::new(args, GC_TIME)).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bobbin_children::{Children, Environment};
    use bobbin_core::undo::{ChangedSince, RevertWish, Undo as _, UndoError};
    use bobbin_model::{ThreadId, TurnId};

    use super::*;
    use crate::checkpoint::shadow::place;
    use crate::tools::testing::Workspace;

    #[tokio::test]
    async fn what_is_forgotten_is_said_to_be_so_and_what_is_kept_can_be_undone() {
        let workspace = Workspace::new();
        let mut environment = Environment::empty();
        environment.set("PATH", "/usr/local/bin:/usr/bin:/bin");
        let children = Children::new(None).unwrap();
        let directory = workspace.outside().join("kept");
        let checkpoints = Checkpoints::open(&directory, workspace.root(), children, &environment)
            .await
            .unwrap();
        let thread = ThreadId::new("thread_1");
        let path = workspace.root().join("a");
        for turn in [1, 2] {
            let name = format!("{}000001", place(&thread, TurnId(turn)));
            let files = vec![path.clone()];
            let held = checkpoints
                .begin_files(&name, "c", workspace.root(), files, std::future::ready(()))
                .await
                .unwrap();
            workspace.write("a", &turn.to_string());
            checkpoints.close(&name, None, Some(held)).await.unwrap();
        }
        checkpoints.tidy(KEPT, 1, MAX_KIB).await.unwrap();
        let revert = |turn| {
            let wish = RevertWish {
                thread: thread.clone(),
                turn: TurnId(turn),
                root: workspace.root().to_owned(),
                changed_since: ChangedSince::Refuse,
            };
            checkpoints.revert(wish, tokio_util::sync::CancellationToken::new())
        };
        let gone = revert(1).await.unwrap_err();
        assert!(
            matches!(&gone, UndoError::NotDone(why) if why.contains("no longer kept")),
            "{gone}"
        );
        assert_eq!(revert(2).await.unwrap().files.len(), 1);
        assert_eq!(workspace.read("a"), "1");
        checkpoints.tidy(KEPT, 0, MAX_KIB).await.unwrap();
        assert!(checkpoints.all_steps().await.unwrap().is_empty());
        checkpoints.end().await;
    }
}
