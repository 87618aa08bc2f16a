//! Hooks in configuration files and plugins: `{"PreToolUse": [{"matcher": "Exec", "hooks": [{"type": "command", …}]}]}`.
//!
//! Unknown members are reported and left out; a broken entry does not affect the others. A broken entry of
//! `PreToolUse` stays as a hook without a command, so that a mistake lets no call pass. Hooks of a workspace's file
//! count once their user trusts them. They need trust again when they or a file of their command line change.

use std::path::Path;
use std::time::Duration;

use bobbin_agent_api::hook::HookEvent;
use bobbin_agent_api::trust::{TrustItem, TrustKind};
use bobbin_settings::{PluginFolder, Source, nearest, of_files, of_setting};
use bobbin_workspace::TrustRecord;
use serde_json::{Map, Value, json};

/// Time that a hook may take by default.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Longest time that a file can set.
const MAX_TIMEOUT: Duration = Duration::from_mins(10);
/// Most hooks of one file.
const MAX_HOOKS: usize = 64;
/// Longest command line and matcher.
const MAX_TEXT: usize = 8 << 10;
/// Names of the workspace's folder in command lines.
const PROJECT: [&str; 2] = ["${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"];

/// A hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The event that it runs for.
    pub event: HookEvent,
    /// A regular expression of the names that it runs for; `None`: all.
    pub matcher: Option<String>,
    /// The command line for a shell. `Err`: the mistake in the entry, as the end of a sentence; calls that match are
    /// refused.
    pub command: Result<String, String>,
    /// Longest time that it may take.
    pub timeout: Duration,
    /// Its owner.
    pub origin: HookOrigin,
}

/// The owner of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookOrigin {
    /// The user's own.
    User,
    /// The workspace's. It runs while its content has this fingerprint. `None`: the user has not trusted it; it does
    /// not run, and calls that it would check are refused.
    Workspace(Option<String>),
    /// A plugin's, with the plugin's id and folder.
    Plugin(String, PluginFolder),
}

impl Hook {
    /// Returns a hook that refuses calls, because the entry in `file` is unusable for the reason `why`.
    pub fn broken(file: &Path, matcher: Option<String>, why: &str) -> Self {
        Self {
            event: HookEvent::PreToolUse,
            matcher,
            command: Err(format!(
                "{}: {why}; mend it and start Bobbin again",
                file.display()
            )),
            timeout: TIMEOUT,
            origin: HookOrigin::User,
        }
    }

    /// Returns its name for users: its owner, its event and the start of its command line.
    pub fn name(&self) -> String {
        let whose = match &self.origin {
            HookOrigin::User => "your hook".to_owned(),
            HookOrigin::Workspace(_) => "the workspace's hook".to_owned(),
            HookOrigin::Plugin(id, _) => format!("the hook of the plugin {id}"),
        };
        let event = self.event.name();
        match &self.command {
            Ok(line) => format!(
                "{whose} {event} ({:?})",
                line.chars().take(60).collect::<String>()
            ),
            Err(_) => format!("{whose} {event}"),
        }
    }

    /// Whether it is unchanged since the user trusted it. Blocks on the disk.
    pub fn is_unchanged(&self, root: &Path) -> bool {
        match &self.origin {
            HookOrigin::User => true,
            HookOrigin::Workspace(trusted) => trusted.is_some() && self.fingerprint(root) == *trusted,
            HookOrigin::Plugin(_, folder) => folder.is_unchanged(),
        }
    }

    /// Returns the name of its switch: what it is asked about and runs, and its owner. One without a command has no switch.
    pub(crate) fn switch(&self) -> String {
        let owner = match &self.origin {
            HookOrigin::User => "user",
            HookOrigin::Workspace(_) => "workspace",
            HookOrigin::Plugin(id, _) => id,
        };
        let value = json!([owner, self.matcher, self.command.as_ref().ok()]);
        let is_plugin = matches!(self.origin, HookOrigin::Plugin(..));
        let kind = if is_plugin { "Plugins" } else { "Hooks" };
        of_setting(&format!("{kind}.{}", self.event.name()), &value)
    }

    /// Returns its fingerprint; `None` if it has no command. Blocks on the disk.
    pub(crate) fn fingerprint(&self, root: &Path) -> Option<String> {
        let command = self.command.as_ref().ok()?;
        let shown = root.to_string_lossy();
        let line = PROJECT
            .iter()
            .fold(command.clone(), |line, name| line.replace(name, &shown));
        let words = shell_words::split(&line)
            .unwrap_or_else(|_| line.split_whitespace().map(ToOwned::to_owned).collect());
        let value = json!({
            "Matcher": self.matcher,
            "Command": command,
            "Files": of_files(&words, root),
        });
        Some(of_setting(&format!("Hooks.{}", self.event.name()), &value))
    }

    /// Returns it as a hook of the folder `root`, with its trust item if it has a command. Blocks on the disk.
    fn of_folder(mut self, root: &Path, record: &TrustRecord) -> (Self, Option<TrustItem>) {
        let fingerprint = self.fingerprint(root);
        let trusted = fingerprint.clone().filter(|fingerprint| record.has(fingerprint));
        let item = self.what_runs().map(|detail| TrustItem {
            kind: TrustKind::Server,
            name: format!("the hook {}", self.event.name()),
            detail,
            trusted: trusted.is_some(),
            fingerprint,
        });
        self.origin = HookOrigin::Workspace(trusted);
        (self, item)
    }

    /// Describes to the user what it runs; `None` if it has no command.
    pub fn what_runs(&self) -> Option<String> {
        let command = self.command.as_ref().ok()?;
        Some(match &self.matcher {
            Some(matcher) => format!("runs {command:?} for {matcher:?}"),
            None => format!("runs {command:?}"),
        })
    }
}

/// Returns the hooks of a configuration file that count. Blocks on the disk.
pub fn of_file(section: Map<String, Value>, source: &mut Source<'_>) -> Vec<Hook> {
    let hooks = read(section, source.path, source.trusts_texts(), &mut source.warnings);
    let Some(record) = source.record() else {
        return hooks;
    };
    let mut counting = Vec::new();
    for hook in hooks {
        let (hook, item) = hook.of_folder(source.root, record);
        // In a trusted folder, a changed `PreToolUse` hook still refuses its calls.
        let guards = record.trusted && hook.event == HookEvent::PreToolUse;
        if guards || item.as_ref().is_some_and(|item| item.trusted) {
            counting.push(hook);
        }
        source.add_item(item);
    }
    counting
}

/// Returns the hooks of a section of `file`. Mistakes go to `warnings`. If `guards` is set, broken entries of
/// `PreToolUse` become hooks that refuse calls. It is not set for files of which no hook counts.
pub fn read(section: Map<String, Value>, file: &Path, guards: bool, warnings: &mut Vec<String>) -> Vec<Hook> {
    let mut reader = Reader {
        file,
        guards,
        hooks: Vec::new(),
        warnings,
    };
    for (name, groups) in section {
        reader.event(&name, groups);
    }
    let Reader { mut hooks, .. } = reader;
    if hooks.len() > MAX_HOOKS {
        warnings.push(format!("only the first {MAX_HOOKS} hooks are used"));
        let rest = hooks.split_off(MAX_HOOKS);
        if rest.iter().any(|hook| hook.event == HookEvent::PreToolUse) {
            let why = format!("there are more than {MAX_HOOKS} hooks, and the others look at calls");
            hooks.push(Hook::broken(file, None, &why));
        }
    }
    hooks
}

/// Reads the hooks of one file.
struct Reader<'a> {
    file: &'a Path,
    guards: bool,
    hooks: Vec<Hook>,
    warnings: &'a mut Vec<String>,
}

impl Reader<'_> {
    /// Records an unusable entry; `why` names the place of the mistake first.
    fn broken(&mut self, event: HookEvent, matcher: Option<String>, why: &str) {
        if self.guards && event == HookEvent::PreToolUse {
            self.warnings.push(format!(
                "{why}; each call that this hook may be about is refused until you mend it and start Bobbin again"
            ));
            self.hooks.push(Hook::broken(self.file, matcher, why));
        } else {
            self.warnings.push(format!("a hook is not used: {why}"));
        }
    }

    fn event(&mut self, name: &str, groups: Value) {
        let mut events = HookEvent::ALL.into_iter();
        let Some(event) = events.find(|event| event.name().eq_ignore_ascii_case(name)) else {
            let known = HookEvent::ALL.map(HookEvent::name);
            let why = format!("{name} is no event here");
            match nearest(known, name) {
                Some(near) if near == HookEvent::PreToolUse.name() => {
                    self.broken(
                        HookEvent::PreToolUse,
                        None,
                        &format!("{why} (did you mean {near}?)"),
                    );
                }
                Some(near) => self
                    .warnings
                    .push(format!("hooks are not used: {why} (did you mean {near}?)")),
                None => self.warnings.push(format!(
                    "hooks are not used: {why}; there are {}",
                    known.join(", ")
                )),
            }
            return;
        };
        let name = event.name();
        let Value::Array(groups) = groups else {
            self.broken(event, None, &format!("{name} is no list"));
            return;
        };
        for (index, group) in groups.into_iter().enumerate() {
            if let Err(why) = self.group(group, event, &format!("{name}[{index}]")) {
                self.broken(event, None, &why);
            }
        }
    }

    /// Reads the hooks with one matcher.
    fn group(&mut self, group: Value, event: HookEvent, place: &str) -> Result<(), String> {
        let Value::Object(mut group) = group else {
            return Err(format!("{place} is no object"));
        };
        let matcher = match group.remove("matcher") {
            None | Some(Value::Null) => None,
            Some(Value::String(matcher)) => Some(matcher).filter(|text| !matches!(text.as_str(), "" | "*")),
            Some(_) => return Err(format!("{place}.matcher is no text")),
        };
        if let Some(matcher) = &matcher {
            if matcher.len() > MAX_TEXT {
                return Err(format!("{place}.matcher is too long"));
            }
            expression(matcher)
                .map_err(|error| format!("{place}.matcher is no regular expression: {error}"))?;
        }
        let entries = group.remove("hooks");
        self.unknown(&group, "description", place);
        let Some(Value::Array(entries)) = entries else {
            self.broken(event, matcher, &format!("{place}.hooks is no list"));
            return Ok(());
        };
        for (index, entry) in entries.into_iter().enumerate() {
            match self.hook(entry, &format!("{place}.hooks[{index}]")) {
                Ok((command, timeout)) => self.hooks.push(Hook {
                    event,
                    matcher: matcher.clone(),
                    command: Ok(command),
                    timeout,
                    origin: HookOrigin::User,
                }),
                Err(why) => self.broken(event, matcher.clone(), &why),
            }
        }
        Ok(())
    }

    /// Returns the command line and the time of a hook.
    fn hook(&mut self, entry: Value, place: &str) -> Result<(String, Duration), String> {
        let Value::Object(mut entry) = entry else {
            return Err(format!("{place} is no object"));
        };
        match entry.remove("type") {
            Some(Value::String(kind)) if kind == "command" => {}
            Some(kind) => return Err(format!("{place}.type is {kind}; there is only \"command\"")),
            None => return Err(format!("{place}.type is missing")),
        }
        // These members limit or change what the hook runs for; without them it would do something else.
        for member in ["if", "args", "shell"] {
            if entry.contains_key(member) {
                return Err(format!(
                    "{place}.{member} is not known here, and the hook would do something else without it"
                ));
            }
        }
        let Some(Value::String(command)) = entry.remove("command") else {
            return Err(format!("{place}.command is no text"));
        };
        if command.trim().is_empty() || command.len() > MAX_TEXT || command.contains('\0') {
            return Err(format!("{place}.command is empty, too long, or has a zero byte"));
        }
        let timeout = match entry.remove("timeout") {
            None | Some(Value::Null) => TIMEOUT,
            Some(value) => value
                .as_f64()
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .filter(|time| !time.is_zero())
                .ok_or_else(|| format!("{place}.timeout is no number of seconds"))?,
        };
        self.unknown(&entry, "statusMessage", place);
        Ok((command, timeout.min(MAX_TIMEOUT)))
    }

    /// Reports the members of an entry that are not known.
    fn unknown(&mut self, left: &Map<String, Value>, unused: &str, place: &str) {
        let unknown = left.keys().filter(|member| *member != unused);
        self.warnings
            .extend(unknown.map(|member| format!("{place}.{member} is not known and left out")));
    }
}

/// Returns the regular expression of a matcher, which must match whole names.
///
/// # Errors
/// The text is no regular expression, or too large.
pub(crate) fn expression(matcher: &str) -> Result<regex::Regex, String> {
    let expression = regex::RegexBuilder::new(&format!("^(?:{matcher})$"))
        .size_limit(1 << 20)
        .build();
    expression.map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default();
        last.trim_start_matches("error: ").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(section: Value) -> (Vec<Hook>, Vec<String>) {
        let Value::Object(section) = section else {
            unreachable!();
        };
        let mut warnings = Vec::new();
        let hooks = read(section, Path::new("/config.json"), true, &mut warnings);
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
            (json!({ "Stopp": [] }), "did you mean Stop?"),
            (json!({ "SessionEnd": [] }), "is no event here"),
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
                "command is no text",
            ),
            (
                json!({ "Stop": [{ "hooks": [{ "type": "command", "command": "x", "timeout": -1 }] }] }),
                "no number of seconds",
            ),
            (
                json!({ "Stop": [{ "hooks": [{ "type": "command", "command": "x", "if": "Bash(git *)" }] }] }),
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
    fn a_guard_with_a_mistake_stays_as_one_that_refuses_what_it_may_be_about() {
        let all = None;
        let exec = Some("Exec");
        for (section, matcher, place) in [
            (
                json!({ "PreTolUse": [] }),
                all,
                "PreTolUse is no event here (did you mean PreToolUse?)",
            ),
            (json!({ "PreToolUse": {} }), all, "PreToolUse is no list"),
            (json!({ "PreToolUse": [7] }), all, "PreToolUse[0] is no object"),
            (
                json!({ "PreToolUse": [{ "matcher": "(", "hooks": [] }] }),
                all,
                "PreToolUse[0].matcher is no regular expression: unclosed group",
            ),
            (
                json!({ "PreToolUse": [{ "matcher": ["Exec"], "hooks": [] }] }),
                all,
                "PreToolUse[0].matcher is no text",
            ),
            (
                json!({ "PreToolUse": [{ "matcher": "Exec", "hook": [] }] }),
                exec,
                "PreToolUse[0].hooks is no list",
            ),
            (
                json!({ "PreToolUse": [{ "matcher": "Exec", "hooks": [
                    { "type": "command", "command": "x", "timeout": "5" },
                ] }] }),
                exec,
                "PreToolUse[0].hooks[0].timeout is no number of seconds",
            ),
            (
                json!({ "PreToolUse": [{ "matcher": "Exec", "hooks": [{ "type": "command", "comand": "x" }] }] }),
                exec,
                "PreToolUse[0].hooks[0].command is no text",
            ),
        ] {
            let (hooks, warnings) = of(section.clone());
            let seen: Vec<_> = hooks.iter().map(|hook| hook.matcher.as_deref()).collect();
            assert_eq!(seen, [matcher], "{section}");
            let why = hooks[0].command.clone().unwrap_err();
            assert_eq!(
                why,
                format!("/config.json: {place}; mend it and start Bobbin again")
            );
            let is_said = |warning: &String| warning.starts_with(place) && warning.contains("is refused");
            assert!(warnings.iter().any(is_said), "{warnings:?}");

            let Value::Object(section) = section else {
                unreachable!()
            };
            let mut warnings = Vec::new();
            let hooks = read(section, Path::new("/config.json"), false, &mut warnings);
            assert_eq!(hooks, [], "no hook of the file counts");
            assert!(
                warnings.iter().any(|warning| warning.contains("not used")),
                "{warnings:?}"
            );
        }
    }

    #[test]
    fn guards_beyond_the_bound_refuse_calls() {
        let entry = json!({ "type": "command", "command": "x" });
        let many = vec![entry; MAX_HOOKS + 1];
        let (hooks, _) = of(json!({ "PreToolUse": [{ "hooks": many }] }));
        assert_eq!(hooks.len(), MAX_HOOKS + 1);
        assert!(hooks[MAX_HOOKS].command.is_err());
        let (hooks, warnings) = of(json!({ "Stop": [{ "hooks": many }] }));
        assert_eq!((hooks.len(), warnings.len()), (MAX_HOOKS, 1));
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
        let item = item.unwrap();
        assert!(!item.trusted && item.detail.contains("look.sh"), "{item:?}");
        assert!(!hook.is_unchanged(&root), "nobody trusts it");
        record.add(item.fingerprint.as_deref().unwrap());
        let (hook, item) = hooks[0].clone().of_folder(&root, &record);
        assert!(item.unwrap().trusted && hook.is_unchanged(&root));
        std::fs::write(root.join("look.sh"), "exit 2").unwrap();
        assert!(!hook.is_unchanged(&root));
    }
}
