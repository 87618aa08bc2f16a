//! The plain mode: lines only, for screen readers and pipes. Nothing that was written changes any more.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use bobbin_client::Events;
use tokio::sync::mpsc;

use crate::ask::{Asked, Step};
use crate::text::{Line, Span, Style};

use super::App;

/// Columns that no line has, so that nothing is broken or cut.
pub(super) const WIDTH: usize = 1 << 20;
/// Lines that were typed and wait.
const MAX_LINES: usize = 64;
/// Longest line that is read.
const MAX_LINE: u64 = 4 << 20;

/// The words of the plain mode in place of marks.
const MARKS: &[(&str, &str)] = &[
    ("› ", "You: "),
    ("• ", ""),
    ("? ", "Question: "),
    ("✗ ", "Error: "),
    ("  ✗ ", "  "),
    ("! ", "Note: "),
    ("  ✓ ", "  Done: "),
    ("  ▸ ", "  Now: "),
    ("  – ", "  Left out: "),
    ("  ◦ ", "  To do: "),
    ("  ↶ ", "  Put back: "),
    ("  ↷ ", "  Changed again: "),
];

/// Marks that are in one span with their text.
const FRAMES: &[(&str, &str)] = &[("  │ ", "  "), ("  └ ", "  "), ("! ", "Note: ")];

/// The news that this mode has printed.
#[derive(Debug, Default)]
struct Said {
    /// The question that was shown last.
    question: Option<String>,
    has_list: bool,
    lost: Option<String>,
}

impl App {
    /// Serves lines of stdin until they end and nothing runs any more.
    pub(super) async fn serve_plain(&mut self, events: &mut Events) -> anyhow::Result<()> {
        let (sender, mut lines) = mpsc::channel(MAX_LINES);
        // Blocks a thread of its own; the process's end ends it.
        std::thread::spawn(move || read_lines(&sender));
        let mut said = Said::default();
        let mut is_open = true;
        let is_terminal = io::stdin().is_terminal();
        loop {
            self.say(&mut said)?;
            if self.leaves.take().is_some() || !is_open && self.is_done() {
                return Ok(());
            }
            tokio::select! {
                Some(outcome) = self.work.join_next() => {
                    if let Ok(outcome) = outcome {
                        outcome(self);
                    }
                }
                event = events.next() => {
                    let Some(event) = event else { return Ok(()) };
                    self.event(event)?;
                }
                // The next line of a pipe may be about what the one before it brings.
                line = lines.recv(), if is_open && self.work.is_empty() && (is_terminal || self.is_done()) => match line {
                    Some(line) => self.take_line(&line),
                    None => is_open = false,
                },
                _ = tokio::signal::ctrl_c() => {
                    if self.state.open_turn().is_none() {
                        return Ok(());
                    }
                    self.interrupt();
                }
            }
        }
    }

    /// Whether nothing goes on that this client waits for. A question that nobody can answer here is left to others.
    fn is_done(&self) -> bool {
        let runs = self.state.open_turn().is_some() && self.asked.is_empty();
        let is_opening = self.thread.is_some() && self.state.thread.is_none();
        self.work.is_empty() && !runs && !is_opening && !self.is_starting && self.sent.is_none()
    }

    fn take_line(&mut self, line: &str) {
        if let Some((purpose, picker)) = &mut self.picker {
            let (purpose, chosen) = (*purpose, picker.nth(line.trim()));
            self.picker = None;
            match chosen {
                Some(value) => self.choose(purpose, value),
                None => self.note("nothing was chosen"),
            }
            return;
        }
        let Some(asked) = self.asked.front_mut() else {
            return self.submit(line.to_owned());
        };
        match asked.line(line) {
            Step::Answered(answer) => self.answer(answer),
            Step::Stay => {}
            Step::Other => self.complain("That is no answer to the question."),
        }
    }

    /// Prints what is new.
    fn say(&mut self, said: &mut Said) -> io::Result<()> {
        self.bell = false;
        let mut out = io::stdout().lock();
        for line in self.unsaid(said) {
            writeln!(out, "{line}")?;
        }
        out.flush()
    }

    /// Returns the lines of what is new.
    fn unsaid(&mut self, said: &mut Said) -> Vec<String> {
        let (mut lines, _) = self.printed.advance(&self.state, WIDTH);
        if self
            .sent
            .as_deref()
            .is_some_and(|id| self.state.turn(id).is_some())
        {
            self.sent = None;
        }
        lines.append(&mut self.notes);
        if self.lost != said.lost {
            said.lost.clone_from(&self.lost);
            let text = match &self.lost {
                Some(why) => format!("Note: no connection: {why}; it is tried again"),
                None => "Note: the connection is back".to_owned(),
            };
            lines.push(Line::of(text, Style::PLAIN));
        }
        let question = self.asked.front().map(Asked::place);
        // A request may be bringing the change that it is about, and no answer is taken meanwhile.
        if question != said.question && self.work.is_empty() {
            if let Some(asked) = self.asked.front() {
                lines.extend(asked.plain_lines(WIDTH));
            }
            said.question = question;
        }
        if let Some((_, picker)) = self.picker.as_ref().filter(|_| !said.has_list) {
            lines.extend(picker.numbered());
        }
        said.has_list = self.picker.is_some();
        lines.iter().map(plain).collect()
    }
}

/// Returns a line with words in place of its mark.
fn plain(line: &Line) -> String {
    let text = |spans: &[Span]| spans.iter().map(|span| span.text.as_str()).collect::<String>();
    let Some((first, rest)) = line.0.split_first() else {
        return String::new();
    };
    let shown = match MARKS.iter().find(|(mark, _)| *mark == first.text) {
        Some((_, word)) => format!("{word}{}", text(rest)),
        None => match FRAMES
            .iter()
            .find_map(|(frame, word)| Some((word, first.text.strip_prefix(frame)?)))
        {
            Some((word, framed)) => format!("{word}{framed}{}", text(rest)),
            None => text(&line.0),
        },
    };
    shown.trim_end().to_owned()
}

/// Reads lines of stdin. A `\` at the end of a line goes on in the next one.
fn read_lines(lines: &mpsc::Sender<String>) {
    let mut whole = String::new();
    loop {
        let mut line = String::new();
        let mut stdin = io::Read::take(io::stdin().lock(), MAX_LINE);
        if stdin.read_line(&mut line).unwrap_or_default() == 0 {
            break;
        }
        whole += line.trim_end_matches(['\n', '\r']);
        if whole.ends_with('\\') && (whole.len() as u64) < MAX_LINE {
            whole.pop();
            whole.push('\n');
            continue;
        }
        if lines.blocking_send(std::mem::take(&mut whole)).is_err() {
            return;
        }
    }
    if !whole.is_empty() {
        drop(lines.blocking_send(whole));
    }
}

#[cfg(test)]
mod tests {
    use bobbin_client::Question;
    use serde_json::json;

    use super::*;
    use crate::app::Opens;
    use crate::app::tests::app;
    use crate::cells::{Call, CallState};

    #[test]
    fn marks_are_words_and_frames_are_left_out() {
        let line = |mark: &str, text: &str| plain(&Line::of(mark, Style::DIM).and(text, Style::PLAIN));
        assert_eq!(line("› ", "tea  "), "You: tea");
        assert_eq!(line("✗ ", "no"), "Error: no");
        assert_eq!(line("  ✗ ", "Refused"), "  Refused");
        assert_eq!(line("  ✓ ", "boil"), "  Done: boil");
        assert_eq!(line("  │ ", "+x"), "  +x");
        assert_eq!(plain(&Line::of("  └ exit code 1", Style::DIM)), "  exit code 1");
        assert_eq!(plain(&Line::default()), "");
    }

    #[tokio::test]
    async fn a_question_waits_for_the_change_that_it_is_about() {
        let mut app = app(Opens::Thread("t".to_owned()), None);
        app.open_first();
        app.work.shutdown().await;
        let mut said = Said::default();
        app.unsaid(&mut said);
        let params = json!({
            "threadId": "of-a-subagent", "turnId": "u", "itemId": "i", "callId": "c", "requestId": "r",
            "approvalType": "file", "operation": "ApplyPatch", "target": "/w/a", "scopeKey": "file:/w/a",
            "expiresAt": "2027-01-01T00:00:00.000Z",
        });
        app.question(Question::Approval(serde_json::from_value(params).unwrap()));
        assert_eq!(app.unsaid(&mut said), [""; 0]);

        // The call was read.
        let call = Call {
            id: "c".to_owned(),
            tool: "ApplyPatch".to_owned(),
            arguments: json!({ "patch": "+tea" }),
            state: CallState::Open,
            command: None,
            result: None,
            millis: None,
        };
        app.asked[0].show_change(&call);
        app.work.shutdown().await;
        let lines = app.unsaid(&mut said);
        assert!(lines.iter().any(|line| line.contains("+tea")), "{lines:?}");
        assert_eq!(app.unsaid(&mut said), [""; 0], "it is asked once");
    }
}
