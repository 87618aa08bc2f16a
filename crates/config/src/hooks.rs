//! Hooks in configuration files and plugins: `{"PreToolUse": [{"matcher": "Exec", "hooks": [{"type": "command", …}]}]}`.
//!
//! What is not known is reported and left out; a broken entry takes no other with it. Hooks of a workspace's file count once
//! their user trusts them, and wait again when they, or a file that their command line names, change.

use std::path::Path;
use std::time::Duration;

use bobbin_agent_api::hook::HookEvent;
use bobbin_agent_api::trust::{TrustItem, TrustKind};
use bobbin_workspace::TrustRecord;
use serde_json::{Map, Value, json};

use crate::check::nearest;
use crate::{PluginFolder, fingerprint};

/// What a hook may take when nothing is said.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The longest time that can be asked for.
const MAX_TIMEOUT: Duration = Duration::from_mins(10);
/// Most hooks of one file.
const MAX_HOOKS: usize = 64;
/// Longest command line and matcher.
const MAX_TEXT: usize = 8 << 10;
/// What command lines call the workspace's folder.
const PROJECT: [&str; 2] = ["${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"];

/// A hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// When it is asked.
    pub event: HookEvent,
    /// A regular expression of what it is asked about; `None`: everything.
    pub matcher: Option<String>,
    /// The command line, for a shell.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// Whose it is.
    pub origin: HookOrigin,
}

/// Whose a hook is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookOrigin {
    /// The user's own.
    User,
    /// The workspace's; it runs while this stands for its content. `None`: its user has not trusted it, so it does not run,
    /// and what it is to look at before a call is not let pass.
    Workspace(Option<String>),
    /// A plugin's: its id and folder.
    Plugin(String, PluginFolder),
}

impl Hook {
    /// Returns its name for users: its event, whose it is, and how its command line begins.
    pub fn name(&self) -> String {
        let whose = match &self.origin {
            HookOrigin::User => "your hook".to_owned(),
            HookOrigin::Workspace(_) => "the workspace's hook".to_owned(),
            HookOrigin::Plugin(id, _) => format!("the hook of the plugin {id}"),
        };
        let start: String = self.command.chars().take(60).collect();
        format!("{whose} {} ({start:?})", self.event.name())
    }

    /// Whether it is the one that its user trusts. Blocks on the disk.
    pub fn is_unchanged(&self, root: &Path) -> bool {
        match &self.origin {
            HookOrigin::User => true,
            HookOrigin::Workspace(fingerprint) => fingerprint
                .as_ref()
                .is_some_and(|trusted| self.fingerprint(root) == *trusted),
            HookOrigin::Plugin(_, folder) => folder.is_unchanged(),
        }
    }

    /// Returns what stands for what it runs. Blocks on the disk.
    fn fingerprint(&self, root: &Path) -> String {
        let shown = root.to_string_lossy();
        let line = PROJECT
            .iter()
            .fold(self.command.clone(), |line, name| line.replace(name, &shown));
        let words = shell_words::split(&line)
            .unwrap_or_else(|_| line.split_whitespace().map(ToOwned::to_owned).collect());
        let value = json!({
            "Matcher": self.matcher,
            "Command": self.command,
            "Files": fingerprint::of_files(&words, root),
        });
        fingerprint::of_setting(&format!("Hooks.{}", self.event.name()), &value)
    }

    /// Returns it as one of the folder `root`, with the thing that waits for its user's word or has it. Blocks on the disk.
    pub(crate) fn of_folder(mut self, root: &Path, record: &TrustRecord) -> (Self, TrustItem) {
        let fingerprint = self.fingerprint(root);
        let item = TrustItem {
            kind: TrustKind::Server,
            name: format!("the hook {}", self.event.name()),
            detail: self.what_runs(),
            trusted: record.has(&fingerprint),
            fingerprint: Some(fingerprint.clone()),
        };
        self.origin = HookOrigin::Workspace(item.trusted.then_some(fingerprint));
        (self, item)
    }

    /// Returns what it runs, for the user to judge.
    pub fn what_runs(&self) -> String {
        match &self.matcher {
            Some(matcher) => format!("runs {:?} for {matcher:?}", self.command),
            None => format!("runs {:?}", self.command),
        }
    }
}

/// Returns the hooks of a section. What is wrong with it goes to `warnings`.
pub fn read(section: Map<String, Value>, origin: &HookOrigin, warnings: &mut Vec<String>) -> Vec<Hook> {
    let mut hooks = Vec::new();
    for (name, groups) in section {
        let mut events = HookEvent::ALL.into_iter();
        let Some(event) = events.find(|event| event.name().eq_ignore_ascii_case(&name)) else {
            let known = HookEvent::ALL.map(HookEvent::name);
            let hint = match nearest(known.iter().copied(), &name) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", known.join(", ")),
            };
            warnings.push(format!(
                "the hooks for {name} are not used: there is no such event here; {hint}"
            ));
            continue;
        };
        let Value::Array(groups) = groups else {
            warnings.push(format!("the hooks for {name} are not used: they are no list"));
            continue;
        };
        for group in groups {
            match read_group(group, event, origin, warnings) {
                Ok(more) => hooks.extend(more),
                Err(why) => warnings.push(format!("hooks for {name} are not used: {why}")),
            }
        }
    }
    if hooks.len() > MAX_HOOKS {
        warnings.push(format!("only the first {MAX_HOOKS} hooks are used"));
        hooks.truncate(MAX_HOOKS);
    }
    hooks
}

fn read_group(
    group: Value,
    event: HookEvent,
    origin: &HookOrigin,
    warnings: &mut Vec<String>,
) -> Result<Vec<Hook>, String> {
    let Value::Object(mut group) = group else {
        return Err("an entry is no object".to_owned());
    };
    let matcher = match group.remove("matcher") {
        None | Some(Value::Null) => None,
        Some(Value::String(matcher)) => Some(matcher).filter(|text| !matches!(text.as_str(), "" | "*")),
        Some(_) => return Err("a matcher is no text".to_owned()),
    };
    if let Some(matcher) = &matcher {
        if matcher.len() > MAX_TEXT {
            return Err("a matcher is too long".to_owned());
        }
        expression(matcher)
            .map_err(|error| format!("the matcher {matcher:?} is no regular expression: {error}"))?;
    }
    let Some(Value::Array(entries)) = group.remove("hooks") else {
        return Err("an entry has no list of hooks".to_owned());
    };
    for member in group.keys().filter(|member| *member != "description") {
        warnings.push(format!(
            "{member} of hooks for {} is not known and left out",
            event.name()
        ));
    }
    let mut hooks = Vec::new();
    for entry in entries {
        match read_hook(entry, event, warnings) {
            Ok((command, timeout)) => hooks.push(Hook {
                event,
                matcher: matcher.clone(),
                command,
                timeout,
                origin: origin.clone(),
            }),
            Err(why) => warnings.push(format!("a hook for {} is not used: {why}", event.name())),
        }
    }
    Ok(hooks)
}

/// Returns the command line and the time of a hook.
fn read_hook(
    entry: Value,
    event: HookEvent,
    warnings: &mut Vec<String>,
) -> Result<(String, Duration), String> {
    let Value::Object(mut entry) = entry else {
        return Err("it is no object".to_owned());
    };
    match entry.remove("type") {
        Some(Value::String(kind)) if kind == "command" => {}
        Some(kind) => return Err(format!("its type is {kind}; there is only \"command\"")),
        None => return Err("it has no type".to_owned()),
    }
    // Such a hook is asked about some calls only, and would be asked about all.
    for member in ["if", "args", "shell"] {
        if entry.contains_key(member) {
            return Err(format!(
                "{member} is not known here, and it would do something else without"
            ));
        }
    }
    let Some(Value::String(command)) = entry.remove("command") else {
        return Err("it has no command".to_owned());
    };
    if command.trim().is_empty() || command.len() > MAX_TEXT || command.contains('\0') {
        return Err("its command is empty, too long, or has a zero byte".to_owned());
    }
    let timeout = match entry.remove("timeout") {
        None | Some(Value::Null) => TIMEOUT,
        Some(value) => value
            .as_f64()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .filter(|time| !time.is_zero())
            .ok_or("its timeout is no number of seconds")?,
    };
    for member in entry.keys().filter(|member| *member != "statusMessage") {
        warnings.push(format!(
            "{member} of a hook for {} is not known and left out",
            event.name()
        ));
    }
    Ok((command, timeout.min(MAX_TIMEOUT)))
}

/// Returns the expression of a matcher, which is compared with whole names.
///
/// # Errors
/// It is none, or too large.
pub fn expression(matcher: &str) -> Result<regex::Regex, String> {
    let expression = regex::RegexBuilder::new(&format!("^(?:{matcher})$"))
        .size_limit(1 << 20)
        .build();
    expression.map_err(|error| error.to_string().lines().last().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(section: Value) -> (Vec<Hook>, Vec<String>) {
        let Value::Object(section) = section else {
            unreachable!();
        };
        let mut warnings = Vec::new();
        let hooks = read(section, &HookOrigin::User, &mut warnings);
        (hooks, warnings)
    }

    #[test]
    fn hooks_are_read_as_other_agents_write_them() {
        let (hooks, warnings) = of(json!({
            "PreToolUse": [
                { "matcher": "Bash|Exec", "hooks": [{ "type": "command", "command": "look", "timeout": 5 }] },
                { "matcher": "*", "hooks": [{ "type": "command", "command": "log" }] },
            ],
            "Stop": [{ "hooks": [{ "type": "command", "command": "done", "timeout": 9000 }] }],
        }));
        assert_eq!(warnings, [""; 0]);
        let seen: Vec<_> = hooks
            .iter()
            .map(|hook| (hook.event.name(), hook.matcher.as_deref(), hook.timeout.as_secs()))
            .collect();
        assert_eq!(
            seen,
            [
                ("PreToolUse", Some("Bash|Exec"), 5),
                ("PreToolUse", None, 60),
                ("Stop", None, 600)
            ]
        );
    }

    #[test]
    fn what_is_not_known_is_said_and_the_rest_is_used() {
        let good = json!({ "hooks": [{ "type": "command", "command": "x" }] });
        for (section, said) in [
            (json!({ "PreTolUse": [] }), "did you mean PreToolUse?"),
            (json!({ "SessionEnd": [] }), "no such event here"),
            (json!({ "Stop": {} }), "no list"),
            (json!({ "Stop": [7] }), "no object"),
            (
                json!({ "Stop": [{ "matcher": "(", "hooks": [] }] }),
                "no regular expression",
            ),
            (
                json!({ "Stop": [{ "hooks": [{ "type": "prompt" }] }] }),
                "only \"command\"",
            ),
            (
                json!({ "Stop": [{ "hooks": [{ "type": "command" }] }] }),
                "no command",
            ),
            (
                json!({ "Stop": [{ "hooks": [{ "type": "command", "command": "x", "timeout": -1 }] }] }),
                "no number of seconds",
            ),
            (
                json!({ "PreToolUse": [{ "hooks": [{ "type": "command", "command": "x", "if": "Bash(git *)" }] }] }),
                "if is not known here",
            ),
        ] {
            let mut whole = section.clone();
            whole["PostToolUse"] = json!([good]);
            let (hooks, warnings) = of(whole);
            assert_eq!((hooks.len(), warnings.len()), (1, 1), "{section}: {warnings:?}");
            assert!(warnings[0].contains(said), "{warnings:?}");
        }
    }

    #[test]
    fn a_hook_of_a_folder_is_another_when_its_script_changes() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::write(root.join("look.sh"), "exit 0").unwrap();
        let line = "sh \"$CLAUDE_PROJECT_DIR/look.sh\"";
        let (hooks, _) = of(json!({ "Stop": [{ "hooks": [{ "type": "command", "command": line }] }] }));
        let mut record = TrustRecord::default();
        let (hook, item) = hooks[0].clone().of_folder(&root, &record);
        assert!(!item.trusted && item.detail.contains("look.sh"), "{item:?}");
        assert!(!hook.is_unchanged(&root), "nobody trusts it");
        record.add(item.fingerprint.as_deref().unwrap());
        let (hook, item) = hooks[0].clone().of_folder(&root, &record);
        assert!(item.trusted && hook.is_unchanged(&root));
        std::fs::write(root.join("look.sh"), "exit 2").unwrap();
        assert!(!hook.is_unchanged(&root));
    }
}
