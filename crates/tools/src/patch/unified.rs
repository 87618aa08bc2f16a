//! Unified diffs, as `diff -u`, git and models write them; line numbers are only hints.

use super::{Action, FilePatch, Hunk, Mark};

/// The state of the current file's section.
#[derive(Default)]
struct Section {
    old: Option<String>,
    new: Option<String>,
    from: Option<String>,
    to: Option<String>,
    is_new: bool,
    is_gone: bool,
    hunks: Vec<Hunk>,
}

pub(super) fn read(lines: &[&str]) -> Result<Vec<FilePatch>, String> {
    let mut files = Vec::new();
    let mut section: Option<Section> = None;
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if let Some(names) = line.strip_prefix("diff --git ") {
            files.extend(section.take().map(Section::finish).transpose()?.flatten());
            let (old, new) = both_names(names);
            section = Some(Section {
                from: old,
                to: new,
                ..Section::default()
            });
        } else if let Some(old) = line.strip_prefix("--- ")
            && let Some(new) = lines.get(at).and_then(|next| next.strip_prefix("+++ "))
        {
            at += 1;
            let (old, new) = (file_name(old), file_name(new));
            // The names in git's own header, if it is the same file's.
            let known = section.take_if(|section| {
                let unnamed = section.from.is_none() && section.to.is_none();
                section.old.is_none() && (unnamed || section.from == old || section.to == new)
            });
            files.extend(section.take().map(Section::finish).transpose()?.flatten());
            let known = known.unwrap_or_default();
            section = Some(Section {
                is_new: known.is_new || old.is_none(),
                is_gone: known.is_gone || new.is_none(),
                old: Some(old.unwrap_or_default()),
                new,
                ..known
            });
        } else if let Some((start, old, new)) = numbers(line) {
            let Some(section) = section.as_mut().filter(|section| section.old.is_some()) else {
                return Err(format!("{line:?} comes before any --- and +++ lines"));
            };
            let (mut hunk, used) = hunk(&lines[at..], old, new);
            hunk.line = Some(if old == 0 { start + 1 } else { start.max(1) });
            at += used;
            section.hunks.push(hunk);
        } else if let Some(section) = &mut section {
            if let Some(from) = line.strip_prefix("rename from ") {
                section.from = Some(unquoted(from));
            } else if let Some(to) = line.strip_prefix("rename to ") {
                section.to = Some(unquoted(to));
            } else if line.starts_with("new file mode") {
                section.is_new = true;
            } else if line.starts_with("deleted file mode") {
                section.is_gone = true;
            } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
                return Err("a patch of binary files is not understood".to_owned());
            }
        }
    }
    files.extend(section.take().map(Section::finish).transpose()?.flatten());
    Ok(files)
}

impl Section {
    fn finish(self) -> Result<Option<FilePatch>, String> {
        let old = self.old.filter(|name| !name.is_empty()).or(self.from);
        let new = self.new.or(self.to);
        let added = || {
            let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
            let mut content = String::new();
            for (_, text) in lines.filter(|(mark, _)| *mark == Mark::Add) {
                content.push_str(text);
                content.push('\n');
            }
            if self.hunks.last().is_some_and(|hunk| hunk.no_newline) {
                content.pop();
            }
            Action::Add(content)
        };
        let (path, action) = match (old, new) {
            (_, Some(new)) if self.is_new => (new, added()),
            (Some(old), _) if self.is_gone => (old, Action::Delete),
            (Some(old), Some(new)) => {
                let to = (old != new).then_some(new);
                if self.hunks.is_empty() && to.is_none() {
                    // A change of mode alone, or an empty section.
                    return Err(format!("the section of {old} changes nothing"));
                }
                let hunks = self.hunks;
                (old, Action::Update { to, hunks })
            }
            _ => return Err("a section names no file".to_owned()),
        };
        Ok(Some(FilePatch { path, action }))
    }
}

/// Reads a hunk with the stated numbers of old and new lines. Returns the hunk and how many lines of the patch it took.
fn hunk(lines: &[&str], old: usize, new: usize) -> (Hunk, usize) {
    let (mut old, mut new) = (old, new);
    let mut hunk = Hunk::default();
    let mut used = 0;
    while let Some(line) = lines.get(used) {
        let whole = old == 0 && new == 0;
        let next = lines.get(used + 1).copied().unwrap_or_default();
        let after = lines.get(used + 2).copied().unwrap_or_default();
        let header =
            line.starts_with("--- ") && next.starts_with("+++ ") && (whole || numbers(after).is_some());
        if header || line.starts_with("diff --git ") || numbers(line).is_some() {
            break;
        }
        let (mark, text) = match line.chars().next() {
            None if whole => break,
            None => (Mark::Context, ""),
            Some(' ') => (Mark::Context, &line[1..]),
            Some('-') if !(whole && line.trim_end() == "--") => (Mark::Remove, &line[1..]),
            Some('+') => (Mark::Add, &line[1..]),
            Some('\\') => {
                hunk.no_newline = hunk.lines.last().is_some_and(|(mark, _)| *mark != Mark::Remove);
                used += 1;
                continue;
            }
            Some(_) => break,
        };
        old = old.saturating_sub(usize::from(mark != Mark::Add));
        new = new.saturating_sub(usize::from(mark != Mark::Remove));
        hunk.lines.push((mark, text.to_owned()));
        used += 1;
    }
    (hunk, used)
}

/// Returns the first old line and the numbers of old and new lines from a hunk's header.
pub(super) fn numbers(line: &str) -> Option<(usize, usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let span = |text: &str| -> Option<(usize, usize)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((start, old), (_, new)) = (span(old)?, span(new)?);
    Some((start, old, new))
}

/// Returns the file of a `---` or `+++` line; `None` for `/dev/null`.
fn file_name(text: &str) -> Option<String> {
    // Some programs write the time after a tab.
    let name = unquoted(text.split('\t').next().unwrap_or_default().trim());
    if name == "/dev/null" {
        return None;
    }
    let stripped = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"));
    Some(stripped.map_or_else(|| name.clone(), str::to_owned)).filter(|name| !name.is_empty())
}

/// Returns the names of a `diff --git` line, if they are unambiguous.
fn both_names(names: &str) -> (Option<String>, Option<String>) {
    match names.split_once(" b/") {
        Some((old, new)) => (file_name(old), Some(new.to_owned())),
        None => (None, None),
    }
}

/// Removes git's quotes from a name.
fn unquoted(name: &str) -> String {
    let Some(inner) = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(first @ b'0'..=b'3') => {
                let (second, third) = (rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0'));
                let digit = |byte: u8| byte.wrapping_sub(b'0') & 7;
                bytes.push(digit(first) << 6 | digit(second) << 3 | digit(third));
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
