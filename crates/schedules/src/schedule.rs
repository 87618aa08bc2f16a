//! Schedules of jobs: pure functions of a schedule and the wall clock.
//!
//! `croner` reads a daily time and a cron expression in their time zone. A time that a change of the clock skips comes at the
//! first moment after it; a time that the change repeats comes once. An interval counts from its last due time, so a late run
//! does not delay later runs.

use std::fmt;

use bobbin_model::UnixMillis;
use croner::Cron;
use croner::parser::{CronParser, Seconds};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

/// Shortest interval of a job: each run is at least one request to a model.
pub(crate) const MIN_EVERY_MS: i64 = 60_000;
/// Longest interval and delay, in milliseconds: ten years, so that sums of times do not overflow.
const MAX_EVERY_MS: i64 = 10 * 366 * 86_400_000;
/// Longest cron expression, in bytes.
const MAX_EXPRESSION: usize = 200;

/// Schedule of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Schedule {
    /// Runs at an interval.
    Every {
        /// Milliseconds between two runs.
        every_ms: i64,
        /// Milliseconds before the first run, if they differ.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        initial_delay_ms: Option<i64>,
    },
    /// Runs once.
    At {
        /// Unix milliseconds.
        at_ms: i64,
    },
    /// Runs every day at a time of the clock.
    Daily {
        /// 0 to 23.
        daily_hour: u8,
        /// 0 to 59.
        daily_minute: u8,
        /// IANA name; UTC if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tz: Option<String>,
    },
    /// Runs by a cron expression of five fields.
    Cron {
        /// The expression.
        expr: String,
        /// IANA name; UTC if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tz: Option<String>,
    },
}

/// Reason why a schedule is invalid: a sentence for its author.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadSchedule(pub(crate) String);

impl Schedule {
    /// Checks a new schedule.
    ///
    /// # Errors
    /// [`BadSchedule`] for values out of range, unknown time zones and expressions that cannot be read or never come.
    pub(crate) fn check(&self, now: UnixMillis) -> Result<(), BadSchedule> {
        let bad = |why: String| Err(BadSchedule(why));
        match self {
            Self::Every { every_ms, .. } if !(MIN_EVERY_MS..=MAX_EVERY_MS).contains(every_ms) => {
                bad("An interval is at least a minute and at most ten years.".to_owned())
            }
            Self::Every {
                initial_delay_ms: Some(delay),
                ..
            } if !(0..=MAX_EVERY_MS).contains(delay) => {
                bad("The delay of the first run is not negative and at most ten years.".to_owned())
            }
            Self::At { at_ms } if at_ms.checked_sub(now.0).is_none_or(|wait| wait > MAX_EVERY_MS) => {
                bad("The time is more than ten years away.".to_owned())
            }
            Self::Daily {
                daily_hour,
                daily_minute,
                ..
            } if *daily_hour > 23 || *daily_minute > 59 => {
                bad("A daily time has an hour from 0 to 23 and a minute from 0 to 59.".to_owned())
            }
            Self::Cron { expr, .. } if expr.len() > MAX_EXPRESSION => bad(format!(
                "A cron expression is at most {MAX_EXPRESSION} bytes long."
            )),
            _ => self.after(now).map(drop),
        }
    }

    /// Returns when a new job is first due.
    ///
    /// # Errors
    /// As [`Schedule::check`].
    pub(crate) fn first(&self, now: UnixMillis) -> Result<UnixMillis, BadSchedule> {
        match self {
            Self::Every {
                every_ms,
                initial_delay_ms,
            } => Ok(UnixMillis(
                now.0.saturating_add(initial_delay_ms.unwrap_or(*every_ms)),
            )),
            Self::At { at_ms } => Ok(UnixMillis(*at_ms)),
            Self::Daily { .. } | Self::Cron { .. } => self.after(now),
        }
    }

    /// Returns the next time of a job that was due at `due` and has been handled; `None` if there is none.
    ///
    /// # Errors
    /// The time zone is no longer known, or the expression never comes again.
    pub(crate) fn next(&self, due: UnixMillis, now: UnixMillis) -> Result<Option<UnixMillis>, BadSchedule> {
        match self {
            Self::At { .. } => Ok(None),
            Self::Every { every_ms, .. } => {
                let every = (*every_ms).max(1);
                let passed = now.0.saturating_sub(due.0).max(0) / every + 1;
                Ok(Some(UnixMillis(
                    due.0.saturating_add(every.saturating_mul(passed)),
                )))
            }
            // After both, so that a clock that was set back a little does not repeat the same time.
            Self::Daily { .. } | Self::Cron { .. } => self.after(due.max(now)).map(Some),
        }
    }

    /// Returns the time between two runs that stand for all, in milliseconds.
    pub(crate) fn interval(&self) -> i64 {
        let first = self.after(UnixMillis(0));
        let next = first.clone().and_then(|first| self.after(first));
        match (first, next) {
            (Ok(first), Ok(next)) => next.0.saturating_sub(first.0).max(MIN_EVERY_MS),
            _ => MIN_EVERY_MS,
        }
    }

    /// Returns the first time after a moment.
    fn after(&self, moment: UnixMillis) -> Result<UnixMillis, BadSchedule> {
        let (expression, tz) = match self {
            Self::Every { every_ms, .. } => return Ok(UnixMillis(moment.0.saturating_add(*every_ms))),
            Self::At { at_ms } => return Ok(UnixMillis(*at_ms)),
            Self::Daily {
                daily_hour,
                daily_minute,
                tz,
            } => (format!("{daily_minute} {daily_hour} * * *"), tz),
            Self::Cron { expr, tz } => (expr.clone(), tz),
        };
        let found = cron(&expression)?.find_next_occurrence(&zoned(moment, tz.as_deref())?, false);
        let found = found.map_err(|_| BadSchedule(format!("There is no time that '{expression}' comes.")))?;
        Ok(UnixMillis(found.timestamp().as_millisecond()))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = |tz: &Option<String>| tz.clone().unwrap_or_else(|| "UTC".to_owned());
        match self {
            Self::Every { every_ms, .. } if every_ms % 60_000 == 0 => {
                write!(f, "every {} minutes", every_ms / 60_000)
            }
            Self::Every { every_ms, .. } => write!(f, "every {} seconds", every_ms / 1000),
            Self::At { at_ms } => match Timestamp::from_millisecond(*at_ms) {
                Ok(at) => write!(f, "once at {at:.0}"),
                Err(_) => f.write_str("once"),
            },
            Self::Daily {
                daily_hour,
                daily_minute,
                tz,
            } => write!(f, "daily at {daily_hour:02}:{daily_minute:02} {}", zone(tz)),
            Self::Cron { expr, tz } => write!(f, "at '{expr}' {}", zone(tz)),
        }
    }
}

fn cron(expression: &str) -> Result<Cron, BadSchedule> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).build();
    let parsed = parser.parse(expression);
    parsed.map_err(|error| {
        BadSchedule(format!(
            "'{expression}' is no cron expression of five fields (minute, hour, day, month, weekday): {error}."
        ))
    })
}

fn zoned(at: UnixMillis, tz: Option<&str>) -> Result<Zoned, BadSchedule> {
    let zone = match tz.map(str::trim).filter(|name| !name.is_empty()) {
        None => TimeZone::UTC,
        Some(name) => TimeZone::get(name).map_err(|_| {
            BadSchedule(format!(
                "The time zone '{name}' is not known on the server's machine; name one as 'Europe/Oslo'."
            ))
        })?,
    };
    let at =
        Timestamp::from_millisecond(at.0).map_err(|_| BadSchedule("The time is out of range.".to_owned()))?;
    Ok(at.to_zoned(zone))
}
