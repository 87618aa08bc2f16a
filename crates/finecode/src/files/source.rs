//! A TOML text as JSON, with the lines of its members for problems.

use std::path::{Path, PathBuf};

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;

/// Largest file of configuration (guess: ten times what is usual).
const MAX_FILE: u64 = 1 << 20;

/// A file of configuration that was read.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    text: String,
    pub(crate) value: Value,
}

impl Source {
    /// Reads a file. `None` if there is none.
    pub(crate) fn read(path: &Path) -> Option<Result<Self, Problem>> {
        let problem = |line, message| Problem {
            file: path.to_owned(),
            line,
            message,
        };
        let text = match bobbin_files::read_text(path, MAX_FILE) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => return Some(Err(problem(None, format!("it cannot be read: {error}")))),
        };
        let value = match DeTable::parse(&text) {
            Ok(table) => object(table.get_ref()),
            Err(error) => {
                let line = error.span().map(|span| line_at(&text, span.start));
                return Some(Err(problem(line, error.message().to_owned())));
            }
        };
        Some(Ok(Self {
            path: path.to_owned(),
            text,
            value,
        }))
    }

    /// Returns a problem with the member at this path, or with the nearest one around it.
    pub(crate) fn problem(&self, path: &[&str], message: impl Into<String>) -> Problem {
        Problem {
            file: self.path.clone(),
            line: self.line(path),
            message: message.into(),
        }
    }

    /// Returns whether it has a member.
    pub(crate) fn has(&self, path: &[&str]) -> bool {
        let mut value = Some(&self.value);
        for name in path {
            value = value.and_then(|value| value.get(name));
        }
        value.is_some()
    }

    fn line(&self, path: &[&str]) -> Option<usize> {
        // Problems are rare, so the text is parsed again instead of keeping all lines.
        let table = DeTable::parse(&self.text).ok()?;
        let mut table = table.get_ref();
        let mut start = None;
        for name in path {
            let found = table.iter().find(|(key, _)| key.get_ref().as_ref() == *name);
            let Some((key, value)) = found else { break };
            start = Some(key.span().start);
            match value.get_ref() {
                DeValue::Table(next) => table = next,
                _ => break,
            }
        }
        start.map(|start| line_at(&self.text, start))
    }
}

fn line_at(text: &str, at: usize) -> usize {
    text.char_indices()
        .take_while(|(index, _)| *index < at)
        .filter(|(_, letter)| *letter == '\n')
        .count()
        + 1
}

fn object(table: &DeTable<'_>) -> Value {
    let members = table
        .iter()
        .map(|(name, value)| (name.get_ref().to_string(), json(value)));
    Value::Object(members.collect::<Map<_, _>>())
}

fn json(value: &Spanned<DeValue<'_>>) -> Value {
    match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix());
            number.map_or(Value::Null, Value::from)
        }
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok().and_then(Number::from_f64);
            number.map_or(Value::Null, Value::Number)
        }
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(items) => Value::Array(items.iter().map(json).collect()),
        DeValue::Table(table) => object(table),
    }
}
