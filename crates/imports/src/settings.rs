//! `settings.json` of Claude Code: permissions and hooks.

use serde_json::{Map, Value};

use crate::brought::{Translation, shown};
use crate::{hooks, permissions};

/// Reads a file into a translation.
pub(crate) fn read(text: &str, made: &mut Translation<'_>) {
    let value = serde_json::from_str(text.trim_start_matches('\u{feff}'));
    let Ok(Value::Object(mut members)) = value else {
        return made.unused_guard("all of it: it is no JSON object");
    };
    members.remove("$schema");
    match members.remove("permissions") {
        Some(Value::Object(permissions)) => of_permissions(permissions, made),
        Some(_) => made.unused_guard("permissions: no object"),
        None => {}
    }
    let are_off = members.get("disableAllHooks") == Some(&Value::Bool(true));
    match members.remove("hooks") {
        Some(_) if are_off => {
            members.remove("disableAllHooks");
            made.unused("hooks: disableAllHooks is set");
        }
        Some(Value::Object(events)) => hooks::read(events, made),
        Some(_) => made.unused_guard("hooks: no object"),
        None => {}
    }
    for name in members.keys() {
        made.unused(shown(name));
    }
}

/// Reads the lists of rules, those that forbid first: they have precedence where there are too many.
fn of_permissions(mut members: Map<String, Value>, made: &mut Translation<'_>) {
    for action in ["deny", "ask", "allow"] {
        match members.remove(action) {
            Some(Value::Array(rules)) => {
                for rule in rules {
                    permissions::read(action, &rule, made);
                }
            }
            Some(_) => made.unused_guard(format!("permissions.{action}: no list")),
            None => {}
        }
    }
    for name in members.keys() {
        made.unused(format!("permissions.{}", shown(name)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brought::Author;

    #[test]
    fn hooks_that_their_file_switches_off_are_not_taken() {
        let mut made = Translation::new(Author::User, None);
        let hooks = r#""hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}"#;
        read(&format!("{{{hooks}, \"disableAllHooks\": true}}"), &mut made);
        assert_eq!(made.hook_count, 0);
        read(&format!("{{{hooks}, \"disableAllHooks\": false}}"), &mut made);
        assert_eq!(made.hook_count, 1);
    }
}
