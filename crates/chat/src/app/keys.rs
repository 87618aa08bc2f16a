//! The keys, and the menu of completions.

use std::io::Write;
use std::time::Duration;

use bobbin_client::Answer;
use bobbin_native_wire::file::types::{WorkspaceFilesFindParams, WorkspaceFilesFindResult};
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::time::Instant;

use crate::ask::{self};
use crate::commands::{self, COMMANDS};
use crate::compose::Wanted;
use crate::picker::{self};
use crate::screen::Screen;
use crate::text::{Line, Style, safe_line};

use super::{App, Leaves, Menu, Purpose};

/// Time in which a second Ctrl-C or Esc belongs to the first.
const TWICE: Duration = Duration::from_secs(1);

/// Time without a key after which a question takes keys: those of a text that was being typed are no answer.
const PAUSE: Duration = Duration::from_millis(750);

/// Questions that are remembered as answered here.
const MAX_ANSWERED: usize = 256;

impl App {
    pub(super) fn input(&mut self, typed: Input, screen: &mut Screen<impl Write>) {
        match typed {
            Input::Key(key) if key.kind != KeyEventKind::Release => self.key(key),
            Input::Paste(text) if self.picker.is_none() => {
                let answers = self.asked.front_mut().is_some_and(|asked| asked.paste(&text));
                if !answers {
                    self.compose.paste(&text);
                    self.typed_at = Some(Instant::now());
                }
            }
            Input::Resize(columns, rows) => self.resize(screen, columns, rows),
            _ => {}
        }
        self.complete();
    }

    pub(super) fn key(&mut self, key: KeyEvent) {
        if let Some((purpose, picker)) = &mut self.picker {
            let (purpose, filter) = (*purpose, picker.filter().len());
            match picker.key(key) {
                picker::Step::Stay if picker.filter().len() != filter => self.filter_changed(purpose),
                picker::Step::Stay => {}
                picker::Step::Close => self.close_picker(purpose),
                picker::Step::Chosen(value) => {
                    self.picker = None;
                    self.choose(purpose, value);
                }
            }
            return;
        }
        let is_typing = self.is_typing();
        if let Some(asked) = self.asked.front_mut().filter(|_| !is_typing) {
            match asked.key(key) {
                ask::Step::Stay => return,
                ask::Step::Answered(answer) => return self.answer(answer),
                // A question of another Thread goes back to its list.
                ask::Step::Other if key.code == KeyCode::Esc && asked.title.is_some() => {
                    self.elsewhere.extend(self.asked.pop_front());
                    return;
                }
                ask::Step::Other => {}
            }
        }
        if self.menu_key(key) {
            return;
        }
        self.global_key(key);
    }

    /// Leaves a list. Without a Thread, the prompt of a new one follows.
    fn close_picker(&mut self, purpose: Purpose) {
        self.picker = None;
        if purpose == Purpose::Threads && self.thread.is_none() && self.compose.is_empty() {
            self.load_draft(None);
        }
    }

    pub(super) fn answer(&mut self, answer: Answer) {
        let Some(asked) = self.asked.pop_front() else {
            return;
        };
        self.answered.push_back(asked.question.request_id().to_owned());
        if self.answered.len() > MAX_ANSWERED {
            self.answered.pop_front();
        }
        let client = self.client.clone();
        self.ask(
            async move {
                client.answer(asked.question.request_id(), answer).await;
                Ok(())
            },
            |_, ()| {},
        );
    }

    /// Whether the key was pressed a moment ago too.
    fn is_second(&mut self, code: KeyCode) -> bool {
        let now = Instant::now();
        let is_second = self
            .once
            .is_some_and(|(known, at)| known == code && now - at < TWICE);
        self.once = Some((code, now));
        is_second
    }

    /// Whether the user is in the middle of a text.
    fn is_typing(&self) -> bool {
        !self.compose.is_empty() && self.typed_at.is_some_and(|at| at.elapsed() < PAUSE)
    }

    fn global_key(&mut self, key: KeyEvent) {
        // A letter that is no answer is the first of a text.
        let is_letter = matches!(key.code, KeyCode::Char(_));
        let takes_text = self.asked.is_empty() || is_letter || self.is_typing();
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_running = self.state.open_turn().is_some();
        match key.code {
            KeyCode::Char('c') if control => {
                if self.is_second(key.code) {
                    self.leaves = Some(Leaves::ForGood);
                } else if !self.compose.is_empty() {
                    self.compose.clear();
                } else if is_running {
                    self.interrupt();
                } else {
                    self.note("Ctrl-C again leaves");
                }
                return;
            }
            KeyCode::Char('d') if control && self.compose.is_empty() => self.leaves = Some(Leaves::ForGood),
            KeyCode::Char('z') if control => self.leaves = Some(Leaves::ForShell),
            KeyCode::Char('l') if control => self.leaves = Some(Leaves::Redraws),
            KeyCode::Char('g') if control => self.leaves = Some(Leaves::ForEditor),
            KeyCode::Char('q') if control => self.list_waiting(),
            KeyCode::Char('t') if control => self.list_threads(),
            KeyCode::Char('o') if control => self.show_output(),
            KeyCode::Char('s') if control => self.send_now(),
            KeyCode::BackTab => self.change_mode(""),
            KeyCode::Esc => {
                // Two that come together are one key with Alt.
                let is_twice = key.modifiers.contains(KeyModifiers::ALT);
                if is_running {
                    self.interrupt();
                } else if self.compose.is_empty() && (self.is_second(key.code) || is_twice) {
                    self.list_messages();
                }
                return;
            }
            KeyCode::Up if self.compose.is_empty() && self.take_back() => {}
            KeyCode::Enter
                if key.modifiers.is_empty() && !self.compose.text().ends_with('\\') && takes_text =>
            {
                let text = self.compose.take();
                self.submit(text);
            }
            _ if takes_text => {
                self.compose.key(key);
                self.typed_at = Some(Instant::now());
            }
            _ => {}
        }
        self.once = None;
    }

    fn menu_key(&mut self, key: KeyEvent) -> bool {
        if self.menu.entries.is_empty() || !key.modifiers.is_empty() {
            return false;
        }
        let last = self.menu.entries.len() - 1;
        match key.code {
            KeyCode::Up => self.menu.chosen = self.menu.chosen.checked_sub(1).unwrap_or(last),
            KeyCode::Down => {
                self.menu.chosen = if self.menu.chosen < last {
                    self.menu.chosen + 1
                } else {
                    0
                }
            }
            KeyCode::Esc => {
                self.menu.entries.clear();
            }
            KeyCode::Tab | KeyCode::Enter => {
                let (text, _) = self.menu.entries[self.menu.chosen].clone();
                let is_whole = self.compose.text() == text.trim_end();
                if let Some(path) = text.strip_prefix('@') {
                    self.files.push(path.trim_end().to_owned());
                }
                self.compose.complete(&text);
                self.menu = Menu::default();
                // A command that takes nothing runs at once.
                if key.code == KeyCode::Enter && (is_whole || runs_alone(&text)) {
                    let text = self.compose.take();
                    self.submit(text);
                }
            }
            _ => return false,
        }
        true
    }

    /// Brings the menu up to the prompt.
    pub(super) fn complete(&mut self) {
        let wanted = self
            .compose
            .wanted()
            .filter(|_| self.picker.is_none() && self.asked.is_empty());
        if wanted == self.menu.wanted {
            return;
        }
        self.menu = Menu {
            wanted: wanted.clone(),
            ..Menu::default()
        };
        match wanted {
            None => {}
            Some(Wanted::Command(start)) => {
                let own = COMMANDS.iter().map(|command| (command.name, command.summary));
                let prompts = self
                    .prompts
                    .iter()
                    .flatten()
                    .map(|(name, about)| (name.as_str(), about.as_str()));
                let fitting = own.chain(prompts).filter(|(name, _)| name.starts_with(&start));
                self.menu.entries = fitting
                    .map(|(name, about)| {
                        let shown = format!("  {:<16}", format!("/{}", safe_line(name)));
                        let line = Line::of(shown, Style::PLAIN).and(safe_line(about), Style::DIM);
                        (format!("/{name} "), line)
                    })
                    .collect();
            }
            Some(Wanted::File(part)) => self.find_files(part),
        }
    }

    fn find_files(&mut self, part: String) {
        let params = WorkspaceFilesFindParams {
            query: part.clone(),
            limit: Some(20),
        };
        let client = self.client.clone();
        self.ask(
            async move {
                client
                    .read::<WorkspaceFilesFindResult>("workspace/files/find", &params)
                    .await
            },
            move |app, found| {
                if app.menu.wanted != Some(Wanted::File(part)) {
                    return;
                }
                let entry = |file: &bobbin_native_wire::file::types::WorkspaceFile| {
                    let line = Line::of(format!("  {}", safe_line(&file.path)), Style::PLAIN);
                    (format!("@{} ", file.path), line)
                };
                app.menu.entries = found.files.iter().map(entry).collect();
            },
        );
    }
}

/// Whether the text of the menu is a command that takes nothing.
fn runs_alone(text: &str) -> bool {
    let name = text.trim().trim_start_matches('/');
    text.starts_with('/')
        && commands::find(name).is_some_and(|command| !command.argument.starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use bobbin_client::Question;
    use serde_json::json;

    use super::*;
    use crate::app::Opens;
    use crate::app::tests::app;

    fn question() -> Question {
        let params = json!({
            "threadId": "t", "turnId": "u", "itemId": "i", "requestId": "r", "approvalType": "shell",
            "operation": "rm x", "target": "/w", "scopeKey": "shell:rm x", "expiresAt": "2027-01-01T00:00:00.000Z",
        });
        Question::Approval(serde_json::from_value(params).unwrap())
    }

    fn press(app: &mut App, text: &str) {
        for c in text.chars() {
            app.key(KeyEvent::from(KeyCode::Char(c)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_text_that_is_being_typed_answers_no_question() {
        let mut app = app(Opens::New, None);
        press(&mut app, "wa");
        app.asked.push_back(crate::ask::Asked::new(question()));
        press(&mut app, "y");
        tokio::time::advance(PAUSE / 2).await;
        press(&mut app, "s");
        assert_eq!((app.compose.text(), app.asked.len()), ("ways", 1));
        let shown: Vec<String> = app.rest(40, 20).0.iter().map(Line::text).collect();
        assert_eq!(shown.last().unwrap(), "› ways");

        tokio::time::advance(PAUSE).await;
        press(&mut app, "y");
        assert_eq!((app.compose.text(), app.asked.len()), ("ways", 0));
    }

    #[tokio::test]
    async fn leaving_the_list_of_threads_brings_the_draft_of_a_new_one() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("drafts.json");
        let drafts = crate::drafts::Drafts::new(Some(file.clone()));
        drafts.store(None, "half a prompt").unwrap();
        let mut app = app(Opens::Choice, Some(file));
        let list = || picker::Picker::new("Threads", Vec::new(), None);
        app.picker = Some((Purpose::Threads, list()));
        app.key(KeyEvent::from(KeyCode::Esc));
        assert_eq!(app.compose.text(), "half a prompt");

        // A text that is being written stays, and so does that of a Thread.
        app.compose.set("typed");
        app.picker = Some((Purpose::Threads, list()));
        app.key(KeyEvent::from(KeyCode::Esc));
        assert_eq!(app.compose.text(), "typed");
        app.compose.clear();
        app.thread = Some("t".to_owned());
        app.picker = Some((Purpose::Threads, list()));
        app.key(KeyEvent::from(KeyCode::Esc));
        assert_eq!(app.compose.text(), "");
    }

    #[tokio::test(start_paused = true)]
    async fn a_text_that_begins_with_no_answer_is_none() {
        let mut app = app(Opens::New, None);
        app.asked.push_back(crate::ask::Asked::new(question()));
        press(&mut app, "always");
        assert_eq!((app.compose.text(), app.asked.len()), ("always", 1));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_text_a_question_is_answered_at_once() {
        let mut app = app(Opens::New, None);
        app.asked.push_back(crate::ask::Asked::new(question()));
        press(&mut app, "y");
        assert!(app.asked.is_empty());
    }
}
