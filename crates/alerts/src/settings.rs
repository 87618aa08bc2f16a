//! The section `Alerts`, which counts in the user's own file only.

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

/// Most words of the command.
const MAX_WORDS: usize = 64;
/// Longest wait of a question, in seconds: a day.
const MAX_WAIT: u32 = 24 * 60 * 60;
/// Longest Turn without an alert, in minutes: a day.
const MAX_MINUTES: u32 = 24 * 60;

/// Address or program that notifies you when a question waits, or when a long Turn has ended. Counts in your own file only.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct AlertsSection {
    /// Address that gets each alert by POST: the text as the body, title and link as the headers `Title` and `Click`, as
    /// ntfy takes them.
    #[schemars(extend("x-secret" = true))]
    url: Option<String>,
    /// Program that gets each alert as JSON on its standard input, and its arguments.
    command: Option<Vec<String>>,
    /// Seconds that a question waits before its alert: 5 to 86,400.
    #[schemars(extend("default" = 60))]
    after_seconds: Option<u32>,
    /// Minutes after which the end of a Turn is an alert: at most 1,440; 0 for never.
    #[schemars(extend("default" = 10))]
    turn_minutes: Option<u32>,
    /// Hours without alerts in local time, as `22:00-07:00`. A question that still waits afterwards is reported then.
    quiet_hours: Option<String>,
    /// Whether alerts have titles of Threads. Without, they say only in which workspace.
    #[schemars(extend("default" = true))]
    titles: Option<bool>,
}

/// The settings of alerts, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertSettings {
    /// The target of alerts.
    pub target: AlertTarget,
    /// How long a question waits.
    pub wait: Duration,
    /// How long a Turn takes whose end is an alert; `None`: no end is.
    pub turn: Option<Duration>,
    /// Whether alerts have titles.
    pub titles: bool,
    quiet: Option<QuietHours>,
}

/// The target of alerts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlertTarget {
    /// To this address.
    Url(Url),
    /// To this program with these arguments.
    Command(String, Vec<String>),
}

/// Hours of each day, in local time. The end may be on the next day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct QuietHours {
    from: Time,
    to: Time,
}

impl AlertsSection {
    /// Checks the section; `None` if it has neither an address nor a program.
    ///
    /// # Errors
    /// A value is invalid.
    pub fn check(self) -> anyhow::Result<Option<AlertSettings>> {
        let target = match (self.url, self.command) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => anyhow::bail!("Alerts has Url or Command, not both"),
            (Some(url), None) => {
                // The address may have a secret, so the error does not repeat it.
                let url = Url::parse(&url)
                    .ok()
                    .filter(|url| matches!(url.scheme(), "http" | "https"));
                AlertTarget::Url(url.context("Alerts.Url is no http:// or https:// address")?)
            }
            (None, Some(words)) => {
                ensure!(
                    words.len() <= MAX_WORDS,
                    "Alerts.Command has more than {MAX_WORDS} words"
                );
                let (program, arguments) = words.split_first().context("Alerts.Command is empty")?;
                AlertTarget::Command(program.clone(), arguments.to_vec())
            }
        };
        let wait = self.after_seconds.unwrap_or(60);
        ensure!(
            (5..=MAX_WAIT).contains(&wait),
            "Alerts.AfterSeconds is not from 5 to {MAX_WAIT}"
        );
        let minutes = self.turn_minutes.unwrap_or(10);
        ensure!(
            minutes <= MAX_MINUTES,
            "Alerts.TurnMinutes is more than {MAX_MINUTES}"
        );
        let quiet = self.quiet_hours.map(|hours| hours.parse()).transpose()?;
        Ok(Some(AlertSettings {
            target,
            wait: Duration::from_secs(wait.into()),
            turn: (minutes > 0).then(|| Duration::from_mins(minutes.into())),
            titles: self.titles.unwrap_or(true),
            quiet,
        }))
    }
}

impl FromStr for QuietHours {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let time = |text: &str| Time::strptime("%H:%M", text.trim()).ok();
        let hours = text
            .split_once('-')
            .and_then(|(from, to)| Some((time(from)?, time(to)?)));
        let (from, to) = hours.context("Alerts.QuietHours is not as \"22:00-07:00\"")?;
        Ok(Self { from, to })
    }
}

impl AlertSettings {
    /// Whether no alert is sent at a time.
    pub(crate) fn is_quiet(&self, now: Timestamp, zone: &TimeZone) -> bool {
        let Some(QuietHours { from, to }) = self.quiet else {
            return false;
        };
        let time = now.to_zoned(zone.clone()).time();
        if from <= to {
            from <= time && time < to
        } else {
            from <= time || time < to
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> AlertsSection {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_section_has_one_target_and_values_within_bounds() {
        assert_eq!(section("{}").check().unwrap(), None);
        assert_eq!(
            section(r#"{"AfterSeconds":1}"#).check().unwrap(),
            None,
            "it is switched off"
        );
        let ntfy = section(r#"{"Url":"https://ntfy.example/tea"}"#)
            .check()
            .unwrap()
            .unwrap();
        assert_eq!(
            (ntfy.wait.as_secs(), ntfy.turn, ntfy.titles),
            (60, Some(Duration::from_mins(10)), true)
        );
        let own = r#"{"Command":["notify-send","Bobbin"],"AfterSeconds":5,"TurnMinutes":0,"Titles":false}"#;
        let own = section(own).check().unwrap().unwrap();
        assert_eq!(
            own.target,
            AlertTarget::Command("notify-send".to_owned(), vec!["Bobbin".to_owned()])
        );
        assert_eq!((own.wait.as_secs(), own.turn, own.titles), (5, None, false));
        for wrong in [
            r#"{"Url":"https://a.example","Command":["a"]}"#,
            r#"{"Url":"ftp://s3cret.example"}"#,
            r#"{"Url":"s3cret"}"#,
            r#"{"Command":[]}"#,
            r#"{"Url":"https://a.example","AfterSeconds":4}"#,
            r#"{"Url":"https://a.example","AfterSeconds":86401}"#,
            r#"{"Url":"https://a.example","TurnMinutes":1441}"#,
            r#"{"Url":"https://a.example","QuietHours":"22-7"}"#,
            r#"{"Url":"https://a.example","QuietHours":"22:00"}"#,
        ] {
            let error = section(wrong).check().unwrap_err().to_string();
            assert!(
                error.contains("Alerts") && !error.contains("s3cret"),
                "{wrong}: {error}"
            );
        }
    }

    #[test]
    fn quiet_hours_may_pass_midnight() {
        let quiet = |hours: &str, at: &str| {
            let text = format!(r#"{{"Url":"https://a.example","QuietHours":"{hours}"}}"#);
            let settings = section(&text).check().unwrap().unwrap();
            let now: Timestamp = format!("2026-11-28T{at}:00Z").parse().unwrap();
            settings.is_quiet(now, &TimeZone::UTC)
        };
        for (hours, at, expected) in [
            ("22:00-07:00", "21:59", false),
            ("22:00-07:00", "22:00", true),
            ("22:00-07:00", "03:00", true),
            ("22:00-07:00", "07:00", false),
            ("12:00-13:30", "12:30", true),
            ("12:00-13:30", "13:30", false),
            ("08:00-08:00", "08:00", false),
        ] {
            assert_eq!(quiet(hours, at), expected, "{hours} {at}");
        }
    }
}
