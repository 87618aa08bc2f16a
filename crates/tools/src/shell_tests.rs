//! Tests of the shell tool.

use std::sync::{Arc, Mutex};

use bobbin_agent_api::SystemClock;
use bobbin_agent_api::client::{
    Answered, ClientFailure, ClientToolCall, Clients, Editor, EditorCan, Service, ThreadClient,
};
use bobbin_agent_api::tool::{CallContext, OutputSink};
use bobbin_children::Children;
use bobbin_model::{CommandStatus, ThreadId};
use bobbin_sandbox::{Files, Network, Profile, Support};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::testing::Workspace;
use bobbin_agent_api::tool::split_status;

fn tool() -> ShellTool {
    let mut environment = Environment::empty();
    environment.set("PATH", "/usr/bin:/bin");
    let terminals = Terminals::nowhere(Children::new(None), Arc::new(SystemClock));
    ShellTool::new(terminals, environment, Shell::Posix, Sandbox::default())
}

#[tokio::test]
async fn a_command_gives_its_output_and_its_end() {
    let workspace = Workspace::new();
    workspace.write("a", "hello\n");
    let output = workspace
        .call(&tool(), json!({ "command": " cat a; exit 3 " }))
        .await;
    assert_eq!(output.text, "exit code 3\nhello\n");
    let end = output.command.unwrap();
    assert_eq!(
        (end.exit_code, end.status, output.success),
        (Some(3), CommandStatus::Failed, false)
    );
    assert_eq!(split_status(&output.text), Some(("exit code 3", "hello\n")));
}

#[tokio::test]
async fn a_command_runs_no_longer_than_it_may() {
    let output = Workspace::new()
        .call(&tool(), json!({ "command": "sleep 60", "timeoutMs": 50 }))
        .await;
    assert_eq!(output.command.unwrap().status, CommandStatus::Killed);
    assert_eq!(output.text, "killed after 50 ms, its time limit\n");
}

#[test]
fn a_turn_waits_so_long_for_a_command_and_then_leaves_or_kills_it() {
    let place = Workspace::new();
    let children = Children::new(None);
    let clock = Arc::new(SystemClock);
    let bounds = bobbin_terminals::Bounds::default();
    let terminals = Terminals::open(children, &place.outside().join("terminals"), clock, bounds).unwrap();
    let keeping = ShellTool::new(terminals, Environment::empty(), Shell::Posix, Sandbox::default());
    let seconds = Duration::from_secs;
    let (requested, limit) = (BackgroundReason::Requested, BackgroundReason::TimeLimit);
    for (tool, arguments, expected) in [
        (&keeping, json!({}), (None, Some((seconds(120), limit)))),
        (&keeping, json!({ "timeoutMs": 5000 }), (Some(seconds(5)), None)),
        (
            &keeping,
            json!({ "timeoutMs": 9_000_000 }),
            (Some(seconds(600)), None),
        ),
        (
            &keeping,
            json!({ "runInBackground": true }),
            (None, Some((seconds(1), requested))),
        ),
        (
            &keeping,
            json!({ "runInBackground": true, "timeoutMs": 5000 }),
            (Some(seconds(5)), Some((seconds(1), requested))),
        ),
        (
            &tool(),
            json!({ "runInBackground": true }),
            (Some(seconds(120)), None),
        ),
    ] {
        let mut with_command = arguments.clone();
        with_command["command"] = json!("make");
        let asked: Arguments = decode(&Workspace::json(&with_command)).unwrap();
        let patience = tool.patience(&asked);
        assert_eq!((patience.limit, patience.leave), expected, "{arguments}");
    }
}

#[tokio::test]
async fn a_cancelled_command_ends_and_its_output_was_streamed() {
    struct Ears(Mutex<String>, CancellationToken);
    impl OutputSink for Ears {
        fn write(&self, text: String) -> BoxFuture<'_, ()> {
            self.0.lock().unwrap().push_str(&text);
            self.1.cancel();
            std::future::ready(()).boxed()
        }
    }
    let workspace = Workspace::new();
    let arguments = Workspace::json(&json!({ "command": "echo begun; sleep 60" }));
    let call = tool().prepare(&arguments, &workspace.environment()).unwrap();
    let cancel = CancellationToken::new();
    let ears = Arc::new(Ears(Mutex::default(), cancel.clone()));
    let output = call
        .run(CallContext {
            cancel,
            output: ears.clone(),
            ..Workspace::context()
        })
        .await;
    assert_eq!(output.command.unwrap().status, CommandStatus::Cancelled);
    assert_eq!(*ears.0.lock().unwrap(), "begun\n");
}

#[test]
fn commands_without_the_network_keep_their_file_rights() {
    let on = |files| Profile {
        files,
        network: Network::On,
    };
    for files in [Files::WorkspaceWrite, Files::Full] {
        let mut tool = tool();
        tool.sandbox.profile = on(files);
        let commands = Commands(Arc::new(tool)).without_network();
        let off = Profile {
            network: Network::Off,
            ..on(files)
        };
        assert_eq!(commands.0.sandbox.profile, off);
    }
}

#[test]
fn answers_about_commands_without_the_network_cover_no_others() {
    let workspace = Workspace::new();
    let kernel = Support {
        landlock: 6,
        seccomp: true,
        ..Support::NONE
    };
    let request = |outside_sandbox| CommandRequest {
        command: "make".to_owned(),
        variables: Vec::new(),
        input: None,
        outside_sandbox,
        time_limit: Duration::from_secs(1),
        captured_bytes: 1,
    };
    let asked = |commands: &Commands, outside| {
        let call = commands.prepare(request(outside), &workspace.environment());
        match call.unwrap().permission() {
            Permission::Ask { scope, reason } => (scope, reason),
            Permission::Free => panic!("free"),
        }
    };
    for network in [Network::On, Network::Off] {
        let mut tool = held(kernel, WhenMissing::Ask);
        tool.sandbox.profile.network = network;
        let usual = Commands(Arc::new(tool));
        let without = usual.clone().without_network();
        let (usual_scope, _) = asked(&usual, false);
        let (scope, reason) = asked(&without, false);
        assert!(reason.contains(", no network ("), "{reason}");
        assert!(scope.may_be_remembered());
        assert_ne!(scope.grant(), usual_scope.grant(), "{network:?}");
        for standing in scope.standings() {
            assert!(!usual_scope.standings().contains(&standing), "{network:?}");
        }
        assert_eq!(
            asked(&usual, true),
            asked(&without, true),
            "outside, both have it"
        );
    }
}

#[test]
fn commands_are_asked_about_with_their_text_and_place() {
    let workspace = Workspace::new();
    workspace.write("a", "");
    let permission = |command: &str| {
        let arguments = Workspace::json(&json!({ "command": command }));
        tool()
            .prepare(&arguments, &workspace.environment())
            .unwrap()
            .permission()
    };
    assert_eq!(permission("cat a"), Permission::Free);
    let Permission::Ask { scope, reason } = permission("  rm a ") else {
        panic!("free")
    };
    assert_eq!(reason, "No rule allows it.");
    assert_eq!(scope.operation, "rm a");
    assert_eq!(scope.target, workspace.root().to_str().unwrap());
}

fn held(support: Support, when_missing: WhenMissing) -> ShellTool {
    let sandbox = Sandbox {
        profile: Profile {
            files: Files::WorkspaceWrite,
            network: Network::Off,
        },
        support,
        when_missing,
        ..Sandbox::default()
    };
    ShellTool { sandbox, ..tool() }
}

/// Returns the question, or the refusal, or "free".
fn said(tool: &ShellTool, environment: &ToolEnvironment, arguments: &serde_json::Value) -> String {
    match tool.prepare(&Workspace::json(arguments), environment) {
        Err(refusal) => refusal.to_string(),
        Ok(call) => match call.permission() {
            Permission::Free => "free".to_owned(),
            Permission::Ask { scope, reason } => format!("{} {reason}", scope.session_key()),
        },
    }
}

#[test]
fn what_holds_a_command_is_said_and_outside_of_it_only_a_person_lets_it_run() {
    let workspace = Workspace::new();
    let kernel = Support {
        landlock: 6,
        seccomp: true,
        ..Support::NONE
    };
    let tool = held(kernel, WhenMissing::Ask);
    let asks = workspace.environment();
    let auto = ToolEnvironment {
        approvals: ApprovalPolicy::AutoApprove,
        ..workspace.environment()
    };
    let make = said(&tool, &asks, &json!({ "command": "make" }));
    assert!(
        make.starts_with("shell:make ") && make.contains("only files of the workspace"),
        "{make}"
    );
    let line = |arguments: &serde_json::Value| {
        let call = tool.prepare(&Workspace::json(arguments), &asks).unwrap();
        call.command().unwrap().sandboxed
    };
    assert!(line(&json!({ "command": "make" })));
    let outside = |command: &str| json!({ "command": command, "outsideSandbox": true });
    assert!(!line(&outside("ls")));
    assert!(said(&tool, &auto, &outside("ls")).contains("asks nobody"));
    // No answer given for sandboxed commands covers it.
    let asked = said(&tool, &asks, &outside("ls | cat"));
    assert!(
        asked.starts_with("remoteResource:run a command outside of the sandbox:ls | cat "),
        "{asked}"
    );
    let scope = |arguments: &serde_json::Value| {
        let call = tool.prepare(&Workspace::json(arguments), &asks).unwrap();
        match call.permission() {
            Permission::Ask { scope, reason } => (scope, reason),
            Permission::Free => panic!("free"),
        }
    };
    let (there, reason) = scope(&outside("touch a"));
    let (here, _) = scope(&json!({ "command": "touch a" }));
    assert!(there.may_be_remembered() && !there.sandboxed);
    assert_ne!((there.grant(), there.standing()), (here.grant(), here.standing()));
    assert!(reason.contains("Scripts and hooks"), "{reason}");
    for line in ["touch a; touch b", "sh a", "python a", "make $x", "./a"] {
        workspace.write("a", "");
        let (scope, _) = scope(&outside(line));
        assert!(!scope.may_be_granted(), "{line}");
    }
    assert_eq!(said(&tool, &asks, &json!({ "command": "ls" })), "free");
}

#[test]
fn a_profile_of_one_turn_has_answers_of_its_own() {
    let workspace = Workspace::new();
    let kernel = Support {
        landlock: 6,
        seccomp: true,
        ..Support::NONE
    };
    let configured = held(kernel, WhenMissing::Ask);
    let asks = workspace.environment();
    let make = json!({ "command": "make" });
    let key = |tool: &dyn Tool| {
        let call = tool.prepare(&Workspace::json(&make), &asks).unwrap();
        match call.permission() {
            Permission::Ask { scope, .. } => (scope.grant(), call.command().unwrap().sandboxed),
            Permission::Free => panic!("free"),
        }
    };
    let profiles = [
        SandboxProfile::ReadOnly,
        SandboxProfile::WorkspaceWrite,
        SandboxProfile::Full,
    ];
    let own = profiles.map(|profile| key(&*configured.in_sandbox(profile).unwrap()));
    assert_eq!(own.clone().map(|(_, sandboxed)| sandboxed), [true, true, false]);
    let keys: std::collections::HashSet<_> = own
        .into_iter()
        .chain([key(&configured)])
        .map(|(key, _)| key)
        .collect();
    assert_eq!(keys.len(), 4);
}

#[test]
fn without_a_sandbox_nothing_runs_that_a_person_has_not_seen() {
    let workspace = Workspace::new();
    let rules = bobbin_rules::RuleText {
        action: "allow".to_owned(),
        command: Some("make *".to_owned()),
        ..bobbin_rules::RuleText::default()
    };
    let rules = bobbin_rules::RuleSet::new([rules], None).unwrap();
    let asks = ToolEnvironment {
        policy: Arc::new(bobbin_policy::RulesPolicy::new(rules)),
        ..workspace.environment()
    };
    let auto = ToolEnvironment {
        approvals: ApprovalPolicy::AutoApprove,
        ..asks.clone()
    };
    let make = json!({ "command": "make" });
    let asking = held(Support::NONE, WhenMissing::Ask);
    assert!(said(&asking, &asks, &make).contains("without a sandbox"));
    assert!(said(&asking, &auto, &make).contains("refused"));
    assert_eq!(said(&asking, &asks, &json!({ "command": "ls" })), "free");
    let refusing = held(Support::NONE, WhenMissing::Refuse);
    assert!(said(&refusing, &asks, &make).contains("cannot be made"));
    let unheld = said(&tool(), &asks, &make);
    assert_eq!(unheld, "free", "who wants no sandbox is not asked about one");
}

/// An editor whose terminals never open.
struct Closed;

impl ThreadClient for Closed {
    fn is_there(&self) -> bool {
        true
    }

    fn run_tool(&self, _: ClientToolCall) -> BoxFuture<'_, Answered<bobbin_model::ToolAnswer>> {
        std::future::ready(Err(ClientFailure::Gone)).boxed()
    }

    fn editor(&self) -> Option<&dyn Editor> {
        Some(self)
    }
}

fn no<T: Send + 'static>() -> BoxFuture<'static, Answered<T>> {
    std::future::ready(Err(ClientFailure::Refused("no".to_owned()))).boxed()
}

impl Editor for Closed {
    fn can(&self) -> EditorCan {
        EditorCan {
            terminals: true,
            ..EditorCan::default()
        }
    }

    fn read<'a>(
        &'a self,
        _: &'a ThreadId,
        _: &'a str,
        _: Option<u64>,
        _: Option<u64>,
    ) -> BoxFuture<'a, Answered<String>> {
        no()
    }

    fn write<'a>(&'a self, _: &'a ThreadId, _: &'a str, _: &'a str) -> BoxFuture<'a, Answered<()>> {
        no()
    }

    fn start<'a>(&'a self, _: &'a ThreadId, _: &'a str, _: &'a str) -> BoxFuture<'a, Answered<String>> {
        no()
    }

    fn wait<'a>(&'a self, _: &'a ThreadId, _: &'a str, _: Duration) -> BoxFuture<'a, Answered<Option<i64>>> {
        no()
    }

    fn output<'a>(&'a self, _: &'a ThreadId, _: &'a str) -> BoxFuture<'a, Answered<(String, Option<i64>)>> {
        no()
    }

    fn kill<'a>(&'a self, _: &'a ThreadId, _: &'a str) -> BoxFuture<'a, Answered<()>> {
        no()
    }

    fn release<'a>(&'a self, _: &'a ThreadId, _: &'a str) -> BoxFuture<'a, Answered<()>> {
        no()
    }
}

#[test]
fn a_held_command_leaves_for_the_editor_only_with_a_persons_word() {
    let workspace = Workspace::new();
    let kernel = Support {
        landlock: 6,
        seccomp: true,
        ..Support::NONE
    };
    let clients = Arc::new(Clients::default());
    let (thread, editor): (ThreadId, Arc<dyn ThreadClient>) = (ThreadId::new("t"), Arc::new(Closed));
    clients.bind(&thread, Service::Editor, &editor);
    let rules = bobbin_rules::RuleText {
        action: "allow".to_owned(),
        command: Some("make *".to_owned()),
        ..bobbin_rules::RuleText::default()
    };
    let rules = bobbin_rules::RuleSet::new([rules], None).unwrap();
    let asks = ToolEnvironment {
        clients: clients.of(&thread),
        policy: Arc::new(bobbin_policy::RulesPolicy::new(rules)),
        ..workspace.environment()
    };
    let auto = ToolEnvironment {
        approvals: ApprovalPolicy::AutoApprove,
        ..asks.clone()
    };
    let make = json!({ "command": "make tea" });
    let line = |tool: &ShellTool, environment: &ToolEnvironment| {
        let call = tool.prepare(&Workspace::json(&make), environment).unwrap();
        call.command().unwrap().sandboxed
    };
    let asking = held(kernel, WhenMissing::Ask);
    // An allowed line stays here, where it is sandboxed and runs the judged programs.
    assert!(said(&asking, &asks, &make) == "free" && line(&asking, &asks));
    let other = json!({ "command": "rm a" });
    let asked = said(&asking, &asks, &other);
    assert!(
        asked.starts_with("remoteResource:run a command in a terminal of the editor:rm a "),
        "{asked}"
    );
    let sandboxed = ToolEnvironment {
        approvals: ApprovalPolicy::Sandboxed,
        ..asks.clone()
    };
    assert!(said(&asking, &sandboxed, &other).starts_with("shell:rm a "));
    assert_eq!(said(&asking, &asks, &json!({ "command": "ls" })), "free");
    // If no user is asked, or a sandbox is required, the line stays here and is sandboxed.
    assert!(said(&asking, &auto, &make) == "free" && line(&asking, &auto));
    let refusing = held(kernel, WhenMissing::Refuse);
    assert!(said(&refusing, &asks, &make) == "free" && line(&refusing, &asks));
    // Without a configured sandbox, the approval is the usual one.
    assert_eq!(said(&tool(), &asks, &make), "free");
    assert!(said(&tool(), &asks, &json!({ "command": "rm a" })).starts_with("shell:rm a "));
}

#[test]
fn what_is_no_command_is_refused() {
    let workspace = Workspace::new();
    for command in ["", " \n", "a\0b"] {
        let arguments = Workspace::json(&json!({ "command": command }));
        assert!(
            tool().prepare(&arguments, &workspace.environment()).is_err(),
            "{command:?}"
        );
    }
}
