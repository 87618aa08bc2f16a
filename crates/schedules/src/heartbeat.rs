//! The heartbeat: one job of the workspace that reads `HEARTBEAT.md`. Only a client starts it, not the clock.

use bobbin_model::ThreadConfig;
use tokio::sync::oneshot;

use crate::job::{Job, Key, Kind, Rights, RunEnd, State};
use crate::owner::{ScheduleError, Schedules};

impl Schedules {
    /// Runs the heartbeat, or joins its present run. Returns how the run ended.
    pub(crate) async fn beat(&self) -> Result<RunEnd, ScheduleError> {
        let around = self.around().ok_or(ScheduleError::Stopping)?;
        let approvals = around.threads.settings().approval_policy.get();
        let (done, ended) = oneshot::channel();
        // Registered before the run starts, so that its end finds this waiter.
        self.await_beat(done);
        let key = Key::new(Kind::Heartbeat, Kind::Heartbeat.as_str());
        self.ask(move |book, now| {
            let known = book.job(key.kind, &key.id).ok();
            if known.is_some_and(|job| job.state.run.is_some()) {
                return Ok((Vec::new(), ()));
            }
            let mut job = known.map_or_else(
                || Job {
                    kind: key.kind,
                    id: key.id.clone(),
                    name: key.id.clone(),
                    schedule: None,
                    prompt: String::new(),
                    rights: Rights {
                        config: ThreadConfig::default(),
                        approvals,
                    },
                    enabled: true,
                    delete_after_run: false,
                    when_missed: crate::due::MissedRun::Skip,
                    created_at: now,
                    updated_at: now,
                    changes: 0,
                    deliver: None,
                    task: None,
                    state: State::default(),
                },
                |job| (**job).clone(),
            );
            // The user who triggers it is its author.
            job.rights.approvals = approvals;
            job.state.wanted_now = true;
            Ok((vec![crate::book::Change::Put(Box::new(job))], ()))
        })
        .await?;
        ended.await.map_err(|_| ScheduleError::Stopping)
    }
}
