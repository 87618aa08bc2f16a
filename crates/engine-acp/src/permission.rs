//! Permissions that an agent asks for: what the user's rules say, what the question says, which option answers it.

use std::path::{Path, PathBuf};

use bobbin_acp_wire::{
    PermissionOption, PermissionOptionKind, PermissionOutcome, ToolCall, ToolCallContent, ToolKind,
};
use bobbin_agent_api::policy::{Judgement, PathAccess, Policy};
use bobbin_model::{ApprovalKind, Coverage, Scope};

use crate::settings::EngineConfig;

/// Most characters of an operation in a question.
const MAX_OPERATION: usize = 4096;

/// Returns what the rules say of a call. Blocks on the disk.
pub(crate) fn judge(policy: &dyn Policy, call: &ToolCall, name: &str, root: &Path) -> Judgement {
    let mut rulings: Vec<Option<Judgement>> = vec![];
    let tool = policy.tool(name).map(|ruling| ruling.judgement);
    let command = command(call).map(|line| policy.command(line, root).ruling.judgement);
    let access = match call.kind {
        Some(ToolKind::Read | ToolKind::Search) => PathAccess::Read,
        _ => PathAccess::Write,
    };
    for path in paths(call, root) {
        let ruling = policy.path(access, &path, root);
        rulings.push(ruling.map(|ruling| ruling.judgement));
    }
    let denies = |judgement: &Option<Judgement>| *judgement == Some(Judgement::Deny);
    if rulings.iter().chain([&tool, &command]).any(denies) {
        return Judgement::Deny;
    }
    let allowed = Some(Judgement::Allow);
    let allows_paths = !rulings.is_empty() && rulings.iter().all(|ruling| *ruling == allowed);
    let no_rule_asks = !rulings
        .iter()
        .chain([&tool])
        .any(|ruling| *ruling == Some(Judgement::Ask));
    if no_rule_asks && (tool == allowed || command == allowed || (command.is_none() && allows_paths)) {
        Judgement::Allow
    } else {
        Judgement::Ask
    }
}

/// The file or the command line that a user has allowed an agent: those that the question showed, and as they were then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    file: Option<PathBuf>,
    changes: bool,
    command: Option<String>,
}

impl Allowed {
    /// Returns what an answer to the question about a call allows.
    pub(crate) fn of(call: &ToolCall, root: &Path) -> Self {
        match kind_of(call) {
            ApprovalKind::Shell => Self {
                // The question shows no more of a longer one.
                command: command(call)
                    .filter(|line| line.chars().count() <= MAX_OPERATION)
                    .map(str::to_owned),
                ..Self::default()
            },
            ApprovalKind::File => Self {
                file: paths(call, root).into_iter().next(),
                changes: !matches!(call.kind, Some(ToolKind::Read | ToolKind::Search)),
                command: None,
            },
            ApprovalKind::RemoteResource => Self::default(),
        }
    }

    /// Whether it covers reading a file.
    pub(crate) fn reads(&self, path: &Path) -> bool {
        self.file.as_deref() == Some(path)
    }

    /// Whether it covers changing a file.
    pub(crate) fn changes(&self, path: &Path) -> bool {
        self.changes && self.reads(path)
    }

    /// Whether it covers a command line.
    pub(crate) fn runs(&self, line: &str) -> bool {
        self.command.as_deref() == Some(line)
    }
}

/// Returns the kind of the question about a call.
fn kind_of(call: &ToolCall) -> ApprovalKind {
    match call.kind {
        Some(ToolKind::Execute) => ApprovalKind::Shell,
        Some(ToolKind::Read | ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Search) => {
            ApprovalKind::File
        }
        _ if command(call).is_some() => ApprovalKind::Shell,
        _ => ApprovalKind::RemoteResource,
    }
}

/// Returns the scope of the question about a call, and its sentence. An answer covers equal operations only.
pub(crate) fn question(config: &EngineConfig, call: &ToolCall, root: &Path) -> (Scope, String) {
    let title = call.title.as_deref().unwrap_or("a tool call");
    let kind = kind_of(call);
    let operation = match kind {
        ApprovalKind::Shell => command(call).unwrap_or(title),
        ApprovalKind::File | ApprovalKind::RemoteResource => title,
    };
    let target = paths(call, root).into_iter().next();
    let target = target.unwrap_or_else(|| root.to_owned());
    let scope = Scope {
        kind,
        operation: operation.chars().take(MAX_OPERATION).collect(),
        target: target.to_string_lossy().into_owned(),
        coverage: Coverage::Exact,
        conditions: vec![format!("by the agent {}", config.name)],
        // With network or keys, an agent can do more than its sandbox shows.
        sandboxed: !config.reaches_network() && config.environment.is_empty(),
        of_owner: false,
    };
    let reason = format!("The agent {} asks before it does this: {title}.", config.name);
    (scope, reason)
}

/// Returns the option that stands for an answer. The agent is not given a lasting one where it also offers one for once:
/// later questions come here, where rules and earlier answers decide.
pub(crate) fn outcome(options: &[PermissionOption], allows: bool) -> PermissionOutcome {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let wanted = if allows {
        [AllowOnce, AllowAlways]
    } else {
        [RejectOnce, RejectAlways]
    };
    let found = wanted
        .into_iter()
        .find_map(|kind| options.iter().find(|option| option.kind == kind));
    found.map_or(PermissionOutcome::Cancelled, |option| {
        PermissionOutcome::Selected {
            option_id: option.option_id.clone(),
        }
    })
}

/// Returns the command line of a call that says one.
fn command(call: &ToolCall) -> Option<&str> {
    call.raw_input.as_ref()?.get("command")?.as_str()
}

/// Returns the paths of a call, absolute.
pub(crate) fn paths(call: &ToolCall, root: &Path) -> Vec<PathBuf> {
    let located = call.locations.iter().flatten().map(|location| &location.path);
    let changed = call.content.iter().flatten().filter_map(|content| match content {
        ToolCallContent::Diff { path, .. } => Some(path),
        ToolCallContent::Content { .. } | ToolCallContent::Terminal { .. } | ToolCallContent::Unknown => None,
    });
    located.chain(changed).map(|path| root.join(path)).collect()
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::policy::NoRules;
    use serde_json::json;

    use super::*;
    use crate::settings::EngineNetwork;

    fn call(value: serde_json::Value) -> ToolCall {
        serde_json::from_value(value).unwrap()
    }

    fn option(id: &str, kind: PermissionOptionKind) -> PermissionOption {
        PermissionOption {
            option_id: id.into(),
            name: id.into(),
            kind,
        }
    }

    #[test]
    fn an_answer_for_once_wins_over_a_lasting_one() {
        use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways};
        let selected = |id: &str| PermissionOutcome::Selected { option_id: id.into() };
        let all = [
            option("ever", AllowAlways),
            option("tool", AllowAlways),
            option("now", AllowOnce),
            option("never", RejectAlways),
        ];
        assert_eq!(outcome(&all, true), selected("now"));
        assert_eq!(outcome(&all, false), selected("never"));
        assert_eq!(outcome(&all[..2], true), selected("ever"));
        assert_eq!(outcome(&all[..2], false), PermissionOutcome::Cancelled);
    }

    #[test]
    fn an_answer_covers_the_file_or_the_command_that_was_shown() {
        let root = Path::new("/srv/tea");
        let edit = call(
            json!({ "toolCallId": "1", "kind": "edit", "rawInput": { "command": "rm x" },
            "locations": [{ "path": "a.txt" }, { "path": "/etc/b.txt" }] }),
        );
        let allowed = Allowed::of(&edit, root);
        let (shown, other) = (Path::new("/srv/tea/a.txt"), Path::new("/etc/b.txt"));
        assert!(allowed.changes(shown) && allowed.reads(shown) && !allowed.changes(other));
        assert!(!allowed.runs("rm x"), "the question names the file");
        let read =
            call(json!({ "toolCallId": "2", "kind": "read", "locations": [{ "path": "/etc/b.txt" }] }));
        let allowed = Allowed::of(&read, root);
        assert!(allowed.reads(other) && !allowed.changes(other));
        let run = call(
            json!({ "toolCallId": "3", "kind": "execute", "rawInput": { "command": "boil" },
            "locations": [{ "path": "/etc/b.txt" }] }),
        );
        let allowed = Allowed::of(&run, root);
        assert!(allowed.runs("boil") && !allowed.runs("boil x") && !allowed.reads(other));
        let long = "x".repeat(MAX_OPERATION + 1);
        let run = call(json!({ "toolCallId": "4", "kind": "execute", "rawInput": { "command": long } }));
        assert!(!Allowed::of(&run, root).runs(&long), "its end was not shown");
    }

    #[test]
    fn a_question_names_the_command_or_the_file() {
        let mut config = EngineConfig {
            name: "tea".into(),
            program: "tea".into(),
            arguments: vec![],
            environment: vec![],
            network: EngineNetwork::AsCommands,
        };
        let root = Path::new("/srv/tea");
        let run = call(json!({ "toolCallId": "1", "kind": "execute", "title": "Boil",
            "rawInput": { "command": "boil" } }));
        let (scope, reason) = question(&config, &run, root);
        assert_eq!(
            (scope.kind, scope.operation.as_str()),
            (ApprovalKind::Shell, "boil")
        );
        assert_eq!(scope.target, "/srv/tea");
        assert!(scope.sandboxed && reason.contains("tea asks"));
        let edit = call(json!({ "toolCallId": "2", "kind": "edit", "title": "Edit a.txt",
            "content": [{ "type": "diff", "path": "a.txt", "newText": "x" }] }));
        let (scope, _) = question(&config, &edit, root);
        assert_eq!(
            (scope.kind, scope.target.as_str()),
            (ApprovalKind::File, "/srv/tea/a.txt")
        );
        assert!(scope.sandboxed);
        for network in [
            EngineNetwork::Everything,
            EngineNetwork::Hosts(vec!["tea.example.com".into()]),
        ] {
            config.network = network;
            let (scope, _) = question(&config, &edit, root);
            assert!(!scope.sandboxed, "{:?}", config.network);
        }
        // Without rules, a user is asked.
        assert_eq!(judge(&NoRules, &edit, "edit", root), Judgement::Ask);
        let bare = call(json!({ "toolCallId": "3" }));
        assert_eq!(judge(&NoRules, &bare, "other", root), Judgement::Ask);
    }
}
