//! What is done with a job at a moment: pure, so that sleep of the machine, a clock that jumps and late looks are rows of a table.
//!
//! However many times of a job have passed, it runs once or not at all, and is then due in the future. A job whose last run
//! still goes on is left out until its next time.

use bobbin_model::UnixMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schedule::{BadSchedule, Schedule};

/// How late a job may come and still be on time: more than the pause between two looks at the clock.
pub(crate) const ON_TIME_MS: i64 = 60_000;
/// A clock that was set back by more than this was wrong before: due times follow the new time.
const CLOCK_CORRECTED_MS: i64 = 3_600_000;

/// What becomes of a time that passed while no server ran, or the machine slept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MissedRun {
    /// The job runs once, late, however many times have passed.
    #[default]
    Run,
    /// The job waits for its next time.
    Skip,
}

/// The times of a job.
#[derive(Debug, Clone)]
pub(crate) struct Times<'a> {
    /// Its schedule; without one it runs once.
    pub(crate) schedule: Option<&'a Schedule>,
    /// When it is due.
    pub(crate) due: UnixMillis,
    /// The wall clock when `due` was worked out.
    pub(crate) set_at: UnixMillis,
    /// What happens to a missed time.
    pub(crate) when_missed: MissedRun,
    /// Whether a run of it goes on.
    pub(crate) running: bool,
}

/// What is done with a job now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Wait,
    /// It runs.
    Run {
        /// By how much it is late, where that is worth a word.
        late_ms: Option<i64>,
    },
    /// It does not run this time.
    LeaveOut(LeftOut),
    /// It gets another due time, since the clock was corrected.
    Correct,
}

/// Why a job does not run at a time of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// Its last run goes on.
    StillRunning,
    /// The time was missed, and it does not make up for that.
    Missed,
}

impl Times<'_> {
    /// Decides what is done now.
    pub(crate) fn look(&self, now: UnixMillis) -> Verdict {
        if self.set_at.0.saturating_sub(now.0) > CLOCK_CORRECTED_MS {
            return Verdict::Correct;
        }
        if self.due > now {
            return Verdict::Wait;
        }
        let late = now.0.saturating_sub(self.due.0);
        let late_ms = (late > ON_TIME_MS).then_some(late);
        if self.running {
            Verdict::LeaveOut(LeftOut::StillRunning)
        } else if late_ms.is_some() && self.when_missed == MissedRun::Skip {
            Verdict::LeaveOut(LeftOut::Missed)
        } else {
            Verdict::Run { late_ms }
        }
    }

    /// Returns when it is due next, once `verdict` has been carried out; `None` when never again.
    ///
    /// # Errors
    /// As [`Schedule::next`].
    pub(crate) fn next(&self, verdict: Verdict, now: UnixMillis) -> Result<Option<UnixMillis>, BadSchedule> {
        match (verdict, self.schedule) {
            (Verdict::Wait, _) => Ok(Some(self.due)),
            // What runs once has not run yet.
            (Verdict::Correct, None) => Ok(Some(now)),
            (Verdict::Correct, Some(schedule)) => schedule.first(now).map(Some),
            (Verdict::Run { .. } | Verdict::LeaveOut(_), None) => Ok(None),
            (Verdict::Run { .. } | Verdict::LeaveOut(_), Some(schedule)) => schedule.next(self.due, now),
        }
    }
}
