//! Names of a play: what its steps refer to, and what examples show in the place of values that differ from run to run.

use std::collections::BTreeMap;

use serde_json::{Value, json};

const TIME: &str = "2027-03-01T08:00:00.000Z";
/// Endings of made up ids, in order.
const ENDS: [&str; 8] = [
    "ab12cd", "ef34gh", "jk56mn", "pq78rs", "tu90vw", "xy12za", "bc34de", "fg56hj",
];
/// Members whose numbers depend on the machine or its speed.
const MEASURED: [(&str, u64); 27] = [
    ("longestTaskMs", 12),
    ("snapshotRevision", 1_803_888_000_000),
    ("seq", 128),
    ("bytes", 6000),
    ("bytesRead", 1200),
    ("bytesWritten", 3400),
    ("durationMs", 12),
    ("executionTimeMs", 12),
    ("frames", 50),
    ("memoryBytes", 31_457_280),
    ("messagesRead", 8),
    ("messagesWritten", 20),
    ("eventsWritten", 40),
    ("transactions", 9),
    ("uptimeMs", 5000),
    ("elapsedMs", 120),
    ("wallTimeMs", 120),
    ("outputBytes", 9),
    ("port", 5173),
    ("writeQueueBytes", 0),
    ("writeQueueLength", 0),
    ("runningInboundRequestCount", 1),
    ("processId", 4711),
    ("createdAtMs", 0),
    ("nextRunAtMs", 1_803_969_000_000),
    ("lastRunAtMs", 1_803_888_000_000),
    ("pid", 4711),
];

#[derive(Default)]
pub(super) struct Names {
    /// What a step writes as `$NAME`.
    variables: BTreeMap<String, Value>,
    /// Texts of this run and what examples have instead, longest first.
    shown: Vec<(String, String)>,
}

impl Names {
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.variables.insert(name.to_owned(), value);
    }

    /// Has examples show a text in another way.
    pub(super) fn show(&mut self, text: &str, instead: &str) {
        if self.shown.iter().all(|(known, _)| known != text) {
            self.shown.push((text.to_owned(), instead.to_owned()));
            self.shown
                .sort_by_key(|(known, _)| std::cmp::Reverse(known.len()));
        }
    }

    /// Puts values in the place of variables: any value for a whole text, texts within one.
    pub(super) fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                if let Some(value) = text.strip_prefix('$').and_then(|name| self.variables.get(name)) {
                    return value.clone();
                }
                let fill = |text: String, (name, value): (&String, &Value)| match value {
                    Value::String(value) => text.replace(&format!("${{{name}}}"), value),
                    _ => text,
                };
                self.variables.iter().fold(text.clone(), fill).into()
            }
            Value::Array(elements) => elements.iter().map(|element| self.filled(element)).collect(),
            Value::Object(members) => {
                let fill = |(name, value): (&String, &Value)| (name.clone(), self.filled(value));
                Value::Object(members.iter().map(fill).collect())
            }
            other => other.clone(),
        }
    }

    /// Returns a message as examples show it.
    pub(super) fn example(&mut self, value: &Value) -> Value {
        self.learn(value);
        self.replaced("", value)
    }

    /// Finds ids and gives them names.
    fn learn(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                for token in text.split(|c| !is_part(c)).filter(|token| token.len() > 7) {
                    if let Some(name) = self.name(token) {
                        self.show(token, &name);
                    }
                }
            }
            Value::Array(elements) => elements.iter().for_each(|element| self.learn(element)),
            Value::Object(members) => members.values().for_each(|value| self.learn(value)),
            _ => {}
        }
    }

    fn name(&self, token: &str) -> Option<String> {
        let of = |prefix: &str| {
            let known = self
                .shown
                .iter()
                .filter(|(_, name)| name.starts_with(prefix))
                .count();
            format!("{prefix}{}", ENDS[known % ENDS.len()])
        };
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if self
            .shown
            .iter()
            .any(|(text, name)| text == token || name == token)
        {
            return None;
        }
        let prefixes = [
            ("thread_2", "thread_20270301_"),
            ("queued_2", "queued_20270301080000000_"),
            ("term_", "term_"),
            ("forward_", "forward_"),
            ("ext-window-", "ext-window-"),
            ("ext-", "ext-"),
        ];
        if let Some((_, prefix)) = prefixes.iter().find(|(begin, _)| token.starts_with(begin)) {
            return Some(of(prefix));
        }
        // The time of a task's id.
        if let Some((slug, at)) = token.rsplit_once('-')
            && at.len() == 14
            && at.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Some(format!("{slug}-20270301080000"));
        }
        match token.len() {
            8 if is_hex(token) && !token.starts_with("2027") => Some(format!(
                "{:08x}",
                0x5be0_c1d2_u32 + u32::try_from(self.shown.len()).unwrap_or(0)
            )),
            12 if is_hex(token) => Some(format!("{:012x}", 0x4a3f_9c00 + self.shown.len())),
            16 | 32 | 40 | 64 if is_hex(token) => {
                Some(format!("{:016x}", 0x9f2c_7e10_0000_u64 + self.shown.len() as u64))
            }
            _ => None,
        }
    }

    fn replaced(&self, member: &str, value: &Value) -> Value {
        match value {
            Value::String(text) if is_time(text) => TIME.into(),
            // The day of this run.
            Value::String(_) if member == "date" => TIME[..10].into(),
            Value::String(text) if member == "code" && text.as_bytes().get(5) == Some(&b'-') => {
                "K7Q4M-2XWPT".into()
            }
            // Pieces are joined where a machine is slow: their beginnings are the same.
            Value::String(text) if member == "delta" => text.chars().take(6).collect::<String>().into(),
            Value::String(text) if text.contains("/authorize?") => {
                "https://login.example/authorize?response_type=code&…".into()
            }
            Value::String(text) => {
                // What confines a command is another thing on each machine.
                let until = [" (bubblewrap", " (Landlock"]
                    .into_iter()
                    .filter_map(|by| text.find(by));
                let text = &text[..until.min().unwrap_or(text.len())];
                // A thread's id is also a part of a host name, and its end the id of a worktree.
                let end = |id: &str| id.trim_start_matches("thread_").to_owned();
                let label = |id: &str| id.to_lowercase().replace('_', "-");
                let replace = |text: String, (real, shown): &(String, String)| match shown {
                    shown if shown.starts_with("thread_") => {
                        let text = text.replace(real, shown).replace(&label(real), &label(shown));
                        text.replace(&end(real), &end(shown))
                    }
                    shown => text.replace(real, shown),
                };
                self.shown.iter().fold(text.to_owned(), replace).into()
            }
            Value::Number(_) => {
                let pinned = MEASURED.iter().find(|(name, _)| *name == member);
                pinned.map_or_else(|| value.clone(), |(_, number)| json!(number))
            }
            // What confines commands, and in which version, is the machine's.
            Value::Array(_) if member == "heldBy" => json!(["bubblewrap", "Landlock 6", "seccomp"]),
            Value::Array(elements) => elements
                .iter()
                .map(|element| self.replaced(member, element))
                .collect(),
            Value::Object(members) => {
                let replace = |(name, value): (&String, &Value)| (name.clone(), self.replaced(name, value));
                // In one order, whatever order this build's `serde_json` has.
                let sorted: BTreeMap<_, _> = members.iter().map(replace).collect();
                Value::Object(sorted.into_iter().collect())
            }
            other => other.clone(),
        }
    }
}

fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 20 && bytes[4] == b'-' && bytes[10] == b'T' && text.ends_with('Z')
}
