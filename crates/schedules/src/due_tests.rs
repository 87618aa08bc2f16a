//! Due times as tables: both changes of daylight-saving time, sleep of the machine, jumps of the clock, long runs.

use bobbin_model::UnixMillis;
use jiff::Timestamp;

use crate::due::{LeftOut, MissedRun, Times, Verdict};
use crate::schedule::Schedule;

const HOUR: i64 = 3_600_000;

fn at(text: &str) -> UnixMillis {
    UnixMillis(text.parse::<Timestamp>().expect(text).as_millisecond())
}

fn shown(at: UnixMillis) -> String {
    Timestamp::from_millisecond(at.0).unwrap().to_string()
}

fn daily(hour: u8, minute: u8, tz: &str) -> Schedule {
    Schedule::Daily {
        daily_hour: hour,
        daily_minute: minute,
        tz: (!tz.is_empty()).then(|| tz.to_owned()),
    }
}

fn cron(expr: &str, tz: &str) -> Schedule {
    Schedule::Cron {
        expr: expr.to_owned(),
        tz: (!tz.is_empty()).then(|| tz.to_owned()),
    }
}

fn every(every_ms: i64) -> Schedule {
    Schedule::Every {
        every_ms,
        initial_delay_ms: None,
    }
}

/// Oslo skips 02:00 to 03:00 on 28 March 2027 and repeats it on 31 October 2027.
#[test]
fn local_times_follow_changes_of_the_clock() {
    let table = [
        // As on any day: summer time is two hours ahead, winter time one.
        (
            daily(7, 30, "Europe/Oslo"),
            "2027-03-27T12:00:00Z",
            "2027-03-28T05:30:00Z",
        ),
        (
            daily(7, 30, "Europe/Oslo"),
            "2027-10-30T12:00:00Z",
            "2027-10-31T06:30:00Z",
        ),
        // A skipped time comes at the first moment after it, on the same day.
        (
            daily(2, 30, "Europe/Oslo"),
            "2027-03-27T12:00:00Z",
            "2027-03-28T01:00:00Z",
        ),
        (
            daily(2, 30, "Europe/Oslo"),
            "2027-03-28T01:00:00Z",
            "2027-03-29T00:30:00Z",
        ),
        // A repeated time comes once, the first time.
        (
            daily(2, 30, "Europe/Oslo"),
            "2027-10-30T12:00:00Z",
            "2027-10-31T00:30:00Z",
        ),
        (
            daily(2, 30, "Europe/Oslo"),
            "2027-10-31T00:30:00Z",
            "2027-11-01T01:30:00Z",
        ),
        // Each hour of the day with 25 hours.
        (
            cron("0 * * * *", "Europe/Oslo"),
            "2027-10-31T00:00:00Z",
            "2027-10-31T01:00:00Z",
        ),
        // Half an hour: Lord Howe.
        (
            daily(2, 15, "Australia/Lord_Howe"),
            "2027-10-02T12:00:00Z",
            "2027-10-02T15:30:00Z",
        ),
        (daily(0, 0, ""), "2027-01-04T10:15:00Z", "2027-01-05T00:00:00Z"),
        // Friday evening to Monday.
        (
            cron("0 9 * * MON-FRI", "America/New_York"),
            "2027-01-08T20:00:00Z",
            "2027-01-11T14:00:00Z",
        ),
        (
            cron("0 0 29 2 *", ""),
            "2027-01-01T00:00:00Z",
            "2028-02-29T00:00:00Z",
        ),
    ];
    for (schedule, now, next) in table {
        assert_eq!(
            shown(schedule.first(at(now)).unwrap()),
            next,
            "{schedule:?} at {now}"
        );
    }
}

#[test]
fn schedules_that_cannot_be_used_say_why() {
    let table = [
        (every(59_999), "at least a minute"),
        (
            Schedule::Every {
                every_ms: HOUR,
                initial_delay_ms: Some(-1),
            },
            "not negative",
        ),
        (Schedule::At { at_ms: i64::MAX }, "ten years"),
        (daily(24, 0, ""), "hour from 0 to 23"),
        (daily(2, 0, "Europe/Atlantis"), "'Europe/Atlantis' is not known"),
        (cron("soon", ""), "five fields"),
        (cron("* * * * * *", ""), "five fields"),
        (cron("0 0 31 2 *", ""), "no time"),
        (cron(&"1,".repeat(200), ""), "200 bytes"),
    ];
    for (schedule, why) in table {
        let bad = schedule.check(at("2027-01-04T10:00:00Z")).unwrap_err();
        assert!(bad.0.contains(why), "{schedule:?}: {bad}");
    }
    let fine = [
        every(60_000),
        daily(23, 59, "Europe/Oslo"),
        cron("*/5 * * * *", ""),
    ];
    for schedule in fine {
        schedule.check(at("2027-01-04T10:00:00Z")).unwrap();
    }
}

/// The decision about a job, and its next due time.
#[test]
fn a_look_runs_a_job_once_at_most_and_moves_it_into_the_future() {
    use Verdict::{Correct, LeaveOut, Run, Wait};
    let noon = at("2027-01-04T12:00:00Z");
    let now = |ms: i64| UnixMillis(noon.0 + ms);
    let run = Run { late_ms: None };
    let late = |late_ms| Run {
        late_ms: Some(late_ms),
    };
    let (missed, busy) = (LeaveOut(LeftOut::Missed), LeaveOut(LeftOut::StillRunning));
    let hourly = every(HOUR);
    let at_noon = daily(12, 0, "");
    let once = Schedule::At { at_ms: noon.0 };
    let keep = (MissedRun::Run, false);
    let skip = (MissedRun::Skip, false);
    let runs = (MissedRun::Run, true);
    let day = 24 * HOUR;
    // Due at noon; the moment of the look after noon, the decision, the next time after noon.
    let table = [
        (Some(&hourly), keep, -1, Wait, Some(0)),
        (Some(&hourly), keep, 0, run, Some(HOUR)),
        (Some(&hourly), keep, 9_000, run, Some(HOUR)),
        // The machine slept for a night: one run, and the next at the old interval.
        (
            Some(&hourly),
            keep,
            9 * HOUR + 5,
            late(9 * HOUR + 5),
            Some(10 * HOUR),
        ),
        (Some(&hourly), skip, 9 * HOUR + 5, missed, Some(10 * HOUR)),
        (Some(&hourly), skip, 60_000, run, Some(HOUR)),
        (Some(&at_noon), keep, 3 * day, late(3 * day), Some(4 * day)),
        (Some(&at_noon), skip, 3 * day, missed, Some(4 * day)),
        // The last run goes on: left out once for all times that have passed.
        (Some(&hourly), runs, 0, busy, Some(HOUR)),
        (Some(&hourly), runs, 5 * HOUR, busy, Some(6 * HOUR)),
        // A single time runs once, even late.
        (Some(&once), keep, 0, run, None),
        (Some(&once), keep, 3 * day, late(3 * day), None),
        (Some(&once), skip, 3 * day, missed, None),
        (None, keep, 5, run, None),
        // The clock was set back a little: nothing is repeated. Set back by much: it was wrong before.
        (Some(&hourly), keep, -HOUR, Wait, Some(0)),
        (Some(&hourly), keep, -2 * HOUR - 1, Correct, Some(-HOUR - 1)),
        (Some(&at_noon), keep, -30 * day, Correct, Some(-29 * day)),
        (Some(&once), keep, -2 * HOUR - 1, Correct, Some(0)),
    ];
    for (schedule, (when_missed, running), ms, verdict, next) in table {
        let times = Times {
            schedule,
            due: noon,
            set_at: now(-HOUR),
            when_missed,
            running,
        };
        assert_eq!(times.look(now(ms)), verdict, "{schedule:?} at {ms}");
        let due = times.next(verdict, now(ms)).unwrap();
        assert_eq!(
            due.map(|due| due.0 - noon.0),
            next,
            "{schedule:?} at {ms}: {verdict:?}"
        );
    }
}

#[test]
fn a_clock_set_back_a_little_after_a_run_does_not_bring_it_again() {
    let (due, now) = (at("2027-01-04T12:00:00Z"), at("2027-01-04T11:59:58Z"));
    let next = daily(12, 0, "").next(due, now).unwrap();
    assert_eq!(next.map(shown).as_deref(), Some("2027-01-05T12:00:00Z"));
}

#[test]
fn an_interval_reads_as_what_it_is() {
    let every = |every_ms| {
        let schedule = Schedule::Every {
            every_ms,
            initial_delay_ms: None,
        };
        schedule.to_string()
    };
    assert_eq!(every(90_000), "every 90 seconds");
    assert_eq!(every(300_000), "every 5 minutes");
}
