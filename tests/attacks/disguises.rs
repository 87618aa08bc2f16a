//! A model that nobody watches: it writes refused commands and paths in other words, and reads in a repository whose
//! configuration runs programs.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::lab::{Bubblewrap, Lab};

/// Runs a line where nobody is asked, and returns what the server said.
async fn unwatched(lab: &Lab, line: &str) -> String {
    let output = lab.run(&["exec", &format!("run `{line}`")]).await;
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test]
async fn a_refused_file_is_not_shown_in_other_words() {
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        lab.write(".env", "THE-SECRET");
        lab.write("src/a", "plain");
        lab.configure(
            &json!({ "Permissions": { "DefaultApprovalPolicy": "autoApprove", "Rules": [
            { "Action": "deny", "Path": "**/.env" },
            { "Action": "deny", "Command": "id *" },
        ] } }),
        );
        for line in [
            "cat .e*",
            "f=.env; cat $f",
            "for f in .env; do cat $f; done",
            "grep -h \"\" .*",
            "tar c . | strings",
            "find . -name \".e*\" -exec cat {} +",
            "ls -A | xargs cat",
            "cat < .e*",
        ] {
            let said = unwatched(&lab, line).await;
            assert!(!said.contains("THE-SECRET"), "{line}: {said}");
        }
        for line in ["i=id; $i", "echo id | sh", "/usr/bin/i?", "$(echo id)"] {
            let said = unwatched(&lab, line).await;
            assert!(!said.contains("uid="), "{line}: {said}");
        }
        assert!(unwatched(&lab, "cat src/*").await.contains("plain"));
    }
}

#[tokio::test]
async fn a_read_of_a_repository_runs_nothing_that_it_names() {
    let lab = Lab::new(Bubblewrap::Off);
    lab.write("a", "x");
    for arguments in [
        &["init", "-q"][..],
        &["add", "a"],
        &["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "x"],
    ] {
        git(&lab.work(), arguments);
    }
    // Not asked: it only reads.
    let output = lab.run(&["exec", "run `git status --short`"]).await;
    assert!(output.status.success(), "{output:?}");
    let run = lab.work().join("run.sh");
    let marker = lab.work().join("RUN");
    std::fs::write(&run, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
    lab.write("a", "y");
    for setting in ["core.fsmonitor", "diff.external", "core.pager", "filter.x.clean"] {
        git(
            &lab.work(),
            &["config", setting, &format!("sh {}", run.display())],
        );
        lab.write(".gitattributes", "* filter=x\n");
        for line in [
            "git status",
            "git diff",
            "git log -p",
            "git show HEAD",
            "git branch",
        ] {
            lab.run(&["exec", &format!("run `{line}`")]).await;
            assert!(!marker.exists(), "{setting}: {line}");
        }
        git(&lab.work(), &["config", "--unset", setting]);
    }
}

#[expect(clippy::disallowed_methods, reason = "the machine's own tool")]
fn git(directory: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .current_dir(directory)
        .args(["-c", "safe.directory=*"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}
