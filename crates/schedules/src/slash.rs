//! `/cron` and `/heartbeat`.

use std::fmt::Write as _;

use bobbin_agent_api::slash::{SlashCommand, SlashCommands};
use bobbin_model::UnixMillis;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use crate::job::{Job, Key, Kind};
use crate::owner::{ScheduleError, Schedules};

const COMMANDS: [SlashCommand; 2] = [
    SlashCommand {
        name: "/cron",
        description: "Lists jobs, or removes one: /cron remove ID",
    },
    SlashCommand {
        name: "/heartbeat",
        description: "Does what HEARTBEAT.md asks for",
    },
];

impl SlashCommands for Schedules {
    fn list(&self) -> &'static [SlashCommand] {
        &COMMANDS
    }

    fn run(&self, name: &str, arguments: &str) -> BoxFuture<'static, String> {
        let (schedules, name) = (self.clone(), name.to_owned());
        let words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        async move {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let said = match (name.as_str(), words.as_slice()) {
                ("/cron", [] | ["list"]) => schedules.listed().await,
                ("/cron", ["remove", id]) => schedules.removed(id).await,
                ("/cron", _) => Ok("Usage: `/cron`, `/cron list` or `/cron remove ID`.".to_owned()),
                (_, [] | ["trigger"]) => schedules.beat().await.map(|end| match (end.error, end.result) {
                    (Some(error), _) => format!("The heartbeat failed: {error}"),
                    (None, Some(result)) => result,
                    (None, None) => "HEARTBEAT.md has nothing to do.".to_owned(),
                }),
                _ => Ok("Usage: `/heartbeat`.".to_owned()),
            };
            said.unwrap_or_else(|error| format!("That did not work: {error}."))
        }
        .boxed()
    }
}

impl Schedules {
    async fn listed(&self) -> Result<String, ScheduleError> {
        let jobs = self
            .ask(|book, _| Ok((Vec::new(), book.jobs(Kind::Cron))))
            .await?;
        if jobs.is_empty() {
            return Ok("There are no jobs. Ask the agent for one.".to_owned());
        }
        let mut text = String::new();
        for job in jobs {
            line(&mut text, &job);
        }
        Ok(text)
    }

    async fn removed(&self, id: &str) -> Result<String, ScheduleError> {
        let key = Key::new(Kind::Cron, id);
        self.ask(move |book, _| book.remove(key)).await?;
        Ok(format!("Job `{id}` is removed."))
    }
}

fn line(text: &mut String, job: &Job) {
    let when = job.schedule.as_ref().map(ToString::to_string).unwrap_or_default();
    let next = match job.state.due.filter(|_| job.enabled) {
        Some(due) => format!("next {}", shown(due)),
        None => "off".to_owned(),
    };
    // Writing to a string does not fail.
    let _ = write!(text, "- `{}` {}: {when}, {next}", job.id, job.name);
    if let Some(note) = &job.state.note {
        let _ = write!(text, ". {note}");
    }
    text.push('\n');
}

fn shown(at: UnixMillis) -> String {
    Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |at| format!("{at:.0}"))
}
