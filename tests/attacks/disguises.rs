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

#[tokio::test]
async fn what_a_rule_refuses_is_empty_for_every_program_in_bubblewrap() {
    let ways = Bubblewrap::all().into_iter();
    for bubblewrap in ways.filter(|bubblewrap| *bubblewrap == Bubblewrap::Required) {
        let lab = Lab::new(bubblewrap);
        for path in [".env", "app/deep/.env", "secrets/a/key", "app/keys/one.pem"] {
            lab.write(path, "THE-SECRET");
        }
        let read = ".env app/deep/.env secrets/a/key app/keys/one.pem moved/deep/.env moved/keys/one.pem";
        lab.write(
            "read.sh",
            &format!("for f in {read}; do cat $f; done\necho tried\n"),
        );
        lab.write(
            "move.sh",
            "mv app moved; mv secrets other; rm -f .env\necho tried\n",
        );
        lab.configure(
            &json!({ "Permissions": { "DefaultApprovalPolicy": "autoApprove", "Rules": [
            { "Action": "deny", "Path": "**/.env" },
            { "Action": "deny", "Path": "secrets/**" },
            { "Action": "deny", "Path": "app/keys/*.pem", "Operation": "read" },
        ] } }),
        );
        for line in [
            "sh read.sh",
            "sh move.sh",
            "sh read.sh",
            "ls secrets && sh read.sh",
        ] {
            let said = unwatched(&lab, line).await;
            assert!(said.contains("tried"), "{line}: {said}");
            assert!(!said.contains("THE-SECRET"), "{line}: {said}");
        }
        for path in [".env", "app/deep/.env", "secrets/a/key", "app/keys/one.pem"] {
            let left = std::fs::read_to_string(lab.work().join(path)).unwrap();
            assert_eq!(left, "THE-SECRET", "{path}");
        }
    }
}

#[tokio::test]
async fn what_a_rule_refuses_is_searched_for_when_the_command_starts() {
    let ways = Bubblewrap::all().into_iter();
    for bubblewrap in ways.filter(|bubblewrap| *bubblewrap == Bubblewrap::Required) {
        let lab = Lab::new(bubblewrap);
        lab.configure(&json!({ "Permissions": { "Rules": [{ "Action": "deny", "Path": "**/.env" }] } }));
        lab.write("read.sh", "cat late/.env\necho tried\n");
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        client.start_turn(&thread, "run `sh read.sh`").await;
        let asked = client.wait_for("item/approval/request").await;
        // Until what will hold the command waits.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        lab.write("late/.env", "THE-SECRET");
        client.reply(&asked, json!({ "decision": "accept" })).await;
        let seen = client.until("turn/completed").await;
        let said = serde_json::to_string(&seen).unwrap();
        assert!(said.contains("tried"), "{said}");
        assert!(!said.contains("THE-SECRET"), "{said}");
        server.kill().await;
    }
}

#[tokio::test]
async fn a_refused_file_is_not_shown_behind_many_of_its_name() {
    let ways = Bubblewrap::all().into_iter();
    for bubblewrap in ways.filter(|bubblewrap| *bubblewrap == Bubblewrap::Required) {
        let lab = Lab::new(bubblewrap);
        lab.write("z/deep/db/.env", "THE-SECRET");
        lab.write(
            "make.sh",
            "for n in $(seq 800); do mkdir a$n; : > a$n/.env; done; echo made",
        );
        lab.write("read.sh", "cat z/deep/db/.env; echo tried");
        lab.write("tidy.sh", "rm -rf a*; echo tidy");
        lab.configure(
            &json!({ "Permissions": { "DefaultApprovalPolicy": "autoApprove", "Rules": [
            { "Action": "deny", "Path": "**/.env" },
        ] } }),
        );
        let said = unwatched(&lab, "sh read.sh").await;
        assert!(said.contains("tried") && !said.contains("THE-SECRET"), "{said}");
        let said = unwatched(&lab, "sh make.sh").await;
        assert!(said.contains("made"), "{said}");
        for line in ["sh read.sh", "sh tidy.sh", "sh read.sh"] {
            let said = unwatched(&lab, line).await;
            assert!(!said.contains("THE-SECRET"), "{line}: {said}");
            assert!(said.contains("could not all be hidden"), "{line}: {said}");
        }
        // The user tidies up.
        for number in 1..=800 {
            std::fs::remove_dir_all(lab.work().join(format!("a{number}"))).unwrap();
        }
        let said = unwatched(&lab, "sh read.sh").await;
        assert!(said.contains("tried") && !said.contains("THE-SECRET"), "{said}");
    }
}
