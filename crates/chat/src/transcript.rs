//! Cells of the transcript as lines.

use std::path::Path;

use bobbin_model::{CommandStatus, TurnStatus};
use bobbin_native_wire::item::tool_payload::CommandExecutionPayload;
use crossterm::style::Color;

use crate::cells::{Body, Call, CallState, Ended};
use crate::change::{self, ChangeLine};
use crate::markdown;
use crate::text::{Line, Style, in_margin, safe, safe_line, wrapped};

/// Lines of a command's output that are shown: the first and the last.
const HEAD: usize = 3;
const TAIL: usize = 5;
/// Lines of a finished change that are shown.
const MAX_CHANGE: usize = 60;
/// Lines of a thought or of another tool's result that are shown.
const MAX_THOUGHT: usize = 4;
/// Lines of a user's message that are shown; of a longer one, only the first.
const MAX_MESSAGE: usize = 20;
const MESSAGE_HEAD: usize = 8;

pub(crate) const ACCENT: Style = Style::of(Color::Cyan);
pub(crate) const GOOD: Style = Style::of(Color::Green);
pub(crate) const BAD: Style = Style::of(Color::Red);
pub(crate) const WARN: Style = Style::of(Color::Yellow);

/// Returns a cell's lines, with an empty line in front.
/// `root` is the folder of the Thread's files, to find the places of changes in them.
pub(crate) fn lines(body: &Body, width: usize, root: Option<&Path>) -> Vec<Line> {
    if let Body::Agent(text) | Body::Thought { text, .. } = body
        && text.trim().is_empty()
    {
        return Vec::new();
    }
    // The question is a cell of its own.
    if let Body::Call(call) = body
        && call.tool == "AskUser"
        && call.state != CallState::Failed
    {
        return Vec::new();
    }
    let mut lines = vec![Line::default()];
    match body {
        Body::User { text, pictures } => lines.extend(user(text, *pictures, width)),
        Body::Agent(text) => lines.extend(agent(text, true, width)),
        Body::Thought { text, seconds } => lines.extend(thought(text, *seconds, width)),
        Body::Call(call) => lines.extend(of_call(call, width, root)),
        Body::Looks(calls) => lines.extend(looks(calls, width)),
        Body::Refused(operation) => {
            let line = Line::of("✗ ", BAD)
                .and("Refused: ", Style::PLAIN)
                .and(safe_line(operation), Style::DIM);
            lines.push(line.cut(width));
        }
        Body::Asked { question, answer } => {
            lines.extend(hanging("? ", WARN, &safe(question), Style::PLAIN, width));
            if let Some(answer) = answer {
                let answer = if answer.is_empty() {
                    "left to the agent"
                } else {
                    answer
                };
                lines.extend(hanging("  └ ", Style::DIM, &safe(answer), Style::PLAIN, width));
            }
        }
        Body::Notice { text, is_bad } => {
            let style = if *is_bad { BAD } else { Style::DIM };
            lines.extend(hanging("! ", style, &safe(text), style, width));
        }
        Body::End(ended) => lines.extend(end(ended, width)),
    }
    lines
}

/// Returns a text behind a mark, with its further lines indented.
pub(crate) fn hanging(mark: &str, mark_style: Style, text: &str, style: Style, width: usize) -> Vec<Line> {
    let lines: Vec<Line> = text.lines().map(|line| Line::of(line, style)).collect();
    let first = Line::of(mark, mark_style);
    let rest = Line::of(" ".repeat(first.width()), Style::PLAIN);
    in_margin(&lines, width, &first, &rest)
}

fn user(text: &str, pictures: usize, width: usize) -> Vec<Line> {
    let mut lines = hanging("› ", ACCENT, &safe(text), Style::BOLD, width);
    if lines.len() > MAX_MESSAGE {
        let left_out = lines.len() - MESSAGE_HEAD;
        lines.truncate(MESSAGE_HEAD);
        lines.push(more(left_out));
    }
    if pictures > 0 {
        let noun = if pictures == 1 { "picture" } else { "pictures" };
        lines.push(Line::of(format!("  [{pictures} {noun}]"), Style::DIM));
    }
    lines
}

/// Returns words of the agent. `is_first` gives them the mark.
pub(crate) fn agent(text: &str, is_first: bool, width: usize) -> Vec<Line> {
    let margin = Line::of("  ", Style::PLAIN);
    let first = if is_first {
        Line::of("• ", Style::DIM)
    } else {
        margin.clone()
    };
    in_margin(&markdown::rendered(text), width, &first, &margin)
}

fn thought(text: &str, seconds: Option<u64>, width: usize) -> Vec<Line> {
    let head = match seconds {
        Some(seconds) if seconds > 0 => format!("Thought for {seconds} s"),
        Some(_) => "Thought".to_owned(),
        None => "Thinking".to_owned(),
    };
    let mut lines = vec![Line::of("• ", Style::DIM).and(head, Style::DIM)];
    let style = Style {
        italic: true,
        ..Style::DIM
    };
    let text = safe(text.trim());
    let body = hanging("  ", Style::PLAIN, &text, style, width);
    let left_out = body.len().saturating_sub(MAX_THOUGHT);
    // The last lines are what it thinks now.
    if left_out > 0 && seconds.is_none() {
        lines.extend(body.into_iter().skip(left_out));
    } else {
        lines.extend(body.into_iter().take(MAX_THOUGHT));
        if left_out > 0 {
            lines.push(more(left_out));
        }
    }
    lines
}

fn more(count: usize) -> Line {
    Line::of(format!("    … {count} more lines"), Style::DIM)
}

fn mark(state: CallState) -> (&'static str, Style) {
    match state {
        CallState::Open => ("• ", WARN),
        CallState::Done => ("• ", GOOD),
        CallState::Failed | CallState::Refused => ("• ", BAD),
        CallState::Cancelled => ("• ", Style::DIM),
        CallState::Background => ("• ", ACCENT),
    }
}

fn took(millis: Option<u64>) -> String {
    match millis {
        Some(millis) if millis >= 1000 => format!("  {}.{} s", millis / 1000, millis % 1000 / 100),
        _ => String::new(),
    }
}

fn of_call(call: &Call, width: usize, root: Option<&Path>) -> Vec<Line> {
    let (sign, style) = mark(call.state);
    let (verb, object) = call.subject();
    let head = format!("{} ", safe_line(&verb));
    let object = safe(object.trim_end());
    let mut text: Vec<Line> = object.lines().map(|line| Line::of(line, Style::PLAIN)).collect();
    match text.first_mut() {
        Some(first) => *first = Line::of(head, Style::BOLD).and(first.0.remove(0).text, Style::PLAIN),
        None => text.push(Line::of(head.trim_end(), Style::BOLD)),
    }
    if let (Some(last), took) = (text.last_mut(), took(call.millis)) {
        last.push(took, Style::DIM);
    }
    let mut lines = in_margin(
        &text,
        width,
        &Line::of(sign, style),
        &Line::of("  │ ", Style::DIM),
    );
    if call.state == CallState::Refused {
        lines.push(Line::of("  ✗ ", BAD).and("Refused", Style::PLAIN));
        return lines;
    }
    if let Some(command) = &call.command {
        lines.extend(output(&command.aggregated_output, width));
        lines.extend(command_end(call, command, width));
        return lines;
    }
    if call.state != CallState::Failed && is_plan(&call.tool) {
        lines.extend(plan(call, width));
        return lines;
    }
    // The change of an open call is in the question about it.
    if matches!(call.state, CallState::Done | CallState::Cancelled)
        && !call.tool.starts_with("mcp__")
        && let Some(changed) = changed(call, root)
    {
        lines.extend(change::lines(&changed, width, MAX_CHANGE));
        return lines;
    }
    if let Some(result) = &call.result
        && (call.state == CallState::Failed || !call.tool.is_empty())
    {
        let style = if call.state == CallState::Failed {
            BAD
        } else {
            Style::DIM
        };
        let body = hanging("  └ ", Style::DIM, &safe(result.trim()), style, width);
        let left_out = body.len().saturating_sub(MAX_THOUGHT);
        lines.extend(body.into_iter().take(MAX_THOUGHT));
        if left_out > 0 {
            lines.push(more(left_out));
        }
    }
    lines
}

fn changed(call: &Call, root: Option<&Path>) -> Option<Vec<ChangeLine>> {
    let file = root.map(|root| root.join(call.path()));
    change::change_of_done_call(&call.tool, &call.arguments, file.as_deref())
}

fn is_plan(tool: &str) -> bool {
    matches!(tool, "CreatePlan" | "UpdateTodos" | "TodoWrite")
}

/// Returns the whole of a plan, as its reader decides about it, and its steps.
fn plan(call: &Call, width: usize) -> Vec<Line> {
    let margin = Line::of("  │ ", Style::DIM);
    let mut lines = Vec::new();
    for member in ["overview", "plan"] {
        let text = call.argument(member).trim();
        if text.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(margin.clone());
        }
        lines.extend(in_margin(&markdown::rendered(text), width, &margin, &margin));
    }
    let steps = call.arguments["todos"].as_array();
    for step in steps.into_iter().flatten() {
        let (mark, style) = match step["status"].as_str() {
            Some("completed") => ("  ✓ ", GOOD),
            Some("in_progress") => ("  ▸ ", ACCENT),
            Some("cancelled") => ("  – ", Style::DIM),
            _ => ("  ◦ ", Style::DIM),
        };
        let content = step["content"].as_str().unwrap_or_default();
        lines.extend(hanging(mark, style, &safe(content), Style::PLAIN, width));
    }
    lines
}

/// Returns a command's output, of a long one the beginning and the end.
fn output(text: &str, width: usize) -> Vec<Line> {
    let text = text.trim_end();
    if text.is_empty() {
        return Vec::new();
    }
    let all: Vec<&str> = text.lines().collect();
    let line = |text: &str| {
        // A carriage return starts the line anew: progress bars.
        let shown = text.rsplit('\r').next().unwrap_or_default();
        Line::of("  │ ", Style::DIM)
            .and(safe(shown).into_owned(), Style::DIM)
            .cut(width)
    };
    if all.len() <= HEAD + TAIL + 1 {
        return all.into_iter().map(line).collect();
    }
    let left_out = all.len() - HEAD - TAIL;
    let head = all[..HEAD].iter().copied().map(line);
    let tail = all[all.len() - TAIL..].iter().copied().map(line);
    head.chain([more(left_out)]).chain(tail).collect()
}

fn command_end(call: &Call, command: &CommandExecutionPayload, width: usize) -> Vec<Line> {
    let (text, style) = match (call.state, command.exit_code) {
        _ if command.status == CommandStatus::Lost => {
            let text = "the server was restarted while it ran: it may have had some or all of its effects";
            return hanging("  └ ", BAD, text, BAD, width);
        }
        (CallState::Failed, Some(code)) => (format!("  └ exit code {code}"), BAD),
        (CallState::Failed, None) => ("  └ failed".to_owned(), BAD),
        (CallState::Cancelled, _) => ("  └ stopped".to_owned(), Style::DIM),
        (CallState::Background, _) => ("  └ goes on in the background".to_owned(), ACCENT),
        _ => return Vec::new(),
    };
    vec![Line::of(text, style)]
}

/// Returns one row for calls that only look, and what failed of them.
fn looks(calls: &[Call], width: usize) -> Vec<Line> {
    let is_open = calls.iter().any(|call| call.state == CallState::Open);
    let (sign, style) = mark(if is_open { CallState::Open } else { CallState::Done });
    let mut text = Line::default();
    if let [call] = calls {
        let (verb, object) = call.subject();
        text.push(format!("{verb} "), Style::BOLD);
        text.push(safe_line(&object), Style::PLAIN);
    } else {
        let reads = calls.iter().filter(|call| call.tool == "ReadFile").count();
        let searches = calls.len() - reads;
        let count = |number: usize, verb: &str, one: &str, many: &str| match number {
            0 => None,
            1 => Some(format!("{verb} 1 {one}")),
            number => Some(format!("{verb} {number} {many}")),
        };
        let parts = [
            count(reads, "Read", "file", "files"),
            count(searches, "Searched", "time", "times"),
        ];
        text.push(
            parts.into_iter().flatten().collect::<Vec<_>>().join(", "),
            Style::BOLD,
        );
        let mut objects: Vec<String> = calls.iter().map(|call| call.subject().1).collect();
        objects.dedup();
        text.push(format!("  {}", safe_line(&objects.join(", "))), Style::DIM);
    }
    let mut lines = vec![Line::of(sign, style)];
    for span in text.0 {
        lines[0].push(span.text, span.style);
    }
    lines[0] = std::mem::take(&mut lines[0]).cut(width);
    for call in calls {
        let first = match call.state {
            CallState::Failed => call.result.as_deref().unwrap_or("failed"),
            CallState::Refused => "Refused",
            _ => continue,
        };
        let first = first.lines().next().unwrap_or_default();
        lines.push(Line::of("  └ ", Style::DIM).and(safe_line(first), BAD).cut(width));
    }
    lines
}

fn end(ended: &Ended, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    match ended.status {
        TurnStatus::Failed => {
            let error = ended.error.as_deref().unwrap_or("the turn failed");
            lines.extend(hanging("✗ ", BAD, &safe(error), BAD, width));
        }
        TurnStatus::Cancelled => lines.push(Line::of("✗ ", BAD).and("Interrupted", Style::PLAIN)),
        _ => {}
    }
    let mut parts = vec![format!("{} s", ended.seconds)];
    if ended.input > 0 {
        let cached = match ended.cached {
            0 => String::new(),
            cached => format!(" ({} cached)", grouped(cached)),
        };
        parts.push(format!(
            "{} in{cached}, {} out",
            grouped(ended.input),
            grouped(ended.output)
        ));
    }
    parts.extend(ended.cost.map(money));
    match ended.files {
        None | Some(0) => {}
        Some(1) => parts.push("1 file changed".to_owned()),
        Some(files) => parts.push(format!("{files} files changed")),
    }
    let parts = parts.join(" · ");
    lines.extend(hanging("  ", Style::PLAIN, &parts, Style::DIM, width));
    lines
}

/// Returns an amount of money.
pub(crate) fn money(cost: f64) -> String {
    let digits = if cost < 0.01 { 4 } else { 2 };
    format!("${cost:.digits$}")
}

/// Returns a number with a comma in front of every three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns lines of our own words, wrapped.
pub(crate) fn said(text: &str, style: Style, width: usize) -> Vec<Line> {
    let lines = text.lines().map(|line| Line::of(line, style));
    lines
        .flat_map(|line| wrapped(&line, width, &Line::default()))
        .collect()
}
