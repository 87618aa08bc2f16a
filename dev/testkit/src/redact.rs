//! Conversations as snapshots show them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// Writes a conversation down with everything that changes from run to run replaced.
pub fn redacted(messages: &[Value], workspace: &Path) -> String {
    let mut names = BTreeMap::new();
    let root = workspace.to_string_lossy().into_owned();
    let lines = messages.iter().map(|message| {
        let text = message.to_string().replace(&root, "WORKSPACE");
        redact(&text, &mut names)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Replaces ids by `thread_A`, `thread_B`, … in order of appearance; times stand still in tests.
fn redact(text: &str, names: &mut BTreeMap<String, String>) -> String {
    let mut out = String::new();
    for part in text.split_inclusive('"') {
        let word = part.strip_suffix('"').unwrap_or(part);
        let kind = ["thread_2", "queued_2", "term_"]
            .iter()
            .find(|kind| word.starts_with(**kind));
        let approval = word.len() == 12 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let name = match kind {
            Some(kind) => Some(kind.trim_end_matches('2').to_owned()),
            None => approval.then(|| "approval_".to_owned()),
        };
        let Some(prefix) = name else {
            out.push_str(part);
            continue;
        };
        let known = names.values().filter(|known| known.starts_with(&prefix)).count();
        let letter = ('A'..='Z').nth(known).unwrap_or('?');
        let name = names
            .entry(word.to_owned())
            .or_insert_with(|| format!("{prefix}{letter}"));
        out.push_str(name);
        out.push('"');
    }
    // Ids inside sentences.
    names.iter().fold(out, |text, (id, name)| text.replace(id, name))
}
