//! The list of Threads, and the search in what was said in them.

use std::time::{Duration, SystemTime};

use bobbin_native_wire::history::types::{ThreadSearchParams, ThreadSearchThreadsResult, ThreadSortKey};
use bobbin_native_wire::thread::params::ThreadListResult;
use bobbin_native_wire::thread::types::{ThreadSource, ThreadSummary};
use tokio::time::Instant;

use crate::picker::{Entry, Picker};
use crate::text::safe_line;

use super::{App, Outcome, Purpose};

/// Threads in the list.
const THREADS: u32 = 100;
/// Time without a key after which the server searches.
const PAUSE: Duration = Duration::from_millis(250);
/// Least and most bytes that it searches for.
const SEARCHED: std::ops::RangeInclusive<usize> = 3..=200;
/// Characters before a found term.
const BEFORE: usize = 10;
/// Most Threads that it finds.
const FOUND: u32 = 20;

/// The search of the list of Threads: one request at a time.
#[derive(Debug, Default)]
pub(super) struct Search {
    at: Option<Instant>,
    is_busy: bool,
}

impl Search {
    /// Returns when the server is asked next.
    pub(super) fn due(&self) -> Option<Instant> {
        self.at.filter(|_| !self.is_busy)
    }
}

impl App {
    pub(super) fn list_threads(&mut self) {
        let (client, params) = (self.client.clone(), self.threads_params(THREADS));
        self.ask(
            async move { client.read::<ThreadListResult>("thread/list", &params).await },
            |app, listed| {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the user's own clock, for words on the screen alone"
                )]
                let now = SystemTime::now();
                let threads = listed.data.iter().filter(|thread| thread.turn_count > 0);
                let entries = threads.map(|thread| entry(thread, &facts(thread, now)));
                let picker = Picker::new("Threads", entries.collect(), app.thread.as_deref());
                app.picker = Some((Purpose::Threads, picker));
            },
        );
    }

    /// Notes that the filter of a list has changed.
    pub(super) fn filter_changed(&mut self, purpose: Purpose) {
        if purpose == Purpose::Threads {
            self.search.at = Some(Instant::now() + PAUSE);
        }
    }

    /// Has the server search for the filter of the list of Threads.
    pub(super) fn search_threads(&mut self) {
        self.search.at = None;
        let Some((Purpose::Threads, picker)) = &self.picker else {
            return;
        };
        let filter = picker.filter().to_owned();
        if !SEARCHED.contains(&filter.trim().len()) {
            return;
        }
        let params = ThreadSearchParams {
            search_term: Some(filter.trim().to_owned()),
            sort_key: Some(ThreadSortKey::LastActiveAt),
            sort_direction: None,
            archived: None,
            identity: Some(self.identity()),
            query: None,
            thread_id: None,
            item_types: None,
            include_archived: false,
            cross_channel_origins: None,
            limit: Some(FOUND),
            cursor: None,
        };
        self.search.is_busy = true;
        let client = self.client.clone();
        self.work.spawn(async move {
            let found = client
                .read::<ThreadSearchThreadsResult>("thread/search", &params)
                .await;
            let outcome: Outcome = Box::new(move |app: &mut Self| {
                app.search.is_busy = false;
                match found {
                    Ok(found) => app.found(&filter, &found),
                    Err(error) => app.complain(&error.to_string()),
                }
            });
            outcome
        });
    }

    fn found(&mut self, filter: &str, found: &ThreadSearchThreadsResult) {
        let Some((Purpose::Threads, picker)) = &mut self.picker else {
            return;
        };
        let own = found
            .data
            .iter()
            .filter(|found| matches!(found.thread.source, ThreadSource::User));
        let entries = own.map(|found| {
            let snippet = from_term(&found.snippet, filter.trim());
            entry(&found.thread, &safe_line(&snippet))
        });
        picker.add(filter, entries.collect());
    }
}

fn entry(thread: &ThreadSummary, note: &str) -> Entry {
    let title = thread.display_name.as_deref().unwrap_or("without a title");
    Entry {
        value: thread.id.clone(),
        label: safe_line(title),
        note: note.to_owned(),
    }
}

/// Returns a text from shortly before a term on: a narrow terminal shows its beginning only.
fn from_term(text: &str, term: &str) -> String {
    let lower = text.to_lowercase();
    let before = lower
        .find(&term.to_lowercase())
        .map_or(0, |at| lower[..at].chars().count());
    match before.checked_sub(BEFORE) {
        None | Some(0) => text.to_owned(),
        Some(left_out) => format!("…{}", text.chars().skip(left_out).collect::<String>()),
    }
}

fn facts(thread: &ThreadSummary, now: SystemTime) -> String {
    let state = match &thread.runtime {
        Some(runtime) if runtime.waiting_on_approval || runtime.waiting_on_input => "needs your answer · ",
        Some(runtime) if runtime.running => "running · ",
        _ => "",
    };
    let at = Duration::from_millis(u64::try_from(thread.last_active_at.0).unwrap_or_default());
    let since = now
        .duration_since(SystemTime::UNIX_EPOCH + at)
        .unwrap_or_default();
    let count = thread.turn_count;
    let noun = if count == 1 { "turn" } else { "turns" };
    format!(
        "{} · {state}{count} {noun} · {}",
        ago(since),
        safe_line(&thread.origin_channel)
    )
}

/// Returns how long ago something was.
fn ago(since: Duration) -> String {
    match since.as_secs() / 60 {
        0 => "just now".to_owned(),
        minutes @ 1..60 => format!("{minutes} min ago"),
        minutes @ 60..1_440 => format!("{} h ago", minutes / 60),
        1_440..2_880 => "1 day ago".to_owned(),
        minutes => format!("{} days ago", minutes / 1_440),
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent};
    use serde_json::json;

    use super::*;
    use crate::app::Opens;
    use crate::app::tests::app;

    fn thread(id: &str, title: &str) -> serde_json::Value {
        let at = "2027-01-01T00:00:00.000Z";
        json!({
            "id": id, "workspacePath": "/w", "originChannel": "cli", "displayName": title, "source": { "kind": "user" },
            "status": "active", "createdAt": at, "lastActiveAt": at, "turnCount": 2, "metadata": {},
        })
    }

    #[test]
    fn a_time_is_said_in_its_largest_unit() {
        let said = |seconds| ago(Duration::from_secs(seconds));
        assert_eq!(
            [59, 60, 3_599, 3_600, 86_399, 86_400, 172_800].map(said),
            [
                "just now",
                "1 min ago",
                "59 min ago",
                "1 h ago",
                "23 h ago",
                "1 day ago",
                "2 days ago"
            ]
        );
    }

    #[test]
    fn a_snippet_starts_shortly_before_the_term() {
        for (text, shown) in [
            ("a Teapot", "a Teapot"),
            (
                "... of ten cups a Teapot fills one",
                "…en cups a Teapot fills one",
            ),
            ("of ten Ärgern a Teapot", "… Ärgern a Teapot"),
            ("no such word at all here", "no such word at all here"),
        ] {
            assert_eq!(from_term(text, "teapot"), shown);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_is_asked_once_after_a_pause_and_its_answer_counts_for_its_filter() {
        let mut app = app(Opens::New, None);
        app.picker = Some((Purpose::Threads, Picker::new("Threads", Vec::new(), None)));
        for c in "teapot".chars() {
            app.key(KeyEvent::from(KeyCode::Char(c)));
        }
        let due = app.search.due().unwrap();
        assert_eq!(due - Instant::now(), PAUSE);
        app.search_threads();
        assert_eq!((app.work.len(), app.search.due()), (1, None));
        app.key(KeyEvent::from(KeyCode::Char('s')));
        assert_eq!(app.search.due(), None, "one request at a time");

        let found = json!({ "data": [{ "thread": thread("t", "Tea"), "snippet": "a teapot\u{1b}[2J" }] });
        let found: ThreadSearchThreadsResult = serde_json::from_value(found).unwrap();
        app.search.is_busy = false;
        app.found("teapot", &found);
        let shown = |app: &App| {
            let (_, picker) = app.picker.as_ref().unwrap();
            picker
                .lines(60, 10)
                .iter()
                .map(crate::text::Line::text)
                .collect::<Vec<_>>()
        };
        assert!(shown(&app)[1].contains("nothing found"), "{:?}", shown(&app));
        app.found("teapots", &found);
        assert_eq!(shown(&app)[1], r"› Tea  a teapot\u{1b}[2J");
    }

    #[tokio::test]
    async fn a_short_filter_and_another_list_ask_nothing() {
        let mut app = app(Opens::New, None);
        for (purpose, filter) in [(Purpose::Threads, "te"), (Purpose::Models, "teapot")] {
            app.picker = Some((purpose, Picker::new("List", Vec::new(), None).filtered(filter)));
            app.search_threads();
        }
        assert_eq!(app.work.len(), 0);
    }
}
