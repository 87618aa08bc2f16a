//! Compares the judgement of lines with the shells of this machine: an allowed line prints nothing that the reading
//! tools would not show, and no line prints a file that it names plainly and a rule refuses.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use bobbin_agent_api::policy::{Judgement, Policy as _};
use bobbin_rules::{RuleSet, RuleText};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use crate::RulesPolicy;
use bobbin_testkit::Folder as Workspace;

/// Generated lines. Each shell runs those that are allowed.
const LINES: u32 = 300;

/// The home of the test's user, in the workspace.
const HOME: &str = "sub";
/// The content of a file outside of the workspace.
const OUTSIDE: &str = "THIS-IS-OUTSIDE";
/// The content of a file that a rule refuses.
const REFUSED: &str = "THIS-IS-REFUSED";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    for path in ["src/lib.rs", "sub/deep/er/x", "sub/lib.rs", "lib.rs"] {
        workspace.write(path, "fine\n");
    }
    for path in [".craft/config.json", ".git/config"] {
        workspace.write(path, OUTSIDE);
    }
    workspace.write("secrets/key", REFUSED);
    let root = workspace.root();
    let beside = root.parent().unwrap();
    std::fs::write(beside.join("outside.txt"), OUTSIDE).unwrap();
    std::fs::write(workspace.outside().join("secret"), OUTSIDE).unwrap();
    symlink("sub/deep/er", root.join("alias")).unwrap();
    symlink("../secrets", root.join("sub/in")).unwrap();
    symlink(workspace.outside(), root.join("out")).unwrap();
    symlink(workspace.outside().join("secret"), root.join("sub/leak")).unwrap();
    workspace
}

fn one_of(texts: &[&'static str]) -> impl Strategy<Value = String> + use<> {
    prop::sample::select(texts.to_vec()).prop_map(str::to_owned)
}

fn command() -> impl Strategy<Value = String> {
    let directory = || {
        one_of(&[
            "alias",
            "alias/..",
            "alias/../..",
            "alias/../../sub",
            "sub",
            "sub/..",
            "sub/in",
            "sub/in/..",
            "sub/deep/er",
            "..",
            ".",
            "./sub/",
            "src",
            "missing",
            "secrets",
            "../secrets",
            "out",
            "out/..",
            "-",
            "'sub'",
            "\"secrets\"",
            "s\\ub",
            "/proc/self/cwd",
            "/proc/self/cwd/sub",
            "~",
            "~/in",
            "$HOME/..",
            "",
        ])
    };
    let moves = (
        one_of(&[
            "cd",
            "cd",
            "cd",
            "cd",
            "cd --",
            "cd -P",
            "cd -L",
            "command cd",
            "command command cd",
            "command -p cd",
            "builtin cd",
            "exec cd",
            "env cd",
            "nice cd",
            "eval cd",
            "pushd",
            "chdir",
            "! cd",
            "time cd",
            "A=b cd",
        ]),
        directory(),
    );
    let file = one_of(&[
        "leak",
        "sub/leak",
        "../outside.txt",
        "../../outside.txt",
        "outside.txt",
        "secret",
        "out/secret",
        "key",
        "secrets/key",
        "../secrets/key",
        "../../../secrets/key",
        "in/key",
        "config",
        ".craft/config.json",
        "../.craft/config.json",
        ".git/config",
        "lib.rs",
        "src/lib.rs",
        "x",
        "/proc/self/cwd/key",
        "/proc/self/cwd/leak",
        "/dev/fd/0",
        "~/in/key",
        "~/leak",
        "$PWD/key",
        "\"$OLDPWD\"/secrets/key",
    ]);
    let reads = (
        one_of(&["cat", "cat", "cat <", "head -n 5", "grep THIS", "nice cat"]),
        file,
    );
    let elsewhere = (
        one_of(&["env -C", "env --chdir", "git -C"]),
        directory(),
        one_of(&["cat key", "cat leak", "cat ../outside.txt"]),
    );
    prop_oneof![
        4 => moves.prop_map(|(cd, directory)| format!("{cd} {directory}")),
        4 => reads.prop_map(|(program, file)| format!("{program} {file}")),
        1 => elsewhere.prop_map(|(program, directory, command)| format!("{program} {directory} {command}")),
    ]
}

fn line() -> impl Strategy<Value = String> {
    let link = one_of(&[" && ", " && ", " && ", "; ", " || ", " | ", "\n", " & "]);
    let around = one_of(&[
        "{}",
        "{}",
        "{}",
        "{}",
        "({})",
        "{ {}; }",
        "sh -c '{}'",
        "command {}",
        "if {}; then cat key; fi",
        "f() { {}; }; f",
        "while {}; do cat key; break; done",
        "eval '{}'",
    ]);
    let piece = (command(), around).prop_map(|(command, around)| {
        let command = if around.contains('\'') {
            command.replace('\'', "")
        } else {
            command
        };
        around.replace("{}", &command)
    });
    (prop::collection::vec((piece, link), 1..5)).prop_map(|pieces| {
        let mut line = String::new();
        for (piece, link) in pieces {
            line.push_str(&piece);
            line.push_str(&link);
        }
        let end = line.trim_end_matches([' ', '&', ';', '|', '\n']).len();
        line.truncate(end);
        line
    })
}

/// Returns the output of a line, or nothing if the shell is not installed.
fn run(shell: &str, line: &str, root: &Path) -> String {
    #[expect(
        clippy::disallowed_methods,
        reason = "the judgement is compared with real shells"
    )]
    let output = Command::new(shell)
        .args(["-c", line])
        .current_dir(root)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", root.join(HOME))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

fn each_line(mut look: impl FnMut(&str)) {
    let mut runner = TestRunner::deterministic();
    for _ in 0..LINES {
        look(&line().new_tree(&mut runner).unwrap().current());
    }
}

const SHELLS: &[&str] = &["/bin/sh", "/bin/bash", "/bin/dash", "/bin/zsh"];

#[test]
fn what_runs_unasked_prints_nothing_from_elsewhere() {
    let workspace = workspace();
    let rule = |pattern: &str| RuleText {
        action: "allow".to_owned(),
        command: Some(pattern.to_owned()),
        ..RuleText::default()
    };
    let policies = [
        RulesPolicy::default(),
        RulesPolicy::new(RuleSet::new(["cd *", "pushd *", "chdir *"].map(rule), None).unwrap()),
    ];
    let (mut ran, mut kept) = (0, 0);
    each_line(|line| {
        for policy in &policies {
            if policy.command(line, workspace.root()).ruling.judgement != Judgement::Allow {
                kept += usize::from(run(SHELLS[0], line, workspace.root()).contains(OUTSIDE));
                continue;
            }
            ran += 1;
            for shell in SHELLS {
                let said = run(shell, line, workspace.root());
                assert!(!said.contains(OUTSIDE), "{shell} shows what is outside: {line:?}");
            }
        }
    });
    assert!(
        ran > 10 && kept > 20,
        "{ran} lines ran, {kept} were rightly kept from it"
    );
}

#[test]
fn what_a_rule_refuses_is_not_printed_wherever_a_line_goes_to_it() {
    let workspace = workspace();
    let rule = RuleText {
        action: "deny".to_owned(),
        path: Some("secrets/key".to_owned()),
        ..RuleText::default()
    };
    let policy = RulesPolicy::new(RuleSet::new([rule], Some(&workspace.root().join(HOME))).unwrap());
    let (mut ran, mut kept) = (0, 0);
    each_line(|line| {
        let ruling = policy.command(line, workspace.root());
        // As with a policy that never asks.
        if ruling.ruling.judgement == Judgement::Deny || ruling.unseen.is_some() {
            kept += usize::from(run(SHELLS[0], line, workspace.root()).contains(REFUSED));
            return;
        }
        ran += 1;
        for shell in SHELLS {
            let said = run(shell, line, workspace.root());
            assert!(!said.contains(REFUSED), "{shell} shows what is refused: {line:?}");
        }
    });
    assert!(
        ran > 50 && kept > 20,
        "{ran} lines ran, {kept} were rightly kept from it"
    );
}
