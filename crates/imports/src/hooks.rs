//! Hooks of Claude Code: those that Bobbin runs in the same way.

use bobbin_agent_api::hook::HookEvent;
use serde_json::{Map, Value};

use crate::brought::{Translation, shown};

/// Most hooks of one file.
const MAX_HOOKS: usize = 64;

/// Reads the hooks of a file by event.
pub(crate) fn read(events: Map<String, Value>, made: &mut Translation<'_>) {
    for (name, groups) in events {
        let Value::Array(groups) = groups else {
            made.unused_guard(format!("hooks.{}: no list", shown(&name)));
            continue;
        };
        if !HookEvent::ALL.iter().any(|event| event.name() == name) {
            made.unused(format!("hooks.{}: no event here", shown(&name)));
            continue;
        }
        let guards = name == HookEvent::PreToolUse.name();
        let mut taken = Vec::new();
        for group in groups {
            match of_group(group, made.hook_count, guards, &name, made) {
                Ok((group, count)) if count > 0 => {
                    made.hook_count += count;
                    taken.push(group);
                }
                Ok(_) => {}
                Err(why) => left_out(guards, &name, why, made),
            }
        }
        if !taken.is_empty() {
            made.hooks.insert(name, Value::Array(taken));
        }
    }
}

fn left_out(guards: bool, event: &str, why: &str, made: &mut Translation<'_>) {
    let what = format!("a hook of {event}: {why}");
    if guards {
        made.unused_guard(what);
    } else {
        made.unused(what);
    }
}

/// Returns the hooks of a matcher that are taken, and their number.
fn of_group(
    group: Value,
    known: usize,
    guards: bool,
    event: &str,
    made: &mut Translation<'_>,
) -> Result<(Value, usize), &'static str> {
    let Value::Object(mut group) = group else {
        return Err("no object");
    };
    if let Some(matcher) = group.get("matcher") {
        let matcher = matcher.as_str().ok_or("its matcher is no text")?;
        let is_all = ["", "*"].contains(&matcher);
        if !is_all && regex::Regex::new(&format!("^(?:{matcher})$")).is_err() {
            return Err("its matcher is no regular expression here");
        }
    }
    let Some(Value::Array(entries)) = group.remove("hooks") else {
        return Err("no list of hooks");
    };
    if group.keys().any(|member| member != "matcher") {
        return Err("it has members that are not known here");
    }
    let mut taken = Vec::new();
    for entry in entries {
        let usable = if known + taken.len() < MAX_HOOKS {
            is_usable(&entry)
        } else {
            Err("there are too many hooks")
        };
        match usable {
            Ok(()) => taken.push(entry),
            Err(why) => left_out(guards, event, why, made),
        }
    }
    let count = taken.len();
    group.insert("hooks".to_owned(), Value::Array(taken));
    Ok((Value::Object(group), count))
}

/// Whether a hook does here what it does there. Another member could limit or change it.
fn is_usable(entry: &Value) -> Result<(), &'static str> {
    let entry = entry.as_object().ok_or("no object")?;
    if entry.get("type").and_then(Value::as_str) != Some("command") {
        return Err("only hooks of the type command are run here");
    }
    let is_line = |line: &&str| !line.trim().is_empty() && line.len() <= 8 << 10 && !line.contains('\0');
    let line = entry.get("command").and_then(Value::as_str).filter(is_line);
    line.ok_or("it has no command line")?;
    let is_time = |time: &Value| time.as_f64().is_some_and(|time| time > 0.0 && time.is_finite());
    if entry.get("timeout").is_some_and(|time| !is_time(time)) {
        return Err("its timeout is no number of seconds");
    }
    let known = ["type", "command", "timeout", "statusMessage"];
    if entry.keys().any(|member| !known.contains(&&**member)) {
        return Err("it has members that are not known here");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::brought::Author;

    #[test]
    fn hooks_that_run_alike_are_taken_and_others_named() {
        let good = json!({ "type": "command", "command": "look", "timeout": 5 });
        let mut bad = Vec::new();
        for (member, value) in [
            ("type", json!("prompt")),
            ("command", json!(" ")),
            ("timeout", json!(-1)),
            ("if", json!("Bash(git *)")),
            ("async", json!(true)),
        ] {
            let mut entry = good.clone();
            entry[member] = value;
            bad.push(entry);
        }
        let mut mixed = bad.clone();
        mixed.push(good.clone());
        let Value::Object(events) = json!({
            "PreToolUse": [
                { "matcher": "Edit|Write", "hooks": mixed },
                { "matcher": "(", "hooks": [good] },
                { "matcher": 7, "hooks": [good] },
                { "hook": [good] },
                7,
            ],
            "Stop": [{ "hooks": bad[..1] }],
            "SessionEnd": [{ "hooks": [good] }],
            "PostToolUse": {},
        }) else {
            unreachable!()
        };
        let mut made = Translation::new(Author::User, None);
        read(events, &mut made);
        assert_eq!(
            Value::Object(made.hooks.clone()),
            json!({ "PreToolUse": [{ "matcher": "Edit|Write", "hooks": [good] }] })
        );
        let unused = made.named();
        let guards = unused.iter().filter(|(_, restrains)| *restrains).count();
        assert_eq!((made.hook_count, unused.len(), guards), (1, 12, 10), "{unused:?}");
    }

    #[test]
    fn their_number_is_bounded() {
        let many = vec![json!({ "type": "command", "command": "x" }); MAX_HOOKS + 2];
        let Value::Object(events) = json!({ "PreToolUse": [{ "hooks": many }, { "hooks": many }] }) else {
            unreachable!()
        };
        let mut made = Translation::new(Author::User, None);
        read(events, &mut made);
        assert_eq!(made.hook_count, MAX_HOOKS);
        assert!(made.named()[0].0.contains("too many"));
    }
}
