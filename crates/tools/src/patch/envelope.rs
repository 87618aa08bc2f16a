//! Patches of the form `*** Begin Patch`.
//!
//! ```text
//! *** Begin Patch
//! *** Add File: PATH          then lines that start with +
//! *** Delete File: PATH
//! *** Update File: PATH
//! *** Move to: PATH           optional
//! @@ LINE                     optional, several: an earlier line of the file
//!  unchanged, -removed, +added
//! *** End of File             optional
//! *** End Patch
//! ```

use super::{Action, FilePatch, Hunk, Mark};

pub(super) const FIRST: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

/// Reads the lines after the first one.
pub(super) fn read(lines: &[&str]) -> Result<Vec<FilePatch>, String> {
    let Some(end) = lines.iter().position(|line| line.trim() == END) else {
        return Err(format!("the patch has no \"{END}\" line; was it cut off?"));
    };
    let mut files = Vec::new();
    let mut rest = &lines[..end];
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        let head = first.trim();
        if head.is_empty() {
            continue;
        }
        let (file, used) = if let Some(path) = named(head, ADD)? {
            added(path, rest)?
        } else if let Some(path) = named(head, DELETE)? {
            let action = Action::Delete;
            (FilePatch { path, action }, 0)
        } else if let Some(path) = named(head, UPDATE)? {
            updated(path, rest)?
        } else {
            return Err(format!(
                "{first:?} is where \"{ADD}\", \"{DELETE}\" or \"{UPDATE}\" is expected"
            ));
        };
        files.push(file);
        rest = &rest[used..];
    }
    Ok(files)
}

fn named(line: &str, head: &str) -> Result<Option<String>, String> {
    match line.strip_prefix(head).map(str::trim) {
        Some("") => Err(format!("\"{head}\" names no file")),
        path => Ok(path.map(str::to_owned)),
    }
}

/// Returns how many of these lines belong to the current file.
fn own(lines: &[&str]) -> usize {
    let heads = [ADD, DELETE, UPDATE];
    let is_head = |line: &&str| heads.iter().any(|head| line.trim_end().starts_with(head));
    lines.iter().position(is_head).unwrap_or(lines.len())
}

fn added(path: String, lines: &[&str]) -> Result<(FilePatch, usize), String> {
    let used = own(lines);
    let mut content = String::new();
    for line in &lines[..used] {
        match line.strip_prefix('+') {
            Some(text) => {
                content.push_str(text);
                content.push('\n');
            }
            None if line.trim().is_empty() => {}
            None => return Err(format!("{line:?} in the new file {path} does not start with +")),
        }
    }
    let action = Action::Add(content);
    Ok((FilePatch { path, action }, used))
}

fn updated(path: String, lines: &[&str]) -> Result<(FilePatch, usize), String> {
    let used = own(lines);
    let mut own = &lines[..used];
    let mut to = None;
    if let Some((first, more)) = own.split_first()
        && let Some(name) = named(first.trim(), MOVE)?
    {
        (to, own) = (Some(name), more);
    }
    let mut hunks = Vec::new();
    let mut hunk = Hunk::default();
    for line in own {
        if let Some(anchor) = line.strip_prefix("@@") {
            if !hunk.lines.is_empty() {
                hunks.push(std::mem::take(&mut hunk));
            }
            // Some models write `@@ line @@`, or the numbers of a unified diff, which have no meaning here.
            let anchor = anchor.trim().trim_end_matches("@@").trim();
            if !anchor.is_empty() && super::unified::numbers(line).is_none() {
                hunk.anchors.push(anchor.to_owned());
            }
            continue;
        }
        if line.trim_end() == END_OF_FILE {
            hunk.at_end = true;
            if !hunk.lines.is_empty() {
                hunks.push(std::mem::take(&mut hunk));
            }
            continue;
        }
        let (mark, text) = match line.chars().next() {
            // An empty line whose leading blank is missing.
            None => (Mark::Context, ""),
            Some(' ') => (Mark::Context, &line[1..]),
            Some('-') => (Mark::Remove, &line[1..]),
            Some('+') => (Mark::Add, &line[1..]),
            Some(_) => {
                return Err(format!(
                    "{line:?} in the update of {path} starts with none of a blank, - and +; and every hunk after the \
                     first starts with @@"
                ));
            }
        };
        hunk.lines.push((mark, text.to_owned()));
    }
    if !hunk.lines.is_empty() {
        hunks.push(hunk);
    }
    for hunk in &mut hunks {
        // Blank lines between sections are ignored.
        let is_blank = |line: &(Mark, String)| line.0 == Mark::Context && line.1.is_empty();
        while !hunk.at_end && hunk.lines.last().is_some_and(is_blank) {
            hunk.lines.pop();
        }
    }
    hunks.retain(|hunk| hunk.lines.iter().any(|(mark, _)| *mark != Mark::Context));
    if hunks.is_empty() && to.is_none() {
        return Err(format!("the update of {path} changes nothing"));
    }
    let action = Action::Update { to, hunks };
    Ok((FilePatch { path, action }, used))
}
