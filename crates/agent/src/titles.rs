//! Titles of Threads, written by a model after the first Turn.
//!
//! The request is small and starts when the Turn is over, so nothing waits for it. A title replaces only the beginning
//! of the first message: a name that a user has given stays. A failure is a line of the log at debug. At most
//! [`MAX_REQUESTS`] run at once; further Threads stay with their first titles.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::cut::head_and_tail;
use bobbin_agent_api::model::Model;
use bobbin_core::engine::TurnContext;
use bobbin_core::{Command, CoreError, Retitle, Threads};
use bobbin_model::input::written_text;
use bobbin_model::{ClientKeys, Item, ItemBody, ThreadId, TurnId, title_of_input};
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::helper::ask;

/// Most requests at once.
const MAX_REQUESTS: usize = 4;
/// Most bytes of each message that the model reads.
const MAX_READ_BYTES: usize = 2 << 10;
/// Most characters of a title.
const MAX_TITLE_CHARS: usize = 60;
/// How long the end of the server waits for requests, which are cancelled.
const GRACE: Duration = Duration::from_secs(1);

/// Writes titles of Threads. It owns the tasks that do so; [`Titles::close`] ends them.
pub struct Titles {
    model: Arc<dyn Model>,
    /// The model that is asked instead of the Thread's.
    name: Option<String>,
    places: Arc<Semaphore>,
    tasks: TaskTracker,
    closed: CancellationToken,
}

/// A title to be written.
struct Wanted {
    threads: Arc<Threads>,
    thread: ThreadId,
    /// The title that it replaces.
    before: String,
    model: Option<String>,
    keys: ClientKeys,
    question: String,
}

impl Titles {
    /// Returns titles by one of the models: the named one, else that of each Thread.
    pub fn new(model: Arc<dyn Model>, name: Option<String>) -> Arc<Self> {
        Arc::new(Self {
            model,
            name,
            places: Arc::new(Semaphore::new(MAX_REQUESTS)),
            tasks: TaskTracker::new(),
            closed: CancellationToken::new(),
        })
    }

    /// Starts to write the title of a Thread whose first Turn is over.
    pub(super) async fn after(&self, turn: &TurnContext) {
        let Some(wanted) = self.wanted(turn).await else {
            return;
        };
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            return;
        };
        let (model, closed) = (self.model.clone(), self.closed.clone());
        self.tasks.spawn(async move {
            let _place = place;
            let thread = wanted.thread.clone();
            let written = tokio::select! {
                biased;
                () = closed.cancelled() => return,
                written = write(&*model, wanted) => written,
            };
            if let Err(why) = written {
                tracing::debug!(%thread, why, "the thread retains its first title");
            }
        });
    }

    async fn wanted(&self, turn: &TurnContext) -> Option<Wanted> {
        let header = turn.header();
        if turn.turn() != TurnId(1) || header.source.sub_agent().is_some() || self.closed.is_cancelled() {
            return None;
        }
        let model = self
            .name
            .clone()
            .or_else(|| turn.environment().config.model.clone());
        if self.model.is_offline(model.as_deref()) {
            return None;
        }
        let items = turn.items().await.ok()?;
        let ItemBody::UserMessage(said) = &items.first()?.body else {
            return None;
        };
        Some(Wanted {
            threads: turn.threads().clone(),
            thread: turn.thread().clone(),
            before: title_of_input(&said.native)?,
            model,
            keys: turn.at_start().features.keys.clone(),
            question: question(&written_text(&said.native), &items),
        })
    }

    /// Ends the requests under way.
    pub async fn close(&self) {
        self.closed.cancel();
        self.tasks.close();
        drop(tokio::time::timeout(GRACE, self.tasks.wait()).await);
    }
}

impl fmt::Debug for Titles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Titles")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn question(said: &str, items: &[Item]) -> String {
    let answer = items.iter().rev().find_map(|item| match &item.body {
        ItemBody::AgentMessage { text } => Some(text.as_str()),
        _ => None,
    });
    format!(
        "Write a title for the conversation that starts as follows: what it is about, in three to seven words of the \
         user's language. Answer with the title alone.\n\n<user>\n{}\n</user>\n\n<agent>\n{}\n</agent>",
        head_and_tail(said, MAX_READ_BYTES),
        head_and_tail(answer.unwrap_or_default(), MAX_READ_BYTES),
    )
}

async fn write(model: &dyn Model, wanted: Wanted) -> Result<(), String> {
    let written = ask::ask(
        model,
        wanted.model.as_deref(),
        Some(&wanted.keys),
        wanted.question,
    )
    .await;
    let written = written.map_err(|error| error.to_string())?;
    let title = title(&written.text).ok_or("the model's answer is no title")?;
    let failed = |error: CoreError| error.to_string();
    let thread = wanted.threads.thread(&wanted.thread).await.map_err(failed)?;
    let (reply, answer) = oneshot::channel();
    let command = Command::Retitle(Retitle {
        before: wanted.before,
        display_name: title,
        spent: (written.usage, written.cost_micros),
        reply: Box::new(move |done| drop(reply.send(done))),
    });
    thread.send(command).await;
    answer.await.unwrap_or(Err(CoreError::Stopping)).map_err(failed)
}

/// Returns the title in a model's answer: its first line, without what models put around it.
fn title(answer: &str) -> Option<String> {
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.strip_prefix("Title:").unwrap_or(line);
    let around = |letter: char| letter.is_whitespace() || "\"'`*#“”„«».".contains(letter);
    let line = line.trim_matches(around);
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let title: String = words.chars().take(MAX_TITLE_CHARS).collect();
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_without_what_is_around_it() {
        for (answer, expected) in [
            ("Boil green tea", Some("Boil green tea")),
            (
                "\n## \"Boil  green tea.\"\n\nIt is about tea.",
                Some("Boil green tea"),
            ),
            ("Title: **Tea**", Some("Tea")),
            ("  \n \"\"", None),
        ] {
            assert_eq!(title(answer).as_deref(), expected, "{answer:?}");
        }
        assert_eq!(title(&"ä".repeat(100)).unwrap().chars().count(), MAX_TITLE_CHARS);
    }
}
