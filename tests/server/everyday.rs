//! How often an ordinary day asks, where bubblewrap confines commands.

use std::path::Path;
use std::sync::Arc;

use bobbin_agent_api::tool::{CallContext, Permission, Touches};
use bobbin_model::{Coverage, Decision, Scope};
use bobbin_tools::BubblewrapUse;
use tokio_util::sync::CancellationToken;

use serde_json::{Value, json};

use crate::held_place::{Ears, Place, STRICT};
use crate::support::{Process, Workspace};

/// Lines that only read.
const LINES: &str = include_str!("everyday-lines.txt");

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Fills the workspace: sources, a repository, a file with secrets.
fn project() -> Place {
    let place = Place::new();
    for (name, text) in [
        ("src/a", "x y\n"),
        ("src/b", "b\n"),
        ("src/lib.rs", "x\n"),
        ("package.json", "{}"),
        ("größe.txt", "x"),
        ("a b.txt", "x"),
        (".env", "KEY=x-secret\n"),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", "[core]\n\tbare = false\n"),
        (".git/objects/x", "x-object\n"),
        (".git/refs/x", "x-ref\n"),
        (".craft/config.json", "{}"),
    ] {
        write(&place.work, name, text);
    }
    place
}

#[tokio::test]
async fn of_everyday_reads_at_most_three_are_asked_about() {
    let place = project();
    let Some(sandbox) = place.held(STRICT).await else {
        return;
    };
    let lines: Vec<&str> = LINES
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    assert_eq!(lines.len(), 139);
    let mut asked = Vec::new();
    for line in lines {
        let prepared = place.prepared(&sandbox, line).await.unwrap();
        if prepared.permission() != Permission::Free {
            asked.push(line);
        }
    }
    assert!(asked.len() <= 3, "{asked:#?}");
}

#[tokio::test]
async fn a_search_of_the_whole_workspace_runs_unasked_and_sees_no_secrets() {
    let place = project();
    let Some(sandbox) = place.held(STRICT).await else {
        return;
    };
    for line in ["grep -rn x .", "cd src && grep -rn x ..", "grep -r x . | sort"] {
        let prepared = place.prepared(&sandbox, line).await.unwrap();
        assert_eq!(prepared.permission(), Permission::Free, "{line}");
        let context = CallContext::alone(CancellationToken::new(), Arc::new(Ears::default()));
        let output = prepared.run(context).await.text;
        assert!(
            output.contains("src/a:") || output.contains("../src/a"),
            "{line}: {output}"
        );
        // `grep` fails at a file that it cannot open, and the agent reads why.
        let is_explained = output.contains("does not see files that usually have secrets");
        assert!(
            output.starts_with("exit code 0\n") || is_explained,
            "{line}: {output}"
        );
        for hidden in ["x-secret", "object", "-ref"] {
            assert!(!output.contains(hidden), "{line}: {output}");
        }
    }
    // What reads a secret by its name, or does more than read, is asked about.
    for line in [
        "cat .env",
        "grep x .env",
        "grep -rn x . > out",
        "grep -rn x . && make",
    ] {
        let prepared = place.prepared(&sandbox, line).await.unwrap();
        assert_ne!(prepared.permission(), Permission::Free, "{line}");
    }
}

/// The answers of one Thread.
#[derive(Default)]
struct Answers(Vec<Scope>);

impl Answers {
    /// Returns whether a line is asked about, and answers "in this Thread" if so.
    fn asks(&mut self, permission: Permission) -> bool {
        let Permission::Ask { scope, .. } = permission else {
            return false;
        };
        if self
            .0
            .iter()
            .any(|known| known.grant().is_some() && known.grant() == scope.grant())
        {
            return false;
        }
        self.0.push(scope);
        true
    }
}

#[tokio::test]
async fn a_bug_fix_with_many_test_lines_asks_once_for_each_program() {
    let place = project();
    write(&place.work, ".venv/bin/python", "#!/bin/sh\n");
    write(&place.work, ".venv/bin/activate", "");
    let Some(sandbox) = place.held(STRICT).await else {
        return;
    };
    let mut answers = Answers::default();
    let mut questions = Vec::new();
    for line in [
        ".venv/bin/python -m pytest -q tests 2>&1 | tail -20",
        ".venv/bin/python -m pytest -q tests/test_a.py -k 'one or two'",
        "PYTHONPATH=src pytest -x",
        "source .venv/bin/activate && pytest tests/test_a.py",
        "for t in one two; do .venv/bin/pytest -k $t; done",
        "cd src && timeout 60 python3 -m pytest | head -5",
        "npm test",
        "npm test -- --watch=false 2>&1 | tail -5",
        "npm run lint",
        "npm run lint -- --fix",
        "cargo test one",
        "cargo test two 2>&1 | tail -3",
        "git add -A && git commit -m 'one'",
        "git add src && git commit -m 'two: more'",
        "make -j4 test | head",
        "make test V=1",
    ] {
        let prepared = place.prepared(&sandbox, line).await.unwrap();
        if answers.asks(prepared.permission()) {
            questions.push(line);
        }
    }
    assert_eq!(questions.len(), 6, "{questions:#?}");
    let first = &answers.0[0];
    assert_eq!(first.coverage, Coverage::Programs("pytest".to_owned()));
    assert_eq!(first.standing().operation, "pytest …");
    assert!(Decision::AcceptAlways.approves() && first.may_be_remembered());
    // The same line outside of the sandbox is another matter.
    let outside = serde_json::json!({ "command": "pytest -x", "outsideSandbox": true });
    let outside = place.prepared_with(&sandbox, &outside).await.unwrap();
    assert!(answers.asks(outside.permission()));
}

#[tokio::test]
async fn what_an_undo_cannot_bring_back_is_asked_about_by_itself() {
    let place = project();
    let Some(sandbox) = place.held(STRICT).await else {
        return;
    };
    for (line, is_confined) in [
        ("rm -rf src", true),
        ("rm -rf .git", false),
        ("git clean -fd", true),
        ("git clean -fdx", false),
        ("git stash drop", false),
        ("git branch -D old", false),
        ("git reflog expire --expire=now --all", false),
        ("git gc --prune=now", false),
    ] {
        let prepared = place.prepared(&sandbox, line).await.unwrap();
        let Permission::Ask { scope, reason } = prepared.permission() else {
            panic!("{line} runs unasked");
        };
        assert_eq!(scope.sandboxed, is_confined, "{line}");
        assert_eq!(
            reason.contains("Undo cannot bring back"),
            !is_confined,
            "{reason}"
        );
    }
}

#[tokio::test]
async fn plan_mode_runs_commands_that_can_write_temporary_files_only() {
    let place = project();
    let Some(sandbox) = place.held(STRICT).await else {
        return;
    };
    let run = |line: &'static str| {
        let (place, sandbox) = (&place, &sandbox);
        async move {
            let prepared = place.planned(sandbox, line).await.unwrap();
            let permission = prepared.permission();
            assert_eq!(prepared.touches(), Touches::Nothing, "{line}");
            let context = CallContext::alone(CancellationToken::new(), Arc::new(Ears::default()));
            (permission, prepared.run(context).await.text)
        }
    };
    // Reads are free, as ever.
    assert_eq!(
        run("cat src/a").await,
        (Permission::Free, "exit code 0\nx y\n".to_owned())
    );
    // The rest is asked about as ever, and can write to `/tmp`.
    let (permission, output) = run("echo t > /tmp/t && cat /tmp/t src/a").await;
    assert_ne!(permission, Permission::Free);
    assert_eq!(output, "exit code 0\nt\nx y\n");
    let (_, output) = run("echo t > src/a; rm -f src/b; touch new; cat src/a src/b").await;
    assert!(output.contains("x y\nb\n"), "{output}");
    assert!(!place.work.join("new").exists());
    let outside = serde_json::json!({ "command": "ls", "outsideSandbox": true });
    let refused = place.planned_with(&sandbox, &outside).await.err().unwrap();
    assert!(refused.contains("not available in plan mode"), "{refused}");
}

#[tokio::test]
async fn without_a_sandbox_plan_mode_runs_what_only_reads() {
    let place = project();
    let sandbox = place.sandbox(STRICT, place.bubblewrap(BubblewrapUse::Off));
    let sandbox = bobbin_tools::Sandbox {
        support: bobbin_sandbox::Support::NONE,
        ..sandbox
    };
    let prepared = place.planned(&sandbox, "cat src/a").await.unwrap();
    assert_eq!(prepared.permission(), Permission::Free);
    let refused = place.planned(&sandbox, "pytest").await.err().unwrap();
    assert!(refused.contains("not available in plan mode"), "{refused}");
}

/// Runs a line in a new Thread of a client, and returns whether it was asked about; the answer is no.
async fn asks(server: &Process, capabilities: &Value, line: &str) -> bool {
    let mut client = server.client_with("somebody", capabilities.clone()).await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, &format!("run `{line}`")).await;
    loop {
        let message = client.next().await.unwrap();
        match message["method"].as_str() {
            Some("item/approval/request") => {
                client.reply(&message, json!({ "decision": "cancel" })).await;
                return true;
            }
            Some("turn/completed") => return false,
            _ => {}
        }
    }
}

#[tokio::test]
async fn what_the_sandbox_confines_runs_unasked_where_a_person_starts_a_turn() {
    if Place::new().held(STRICT).await.is_none() {
        return;
    }
    let person = json!({ "approvalSupport": true, "person": true });
    let program = json!({ "approvalSupport": true });
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    // The server looks what the folder brings when it starts.
    while asks(&server, &person, "touch settled").await {
        tokio::task::yield_now().await;
    }
    assert!(asks(&server, &program, "touch one").await);
    assert!(!workspace.path().join("one").exists());
    assert!(!asks(&server, &person, "touch two").await);
    assert!(workspace.path().join("two").exists());
    // What undo cannot bring back, and what leaves the sandbox, is asked about.
    assert!(asks(&server, &person, "git clean -fdx").await);
    assert_eq!(server.terminate().await.code(), Some(0));
    // A configured policy wins.
    workspace.configure(&json!({ "Permissions": { "DefaultApprovalPolicy": "default" } }));
    let server = workspace.web_socket();
    assert!(asks(&server, &person, "touch three").await);
}
