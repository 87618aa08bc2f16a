//! The instructions of one line. A function understands the whole line, or returns `None`.

use bobbin_agent_api::tool_name;
use bobbin_model::plan::TodoStatus;
use serde_json::Value;

use super::instruction::{Instruction, Search};
use super::text::{after, after_any, is_noise, outside_quotes, path, quoted, skip};

/// Words before a name that say what it is.
const ARTICLES: &[&str] = &[
    "the", "this", "a", "an", "new", "empty", "file", "files", "command", "tool", "whole", "all", "me",
];

/// Names of the whole workspace.
const WORKSPACE: &[&str] = &["repository", "project", "workspace"];

/// Parses one line; `fenced` is the code block after it. A phrase that does not use the block has not understood the line.
pub(super) fn understand(line: &str, fenced: Option<&str>) -> Option<Instruction> {
    let using = raw_command(line)
        .filter(|_| fenced.is_none())
        .or_else(|| call(line, fenced))
        .or_else(|| write(line, fenced))
        .or_else(|| say(line, fenced))
        .or_else(|| run(line, fenced));
    if using.is_some() || fenced.is_some() {
        return using;
    }
    plan(line, &[])
        .or_else(|| replace(line))
        .or_else(|| list(line))
        .or_else(|| search(line))
        .or_else(|| read(line))
        .or_else(|| about(line))
}

/// Parses a shell prompt: everything after it is the command.
pub(super) fn raw_command(line: &str) -> Option<Instruction> {
    let command = line.strip_prefix("$ ")?.trim().to_owned();
    (!command.is_empty()).then_some(Instruction::Run { command })
}

/// ``run `cargo test` ``, `run: make`, ``run `make serve` in the background``
fn run(line: &str, fenced: Option<&str>) -> Option<Instruction> {
    let rest = skip(
        after(line, "run")?.trim_start_matches(':').trim_start(),
        &["the command"],
    );
    let command = match (fenced, quoted(rest)) {
        (Some(block), _) => is_noise(rest).then(|| block.trim().to_owned())?,
        (None, Some(named)) if is_noise(named.rest) => named.text.trim().to_owned(),
        (None, Some(named)) if after(named.rest, "in the background").is_some_and(is_noise) => {
            let command = named.text.trim().to_owned();
            return (!command.is_empty()).then_some(Instruction::Start { command });
        }
        _ => {
            // `run the tests` describes a command and is none.
            let is_described = after_any(rest, &["the", "all", "my", "this", "it", "a"]).is_some();
            if is_described {
                return None;
            }
            rest.trim().to_owned()
        }
    };
    (!command.is_empty()).then_some(Instruction::Run { command })
}

/// ``call mcp__pantry__steep with {"minutes": 3}``. Tools of no server are marked: ``use the tool editor_diagnostics``, or in
/// backquotes before arguments.
fn call(line: &str, fenced: Option<&str>) -> Option<Instruction> {
    let rest = after_any(line, &["call", "use"])?;
    let marked = after(rest, "the tool");
    let rest = marked.unwrap_or(rest);
    let (tool, rest) = if let Some(named) = quoted(rest) {
        (named.text, named.rest)
    } else {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        (
            rest[..end].trim_end_matches(':').to_owned(),
            rest[end..].trim_start(),
        )
    };
    let rest = after(rest, "with").unwrap_or(rest).trim_start_matches(':').trim();
    let is_quoted = line.contains('`') && rest.starts_with('{');
    if marked.is_none() && !is_quoted {
        tool_name::parts(&tool)?;
    }
    let arguments = match fenced {
        Some(block) => is_noise(rest).then_some(block)?,
        None if is_noise(rest) => "{}",
        None => rest,
    };
    let arguments: Value = serde_json::from_str(arguments.trim().trim_matches('`')).ok()?;
    arguments
        .is_object()
        .then_some(Instruction::Call { tool, arguments })
}

/// ``write `notes.txt`: hello``, `create a.txt with content x`, or a code block after the name.
fn write(line: &str, fenced: Option<&str>) -> Option<Instruction> {
    let rest = after_any(line, &["write", "create"])?;
    // `write "hello" to notes.txt`
    if let (Some(content), None) = (quoted(rest), fenced)
        && let Some(named) = after(content.rest, "to").and_then(path)
        && is_noise(named.rest)
    {
        return Some(written(named.text, content.text));
    }
    let named = path(skip(rest, ARTICLES))?;
    if !named.looks_like_path() {
        return None;
    }
    let inline = after_any(
        named.rest,
        &["with content", "with the content", "with", "containing"],
    )
    .map(|rest| rest.trim_start_matches(':'))
    .or_else(|| named.rest.strip_prefix(':'))
    .map(str::trim);
    let content = match (inline, fenced) {
        (Some(inline), None) if !inline.is_empty() => match quoted(inline) {
            Some(inner) if inner.rest.is_empty() => inner.text,
            _ => inline.to_owned(),
        },
        (None | Some(""), Some(block)) if inline.is_some() || is_noise(named.rest) => block.to_owned(),
        _ => return None,
    };
    Some(written(named.text, content))
}

/// Returns the instruction, with a line end after the content.
fn written(path: String, mut content: String) -> Instruction {
    if !content.is_empty() && !content.ends_with('\n') {
        content.push('\n');
    }
    Instruction::Write { path, content }
}

/// ``replace `a` with `b` in FILE``, `… in FILE everywhere`
fn replace(line: &str) -> Option<Instruction> {
    let rest = after(line, "replace")?;
    let (old, rest) = part(rest, "with")?;
    let (new, rest) = part(rest, "in")?;
    let named = path(rest)?;
    let all = after(named.rest, "everywhere");
    let is_whole = !old.is_empty() && is_noise(all.unwrap_or(named.rest));
    is_whole.then_some(Instruction::Replace {
        path: named.text,
        old,
        new,
        all: all.is_some(),
    })
}

/// Returns a text, quoted or not, up to a word, and what follows the word.
fn part<'a>(text: &'a str, word: &str) -> Option<(String, &'a str)> {
    if let Some(named) = quoted(text) {
        return Some((named.text, after(named.rest, word)?));
    }
    let at = outside_quotes(text, word).next()?;
    Some((text[..at].trim().to_owned(), text[at + word.len()..].trim()))
}

/// `say hello`, `repeat 5 tick`
fn say(line: &str, fenced: Option<&str>) -> Option<Instruction> {
    if let Some(rest) = after(line, "repeat") {
        let (times, rest) = rest.split_once(' ')?;
        let text = said(rest.trim(), fenced)?;
        let times = times.parse().ok()?;
        return Some(Instruction::Repeat { times, text });
    }
    let text = said(after(line, "say")?, fenced)?;
    Some(Instruction::Say { text })
}

fn said(rest: &str, fenced: Option<&str>) -> Option<String> {
    let rest = rest.strip_prefix(':').unwrap_or(rest).trim();
    let text = match (quoted(rest), fenced) {
        (_, Some(block)) => rest.is_empty().then(|| block.to_owned())?,
        (Some(inner), None) if is_noise(inner.rest) => inner.text,
        (_, None) => rest.to_owned(),
    };
    (!text.is_empty()).then_some(text)
}

/// `list files in src`, `ls src`, `find *.rs`
fn list(line: &str) -> Option<Instruction> {
    let is_find = after(line, "find").is_some();
    let rest = skip(after_any(line, &["list", "ls", "find"])?, ARTICLES);
    let rest = skip(rest, &["in", "here"]);
    let rest = skip(rest, ARTICLES);
    let none = Instruction::List {
        path: None,
        glob: None,
    };
    if is_noise(rest) {
        return (!is_find).then_some(none);
    }
    let named = path(rest)?;
    let is_glob = named.text.contains(['*', '?', '[', '{']);
    if named.text.starts_with('-') || !is_noise(named.rest) || (is_find && !is_glob) {
        return None;
    }
    let (path, glob) = if is_glob {
        (None, Some(named.text))
    } else {
        (Some(named.text), None)
    };
    Some(Instruction::List {
        path: path.filter(|path| path != "."),
        glob,
    })
}

/// `search for X in src`; `/X/` is a regular expression.
fn search(line: &str) -> Option<Instruction> {
    let rest = after_any(line, &["search for", "search", "find"])?.trim_end_matches(['.', '?', '!']);
    let (pattern, place) = match quoted(rest) {
        Some(named) => (
            named.text,
            after(named.rest, "in").or(is_noise(named.rest).then_some(""))?,
        ),
        None => match outside_quotes(rest, "in").last() {
            Some(at) => (rest[..at].trim().to_owned(), &rest[at + 2..]),
            None => (rest.to_owned(), ""),
        },
    };
    let expression = pattern
        .strip_prefix('/')
        .and_then(|text| text.strip_suffix('/'))
        .filter(|text| !text.is_empty());
    let mut search = Search {
        literal: expression.is_none(),
        ..Search::default()
    };
    search.pattern = expression.map(ToOwned::to_owned).unwrap_or(pattern);
    let place = skip(place.trim(), ARTICLES);
    let place = after_any(place, WORKSPACE).unwrap_or(place);
    if !is_noise(place) {
        let named = path(place)?;
        let is_glob = named.text.contains('*');
        (search.path, search.glob) = if is_glob {
            (None, Some(named.text))
        } else {
            (Some(named.text), None)
        };
        if !is_noise(named.rest) {
            return None;
        }
    }
    (!search.pattern.is_empty()).then_some(Instruction::Search(search))
}

/// `read README.md`
fn read(line: &str) -> Option<Instruction> {
    let named = path(skip(after_any(line, &["read", "show"])?, ARTICLES))?;
    let is_file = named.looks_like_path()
        || (after(line, "read").is_some() && !["it", "them"].contains(&named.text.as_str()));
    (is_file && is_noise(named.rest)).then_some(Instruction::Read { path: named.text })
}

/// `Summarize this repository.`, `help`
fn about(line: &str) -> Option<Instruction> {
    if after_any(line, &["help", "hello", "hi"]).is_some_and(is_noise) {
        return Some(Instruction::Help);
    }
    let rest = skip(after(line, "summarize")?, ARTICLES);
    let rest = after_any(rest, WORKSPACE).unwrap_or(rest);
    is_noise(rest).then_some(Instruction::Summarize)
}

/// Returns whether a list after this line belongs to it.
pub(super) fn is_plan_head(line: &str) -> bool {
    after(line, "plan").is_some_and(|rest| rest == ":")
}

/// `plan: first, second`, or `plan:` before a list.
pub(super) fn plan(line: &str, items: &[String]) -> Option<Instruction> {
    let inline = after(line, "plan")?.strip_prefix(':')?;
    let steps = inline
        .split(',')
        .chain(items.iter().map(String::as_str))
        .filter_map(step);
    let steps: Vec<(String, TodoStatus)> = steps.collect();
    (!steps.is_empty()).then(|| Instruction::Plan {
        title: String::new(),
        steps,
    })
}

/// Parses one step with its checkbox.
fn step(text: &str) -> Option<(String, TodoStatus)> {
    let text = text.trim();
    let boxes = [
        ("[x]", TodoStatus::Completed),
        ("[ ]", TodoStatus::Pending),
        ("[~]", TodoStatus::InProgress),
    ];
    let boxed = boxes
        .iter()
        .find_map(|(mark, status)| Some((text.strip_prefix(mark)?, *status)));
    let (content, status) = boxed.unwrap_or((text, TodoStatus::Pending));
    let content = content.trim();
    (!content.is_empty()).then(|| (content.to_owned(), status))
}

/// Returns a list item without its marker, or `None` for another line.
pub(super) fn strip_marker(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if let Some(rest) = ["- ", "* "].iter().find_map(|mark| line.strip_prefix(mark)) {
        return Some(rest.trim_start());
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = line[digits..].strip_prefix(". ")?;
    (digits > 0).then(|| rest.trim_start())
}
