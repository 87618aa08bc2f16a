//! Decides whether a job runs now. Pure, so that a sleeping machine, a clock that jumps and a late look are rows of a table.
//!
//! If several times of a job have passed, the job runs once or not at all; its next due time is in the future. A job whose
//! last run still goes on skips this time.

use bobbin_model::UnixMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schedule::{BadSchedule, Schedule};

/// Longest delay of a job that still counts as on time; longer than the pause between two looks at the clock.
pub(crate) const ON_TIME_MS: i64 = 60_000;
/// Smallest backward correction of the clock, in milliseconds, after which due times follow the new time.
const CLOCK_CORRECTED_MS: i64 = 3_600_000;

/// Policy for a time that passed while no server ran or the machine slept.
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
    /// Its schedule; `None` if it runs once.
    pub(crate) schedule: Option<&'a Schedule>,
    /// When it is due.
    pub(crate) due: UnixMillis,
    /// The wall clock when `due` was computed.
    pub(crate) set_at: UnixMillis,
    /// Policy for a missed time.
    pub(crate) when_missed: MissedRun,
    /// Whether the job is running.
    pub(crate) running: bool,
}

/// Decision about a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is not due.
    Wait,
    /// It runs.
    Run {
        /// Its delay in milliseconds, if it is more than on time.
        late_ms: Option<i64>,
    },
    /// It skips this time.
    LeaveOut(LeftOut),
    /// Its due time is computed again, since the clock was corrected.
    Correct,
}

/// Reason why a job skips a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// Its last run still goes on.
    StillRunning,
    /// The time was missed, and the job does not catch up.
    Missed,
}

impl Times<'_> {
    /// Decides about the job at `now`.
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

    /// Returns the due time after `verdict`, or `None` if the job never runs again.
    ///
    /// # Errors
    /// As [`Schedule::next`].
    pub(crate) fn next(&self, verdict: Verdict, now: UnixMillis) -> Result<Option<UnixMillis>, BadSchedule> {
        match (verdict, self.schedule) {
            (Verdict::Wait, _) => Ok(Some(self.due)),
            // A job that runs once has not run yet.
            (Verdict::Correct, None) => Ok(Some(now)),
            (Verdict::Correct, Some(schedule)) => schedule.first(now).map(Some),
            (Verdict::Run { .. } | Verdict::LeaveOut(_), None) => Ok(None),
            (Verdict::Run { .. } | Verdict::LeaveOut(_), Some(schedule)) => schedule.next(self.due, now),
        }
    }
}
