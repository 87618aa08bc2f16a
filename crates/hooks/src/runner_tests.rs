use std::time::{Duration, Instant};

use crate::settings::HookOrigin;
use bobbin_model::ThreadId;
use bobbin_settings::PluginFolder;
use serde_json::Map;

use super::*;

struct Kitchen {
    _dir: tempfile::TempDir,
    root: PathBuf,
    runner: HookRunner,
}

fn no_sandbox() -> ProgramSandbox {
    ProgramSandbox::new(
        bobbin_tools::Sandbox::default(),
        Arc::new(bobbin_agent_api::policy::NoRules),
    )
}

fn kitchen() -> Kitchen {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let mut environment = Environment::empty();
    environment.set("PATH", "/usr/bin:/bin");
    let runner = HookRunner::new(&root, Children::new(None), environment, no_sandbox());
    Kitchen {
        _dir: dir,
        root,
        runner,
    }
}

fn hook(event: HookEvent, matcher: Option<&str>, command: &str) -> Hook {
    Hook {
        event,
        matcher: matcher.map(ToOwned::to_owned),
        command: Ok(command.to_owned()),
        timeout: Duration::from_secs(20),
        origin: HookOrigin::User,
    }
}

impl Kitchen {
    async fn ask(&self, event: HookEvent, subject: &str, members: Value) -> HookReport {
        let Value::Object(members) = members else {
            unreachable!();
        };
        let input = HookInput {
            event,
            subject: subject.to_owned(),
            thread: ThreadId::new("thread_1"),
            root: self.root.clone(),
            mode: Mode::Agent,
            members,
        };
        self.runner.run(input).await
    }

    async fn about(&self, tool: &str) -> HookReport {
        let members = json!({ "tool_input": { "path": "a.txt" } });
        self.ask(HookEvent::PreToolUse, tool, members).await
    }
}

fn text(said: Option<HookSaid>) -> String {
    said.map(|said| said.text).unwrap_or_default()
}

#[tokio::test]
async fn a_hook_reads_json_and_the_names_that_it_knows() {
    let kitchen = kitchen();
    let look = "cat >seen; test \"$CLAUDE_PROJECT_DIR\" = \"$PWD\" || exit 3; echo no >&2; exit 2";
    kitchen
        .runner
        .set_configured(vec![hook(HookEvent::PreToolUse, Some("Write|Edit"), look)]);
    assert!(kitchen.runner.has(HookEvent::PreToolUse, "WriteFile"));
    assert!(!kitchen.runner.has(HookEvent::PreToolUse, "Exec"));
    assert!(!kitchen.runner.has(HookEvent::PostToolUse, "WriteFile"));
    assert_eq!(text(kitchen.about("WriteFile").await.blocked), "no");
    let seen = std::fs::read(kitchen.root.join("seen")).unwrap();
    let seen: Value = serde_json::from_slice(&seen).unwrap();
    let file = kitchen.root.join("a.txt");
    let expected = json!({
        "session_id": "thread_1", "cwd": kitchen.root, "hook_event_name": "PreToolUse", "permission_mode": "default",
        "tool_name": "Write", "tool_input": { "path": "a.txt", "file_path": file },
    });
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_guard_in_the_form_of_others_looks_at_each_file_of_a_patch() {
    let kitchen = kitchen();
    let guard = "grep -q 'file_path\":\"[^\"]*/secret' && { echo no >&2; exit 2; }; exit 0";
    kitchen
        .runner
        .set_configured(vec![hook(HookEvent::PreToolUse, Some("Edit|Write"), guard)]);
    let patch = |names: &[&str]| {
        let added = names.iter().map(|name| format!("*** Add File: {name}\n+tea\n"));
        let patch = format!("*** Begin Patch\n{}*** End Patch", added.collect::<String>());
        json!({ "tool_input": { "patch": patch } })
    };
    for (members, expected) in [
        (patch(&["secret"]), "no"),
        (patch(&["a", "b", "secret"]), "no"),
        (patch(&["a", "b"]), ""),
        (
            json!({ "tool_input": { "patch": "*** Begin Patch\n*** Update File: a\n*** Move to: secret\n@@\n-a\n+b\n*** End Patch" } }),
            "no",
        ),
    ] {
        let report = kitchen.ask(HookEvent::PreToolUse, "ApplyPatch", members).await;
        assert_eq!(text(report.blocked), expected);
    }
}

#[tokio::test]
async fn hooks_of_a_moment_run_together_and_the_first_word_counts() {
    let kitchen = kitchen();
    let first = hook(
        HookEvent::Stop,
        None,
        "mkfifo -m 600 way; echo x >way; echo one >&2; exit 2",
    );
    let second = hook(
        HookEvent::Stop,
        None,
        "until test -p way; do :; done; cat way >&2; exit 2",
    );
    kitchen.runner.set_configured(vec![first, second]);
    let report = kitchen.ask(HookEvent::Stop, "", json!({})).await;
    assert_eq!(text(report.blocked), "one");
}

#[tokio::test]
async fn a_hook_that_hangs_or_floods_is_ended_and_the_moment_passes() {
    let kitchen = kitchen();
    let mut hangs = hook(HookEvent::PostToolUse, None, "sleep 600");
    hangs.timeout = Duration::from_millis(300);
    let floods = hook(HookEvent::PostToolUse, None, "yes");
    let deaf = hook(HookEvent::PostToolUse, None, "exec <&-; exit 0");
    kitchen.runner.set_configured(vec![hangs, floods, deaf]);
    let start = Instant::now();
    let members = json!({ "tool_input": { "content": "x".repeat(1 << 20) } });
    let report = kitchen.ask(HookEvent::PostToolUse, "Exec", members).await;
    assert!(start.elapsed() < Duration::from_secs(15));
    assert!(report.blocked.is_none());
    assert!(
        report.notes[0].contains("did not end within its time"),
        "{report:?}"
    );
    assert_eq!(report.notes.len(), 2, "{report:?}");
}

#[tokio::test]
async fn a_guard_that_hangs_dies_or_is_not_there_refuses_the_call() {
    let kitchen = kitchen();
    for line in [
        "sleep 600",
        "kill -9 $$",
        "missing-guard",
        "sh -c 'kill -9 $$'; exit $?",
        "yes",
    ] {
        let mut guard = hook(HookEvent::PreToolUse, Some("Bash"), line);
        guard.timeout = Duration::from_secs(2);
        kitchen.runner.set_configured(vec![guard]);
        let report = kitchen.about("Exec").await;
        assert!(
            text(report.blocked).contains("a call that it did not look at is not run"),
            "{line}"
        );
    }
}

#[tokio::test]
async fn what_is_typed_into_a_running_command_is_a_command_for_its_guards() {
    let kitchen = kitchen();
    for (matcher, tool, command) in [
        (Some("Bash"), "Bash", json!("rm x\n")),
        (Some("Exec"), "Exec", json!("rm x\n")),
        (Some("WriteTerminal"), "WriteTerminal", Value::Null),
    ] {
        let guard = hook(HookEvent::PreToolUse, matcher, "cat >seen; exit 2");
        kitchen.runner.set_configured(vec![guard]);
        let members = json!({ "tool_input": { "sessionId": "t_1", "input": "rm x\n" } });
        let report = kitchen.ask(HookEvent::PreToolUse, "WriteTerminal", members).await;
        assert!(report.blocked.is_some(), "{tool}");
        let seen: Value = serde_json::from_slice(&std::fs::read(kitchen.root.join("seen")).unwrap()).unwrap();
        assert_eq!(
            (&seen["tool_name"], &seen["tool_input"]["command"]),
            (&json!(tool), &command)
        );
        assert_eq!(seen["tool_input"]["input"], "rm x\n");
    }
}

#[tokio::test]
async fn a_guard_with_a_mistake_refuses_the_calls_that_it_may_be_about() {
    let kitchen = kitchen();
    let file = Path::new("/config.json");
    let broken = Hook::broken(file, Some("Bash".to_owned()), "PreToolUse[0].hooks is no list");
    kitchen.runner.set_configured(vec![broken]);
    assert!(!kitchen.runner.has(HookEvent::PreToolUse, "ReadFile"));
    let blocked = kitchen.about("Exec").await.blocked.unwrap();
    assert_eq!(blocked.hook, "your hook PreToolUse");
    let expected =
        "it was not run: /config.json: PreToolUse[0].hooks is no list; mend it and start Bobbin again.";
    assert_eq!(blocked.text, expected);
}

#[tokio::test]
async fn a_changed_plugin_is_not_asked_and_blocks_what_it_was_to_look_at() {
    let kitchen = kitchen();
    let root = kitchen.root.join("plugin");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("look.sh"), "exit 0").unwrap();
    let digest = Some(bobbin_settings::folder_digest(&root).unwrap());
    let folder = PluginFolder {
        root: root.clone(),
        digest,
    };
    let mut look = hook(HookEvent::PreToolUse, None, "sh \"$CLAUDE_PLUGIN_ROOT/look.sh\"");
    look.origin = HookOrigin::Plugin("tea-log".to_owned(), folder);
    kitchen.runner.set_plugins(vec![look]);
    assert_eq!(kitchen.about("Exec").await, HookReport::default());
    std::fs::write(root.join("look.sh"), "touch ../ran").unwrap();
    let why = text(kitchen.about("Exec").await.blocked);
    assert!(why.contains("you have not trusted it as it is now"), "{why}");
    assert!(!kitchen.root.join("ran").exists());
    kitchen.runner.set_plugins(Vec::new());
    assert!(!kitchen.runner.has(HookEvent::PreToolUse, "Exec"));
    let nothing = kitchen
        .ask(HookEvent::PreToolUse, "Exec", Value::Object(Map::new()))
        .await;
    assert_eq!(nothing, HookReport::default());
}
