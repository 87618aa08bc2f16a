//! The picture: finished cells once, in order, and the live part after them.

use std::path::PathBuf;
use std::time::Duration;

use bobbin_client::ThreadState;
use bobbin_model::{QueueStatus, TodoStatus};
use bobbin_native_wire::turn::queue_types::QueuedTurnInput;
use unicode_width::UnicodeWidthStr as _;

use crate::cells::{self, Body, Cell};
use crate::markdown;
use crate::text::{Line, Style, safe_line};
use crate::transcript::{ACCENT, GOOD, WARN, agent, hanging, lines, money};

/// How far the transcript is in the terminal's scrollback.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Printed {
    /// The Turn that was printed last, whole or in part.
    turn: Option<String>,
    /// How many of its cells.
    cells: usize,
    /// Bytes of the next cell, if that is a message that still grows.
    text: usize,
    /// The folder of the Thread's files.
    root: Option<PathBuf>,
}

impl Printed {
    /// Nothing of the Turns that are there is printed again.
    pub(crate) fn up_to_now(state: &ThreadState) -> Self {
        Self {
            turn: state.turns.last().map(|turn| turn.turn.id.clone()),
            cells: usize::MAX,
            text: 0,
            root: folder(state),
        }
    }

    /// Returns the lines that are final now, and those of cells that are not.
    pub(crate) fn advance(&mut self, state: &ThreadState, width: usize) -> (Vec<Line>, Vec<Line>) {
        let (mut finished, mut live) = (Vec::new(), Vec::new());
        if self.root.is_none() {
            self.root = folder(state);
        }
        let known = self.turn.as_deref();
        let place = known.and_then(|id| state.turns.iter().position(|turn| turn.turn.id == id));
        for (at, turn) in state.turns.iter().enumerate().skip(place.unwrap_or_default()) {
            if place != Some(at) {
                *self = Self {
                    turn: Some(turn.turn.id.clone()),
                    root: self.root.take(),
                    ..Self::default()
                };
            }
            let cells = cells::of_turn(turn);
            // A Turn that ends gets one more cell.
            let from = self.cells.min(cells.len());
            for cell in &cells[from..] {
                if cell.is_done && live.is_empty() {
                    self.finish(&cell.body, width, &mut finished);
                } else {
                    self.grow(cell, width, &mut finished, &mut live);
                }
            }
        }
        (finished, live)
    }

    fn finish(&mut self, body: &Body, width: usize, finished: &mut Vec<Line>) {
        match body {
            Body::Agent(text) if self.text > 0 => {
                let rest = text.get(self.text..).unwrap_or_default();
                if !rest.trim().is_empty() {
                    finished.push(Line::default());
                    finished.extend(agent(rest, false, width));
                }
            }
            body => finished.extend(lines(body, width, self.root.as_deref())),
        }
        self.cells += 1;
        self.text = 0;
    }

    /// Shows a cell that is not final. Paragraphs of a message that are final are printed.
    fn grow(&mut self, cell: &Cell, width: usize, finished: &mut Vec<Line>, live: &mut Vec<Line>) {
        let Body::Agent(text) = &cell.body else {
            let is_asked = matches!(&cell.body, Body::Asked { answer: None, .. });
            let shown = lines(&cell.body, width, None);
            // An open question is shown where it is answered. Never empty, as at the end.
            if is_asked || shown.is_empty() {
                live.push(Line::default());
            } else {
                live.extend(shown);
            }
            return;
        };
        if !live.is_empty() {
            live.extend(lines(&cell.body, width, None));
            return;
        }
        let rest = text.get(self.text..).unwrap_or_default();
        let settled = markdown::settled(rest);
        if settled > 0 {
            finished.push(Line::default());
            finished.extend(agent(&rest[..settled], self.text == 0, width));
            self.text += settled;
        }
        let rest = &rest[settled..];
        // Never empty, so that no later cell is printed before this one.
        live.push(Line::default());
        live.extend(agent(rest, self.text == 0, width));
    }
}

fn folder(state: &ThreadState) -> Option<PathBuf> {
    let thread = state.thread.as_ref()?;
    Some(PathBuf::from(&thread.cwd))
}

/// Returns the plan's steps while a Turn runs: how many are done, and the present one.
pub(crate) fn plan(state: &ThreadState, width: usize) -> Option<Line> {
    let plan = state.thread.as_ref()?.plan.as_ref()?.0.as_ref()?;
    let done = plan
        .todos
        .iter()
        .filter(|todo| todo.status == TodoStatus::Completed)
        .count();
    if plan.todos.is_empty() || done == plan.todos.len() {
        return None;
    }
    let present = plan
        .todos
        .iter()
        .find(|todo| todo.status == TodoStatus::InProgress);
    let present = present.or_else(|| plan.todos.iter().find(|todo| todo.status == TodoStatus::Pending));
    let text = present.map(|todo| safe_line(&todo.content)).unwrap_or_default();
    let head = format!("  {done}/{} ", plan.todos.len());
    Some(Line::of(head, GOOD).and(text, Style::PLAIN).cut(width))
}

/// Returns the line that shows that the agent works.
pub(crate) fn working(state: &ThreadState, ticks: usize, elapsed: Duration, width: usize) -> Option<Line> {
    const PICTURES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
    let turn = state.open_turn()?;
    let picture = PICTURES[ticks % PICTURES.len()];
    let what = match &turn.waiting {
        Some(waiting) => safe_line(waiting),
        None => "Working".to_owned(),
    };
    let line = Line::of(format!("{picture} "), ACCENT).and(what, Style::PLAIN);
    let line = line.and(format!("  {} s · Esc interrupts", elapsed.as_secs()), Style::DIM);
    Some(line.cut(width))
}

/// Returns the subagents of the running Turn.
pub(crate) fn subagents(state: &ThreadState, width: usize) -> Vec<Line> {
    let line = |entry: &bobbin_native_wire::system::types::SubagentProgress| {
        let doing = match (&entry.current_tool_display, &entry.current_tool) {
            _ if entry.is_completed => "done",
            (Some(display), _) => display,
            (None, Some(tool)) => tool,
            (None, None) => "thinking",
        };
        let line = Line::of("  ◦ ", ACCENT).and(safe_line(&entry.label), Style::PLAIN);
        line.and(format!("  {}", safe_line(doing)), Style::DIM).cut(width)
    };
    state.subagents.iter().map(line).collect()
}

/// Returns the inputs that wait, and what they wait for.
pub(crate) fn queued(state: &ThreadState, width: usize) -> Vec<Line> {
    let inputs = state.thread.iter().flat_map(|thread| &thread.queued_inputs);
    let (queued, next): (Vec<_>, Vec<_>) = inputs.partition(|input| input.status == QueueStatus::Queued);
    let line = |input: &&QueuedTurnInput| {
        let line = Line::of("  ⋮ ", WARN).and(safe_line(&input.display_text), Style::DIM);
        line.cut(width)
    };
    let mut lines: Vec<Line> = next.iter().map(line).collect();
    if !next.is_empty() {
        lines.push(Line::of("    waits for the turn's next step", Style::DIM).cut(width));
    }
    lines.extend(queued.iter().map(line));
    if !queued.is_empty() {
        // After a Turn that did not complete nothing follows by itself.
        let keys = match state.open_turn() {
            Some(_) => "waits for the turn · ↑ edits it · Ctrl-S sends it now",
            None => "not sent yet · ↑ edits it · Ctrl-S sends it",
        };
        lines.extend(hanging("    ", Style::PLAIN, keys, Style::DIM, width));
    }
    lines
}

/// The facts of the last line.
#[derive(Debug, Default)]
pub(crate) struct Status<'a> {
    pub(crate) model: &'a str,
    pub(crate) effort: Option<&'a str>,
    pub(crate) mode: Option<&'a str>,
    pub(crate) policy: &'a str,
    /// The reason why there is no connection.
    pub(crate) lost: Option<&'a str>,
}

/// Columns that the title of the Thread needs at least.
const TITLE: usize = 15;

/// Returns the last line.
pub(crate) fn status(state: &ThreadState, facts: &Status<'_>, width: usize) -> Line {
    if let Some(why) = facts.lost {
        let text = format!("  no connection, trying again: {}", safe_line(why));
        return Line::of(text, WARN).cut(width);
    }
    let mut line = Line::of("  ", Style::PLAIN);
    if let Some(mode) = facts.mode {
        line.push(format!("{mode} mode"), ACCENT);
        line.push(" · ", Style::DIM);
    }
    let model = safe_line(facts.model);
    let beside = line.width() + facts.policy.width() + " · ".width();
    let model = match model.rsplit_once('/') {
        Some((_, name)) if model.width() + beside > width => name.to_owned(),
        _ => model,
    };
    let mut parts = vec![model];
    parts.push(facts.policy.to_owned());
    parts.extend(facts.effort.map(str::to_owned));
    if let Some(thread) = &state.thread {
        if let Some(usage) = &thread.context_usage {
            parts.push(format!("{:.0}% of the window left", usage.percent_left * 100.0));
        }
        parts.extend(thread.cost.filter(|cost| *cost > 0.0).map(money));
    }
    // The last ones go first where not all have room.
    for (at, part) in parts.iter().filter(|part| !part.is_empty()).enumerate() {
        let part = format!("{}{part}", if at == 0 { "" } else { " · " });
        if at > 0 && line.width() + part.width() > width {
            break;
        }
        line.push(part, Style::DIM);
    }
    let title = state
        .thread
        .as_ref()
        .and_then(|thread| thread.display_name.as_deref());
    if let Some(title) = title.filter(|_| line.width() + TITLE <= width) {
        line.push(format!(" · {}", safe_line(title)), Style::DIM);
    }
    line.cut(width)
}

#[cfg(test)]
pub(crate) mod tests;
