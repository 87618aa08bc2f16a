//! A command that has the user's own git run its programs, outside of the sandbox.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::files::written;
use crate::lab::{Bubblewrap, Lab};

/// Where the user's repository is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// The workspace is a work tree of a repository outside of it.
    WorkTree,
}

/// Makes a lab under the policy `sandboxed`, with a repository that has one commit.
fn lab(kind: Kind) -> Lab {
    lab_in(kind, Bubblewrap::Required)
}

fn lab_in(kind: Kind, bubblewrap: Bubblewrap) -> Lab {
    let lab = Lab::new(bubblewrap);
    lab.configure(&json!({ "Permissions": { "DefaultApprovalPolicy": "sandboxed" } }));
    let top = match kind {
        Kind::Plain => lab.work(),
        Kind::WorkTree => lab.home().join("main"),
    };
    std::fs::create_dir_all(&top).unwrap();
    git(&top, &["init", "-q", "-b", "main"]);
    for (name, value) in [("user.name", "a"), ("user.email", "a@example.org")] {
        git(&top, &["config", name, value]);
    }
    std::fs::write(top.join("a"), "one\n").unwrap();
    git(&top, &["add", "a"]);
    git(&top, &["commit", "-qm", "one"]);
    if kind == Kind::WorkTree {
        git(&top, &["worktree", "add", "-q", lab.work().to_str().unwrap()]);
    }
    lab
}

/// The ways to try: none where bubblewrap is missing.
fn kinds() -> Vec<Kind> {
    if Bubblewrap::all().contains(&Bubblewrap::Required) {
        vec![Kind::Plain, Kind::WorkTree]
    } else {
        Vec::new()
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

/// Runs git as the user, in a terminal of theirs.
async fn users_git(lab: &Lab, arguments: &[&str]) -> String {
    let output = lab.program(Path::new("git"), arguments).output().await.unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Starts a Turn and returns its first question, `None` where the Turn ends without one.
async fn question(client: &mut Client, thread: &str, prompt: &str) -> Option<Value> {
    client.start_turn(thread, prompt).await;
    loop {
        let message = client.next().await.expect("the connection stays");
        match message["method"].as_str() {
            Some("item/approval/request") => return Some(message),
            Some("turn/completed" | "turn/failed" | "turn/cancelled") => return None,
            _ => {}
        }
    }
}

/// Lines that have the user's git run `$e`. `$c` is the directory of the repository, `$d` that of the work tree, `$s` a
/// configuration.
const ATTACKS: &[&str] = &[
    "git config core.fsmonitor \"$e\"",
    "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor \"$e\"",
    "printf \"$s\" >> $c/config",
    "printf \"$s\" > new; mv -f new $c/config",
    "rm -f $c/config; printf \"$s\" > $c/config",
    "mkdir -p $c/hooks; cp evil $c/hooks/pre-commit",
    "rm -rf $c/hooks; mkdir $c/hooks; cp evil $c/hooks/pre-commit",
    "mv $c/hooks $c/other; mkdir $c/hooks; cp evil $c/hooks/pre-commit",
    "umount $c/config $c/hooks; printf \"$s\" >> $c/config",
    "cp -r $c copy; printf \"$s\" >> copy/config; mv .git old; mv copy .git",
    "cp -r $c copy; printf \"$s\" >> copy/config; rm -rf .git; echo gitdir: $PWD/copy > .git",
    "cp -r $c copy; printf \"$s\" >> copy/config; [ $c = $d ] || echo $PWD/copy > $d/commondir",
    // Two lines are two commands.
    "mv $c/HEAD $c/H2\nmv $c/H2 $c/HEAD; printf \"$s\" >> $c/config",
    "chmod 0 $c\nchmod 755 $c; printf \"$s\" >> $c/config",
    "cp -r $c copy; printf \"$s\" >> copy/config; [ $c = $d ] || { echo $PWD/copy > new; mv new $d/commondir; }",
    // Links on the way to what the next command would have mounted read-only.
    "rm -rf $c/info; ln -s . $c/info; touch $c/attributes\nprintf \"$s\" >> $c/config; cp evil $c/hooks/pre-commit",
    "rm -rf $c/info; ln -s .. $c/info; touch attributes\nprintf \"$s\" >> $c/config; cp evil $c/hooks/pre-commit",
    "mkdir $c/modules; ln -s ../.. $c/modules/m; printf \"$s\" >> $c/modules/m/.git/config",
    "printf \"$s\" > $c/config.worktree",
];

#[tokio::test]
async fn the_users_git_runs_no_program_that_a_command_names() {
    for kind in kinds() {
        let lab = lab(kind);
        let (work, marker) = (lab.work(), lab.home().join("RUN"));
        lab.write("evil", &format!("#!/bin/sh\ntouch '{}'\n", marker.display()));
        std::fs::set_permissions(work.join("evil"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let saved = lab.home().join("saved");
        copy(&work, &saved);
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        for attack in ATTACKS {
            for command in attack.lines() {
                let script = format!(
                    "d=$(git rev-parse --git-dir || cat ../d); c=$(git rev-parse --git-common-dir || echo .git); e='sh {work}/evil'\n\
                     s=\"[core]\\n fsmonitor = $e\\n\"\n{command}\n",
                    work = work.display(),
                );
                lab.write("attack.sh", &script);
                lab.hand_over();
                let asked = question(&mut client, &thread, "run `sh attack.sh`").await;
                assert_eq!(asked, None, "{kind:?} {attack}");
            }
            for arguments in [&["status"][..], &["commit", "-q", "--allow-empty", "-m", "two"]] {
                let said = users_git(&lab, arguments).await;
                assert!(!marker.exists(), "{kind:?} {attack}: {arguments:?}: {said}");
            }
            std::fs::remove_dir_all(&work).unwrap();
            copy(&saved, &work);
        }
        server.kill().await;
    }
}

/// Copies a directory.
#[expect(clippy::disallowed_methods, reason = "the machine's own tool")]
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(status.unwrap().success());
}

#[tokio::test]
async fn a_repository_in_a_folder_of_the_workspace_is_covered_from_the_servers_start() {
    for kind in kinds().into_iter().filter(|kind| *kind == Kind::Plain) {
        let lab = lab(kind);
        std::fs::remove_dir_all(lab.work().join(".git")).unwrap();
        for path in ["one", "some/two"] {
            git(&lab.work(), &["init", "-q", path]);
        }
        let line = "for d in one some/two; do git -C $d config a.b c; cp attack.sh $d/.git/hooks/x; done";
        lab.write("attack.sh", line);
        lab.write(
            "work.sh",
            "git init -q new && git -C new config a.b c && mv new newer && rm -rf newer && echo 'do''ne'",
        );
        lab.run(&["exec", "run `sh attack.sh`"]).await;
        for path in ["one", "some/two"] {
            let config = std::fs::read_to_string(lab.work().join(path).join(".git/config")).unwrap();
            assert!(!config.contains("[a]"), "{path}: {config}");
            assert!(!lab.work().join(path).join(".git/hooks/x").exists(), "{path}");
        }
        let said = written(&lab.run(&["exec", "run `sh work.sh`"]).await);
        assert!(said.contains("done"), "{said}");
    }
}

#[tokio::test]
async fn repositories_with_other_names_and_beside_a_part_of_one_are_covered() {
    for kind in kinds().into_iter().filter(|kind| *kind == Kind::Plain) {
        let lab = lab(kind);
        std::fs::rename(lab.work().join(".git"), lab.work().join(".bare")).unwrap();
        git(&lab.work().join(".bare"), &["config", "core.bare", "true"]);
        git(&lab.work().join(".bare"), &["worktree", "add", "-q", "../tree"]);
        for path in ["one", ".two"] {
            git(&lab.work(), &["init", "-q", path]);
        }
        let line = "for d in .bare one/.git .two/.git; do echo '[a]' >> $d/config; cp attack.sh $d/hooks/x; done; \
                    [ -e .git ] || { mkdir .git; echo > .git/HEAD; }";
        let check = |paths: &[&str]| {
            for path in paths {
                let path = lab.work().join(path);
                let config = std::fs::read_to_string(path.join("config")).unwrap();
                assert!(!config.contains("[a]"), "{}: {config}", path.display());
                assert!(!path.join("hooks/x").exists(), "{}", path.display());
            }
        };
        lab.write("attack.sh", line);
        // The second server finds a part of a repository.
        for _ in 0..2 {
            lab.run(&["exec", "run `sh attack.sh`"]).await;
            check(&[".bare", "one/.git", ".two/.git"]);
        }
        assert!(lab.work().join(".git/HEAD").exists());
        std::fs::remove_dir_all(lab.work().join(".git")).unwrap();
        lab.write(".git", "gitdir: ./.bare\n");
        lab.hand_over();
        lab.run(&["exec", "run `sh attack.sh`"]).await;
        // The workspace is a repository now, so that those in it are not looked for.
        check(&[".bare"]);
        let said = users_git(&lab, &["log", "--format=%s"]).await;
        assert_eq!(said, "one\n");
    }
}

#[tokio::test]
async fn a_repository_whose_parts_are_links_works() {
    for kind in kinds().into_iter().filter(|kind| *kind == Kind::Plain) {
        let lab = lab(kind);
        let (git, away) = (lab.work().join(".git"), lab.work().join("away"));
        std::fs::create_dir_all(git.join("info")).unwrap();
        std::fs::write(git.join("info/attributes"), "").unwrap();
        std::fs::rename(git.join("info"), &away).unwrap();
        // As `git-new-workdir` makes them.
        std::os::unix::fs::symlink(&away, git.join("info")).unwrap();
        lab.write(
            "work.sh",
            "set -e; echo two >> a; git commit -qam two; echo 'do''ne'",
        );
        let said = written(&lab.run(&["exec", "run `sh work.sh`"]).await);
        assert!(said.contains("done"), "{said}");
    }
}

/// Opens and closes a directory all the time, in the background.
const FLIP: &str = "import os, time
end = time.time() + 60
while time.time() < end:
    for _ in range(50): os.chmod('.git', 0); os.chmod('.git', 0o755)
";

#[tokio::test]
async fn a_repository_that_a_command_opens_and_closes_all_the_time_is_covered_or_nothing_runs() {
    for kind in kinds().into_iter().filter(|kind| *kind == Kind::Plain) {
        let lab = lab(kind);
        lab.write("flip.py", FLIP);
        lab.write(
            "write.py",
            "for _ in range(300):\n  try: open('.git/config', 'a').write('[a]'); break\n  except OSError: pass\n",
        );
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        question(&mut client, &thread, "run `python3 flip.py` in the background").await;
        for _ in 0..30 {
            question(&mut client, &thread, "run `python3 write.py`").await;
        }
        server.kill().await;
        std::fs::set_permissions(lab.work().join(".git"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let config = std::fs::read_to_string(lab.work().join(".git/config")).unwrap();
        assert!(!config.contains("[a]"), "{config}");
    }
}

#[tokio::test]
async fn a_command_commits_and_pushes_where_it_cannot_write_settings() {
    let ways = Bubblewrap::all().into_iter();
    let ways = ways.flat_map(|bubblewrap| [Kind::Plain, Kind::WorkTree].map(|kind| (kind, bubblewrap)));
    for (kind, bubblewrap) in ways {
        let lab = lab_in(kind, bubblewrap);
        let up = lab.work().join("up.git");
        git(&lab.work(), &["init", "-q", "--bare", up.to_str().unwrap()]);
        git(&lab.work(), &["remote", "add", "up", up.to_str().unwrap()]);
        lab.write(
            "work.sh",
            "set -e\necho two >> a\ngit commit -qam two\ngit switch -qc side\ngit commit -q --allow-empty -m three\n\
             git push -qu up side\ngit tag t\ngit stash list\ngit status --short a\ngit log --format=%s\necho 'do''ne'\n",
        );
        let output = lab.run(&["exec", "run `sh work.sh`"]).await;
        let said = written(&output);
        assert!(said.contains("done"), "{kind:?} {bubblewrap:?}: {said}");
        for (directory, branch) in [(lab.work(), "side"), (up, "side")] {
            let log = lab.program(Path::new("git"), &["log", "--format=%s", branch]);
            let mut log = log;
            let log = log.current_dir(&directory).output().await.unwrap();
            let log = String::from_utf8_lossy(&log.stdout).into_owned();
            assert_eq!(
                log.lines().collect::<Vec<_>>(),
                ["three", "two", "one"],
                "{kind:?}"
            );
        }
    }
}

#[tokio::test]
async fn settings_of_git_are_asked_about_and_written_once_a_user_allows_it() {
    for kind in kinds().into_iter().filter(|kind| *kind == Kind::Plain) {
        let lab = lab(kind);
        lab.configure(&json!({ "Permissions": {
            "DefaultApprovalPolicy": "sandboxed",
            "Rules": [{ "Action": "allow", "Command": "git config *" }],
        } }));
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        let line = "run `git remote add up /srv/up`";
        let asked = question(&mut client, &thread, line)
            .await
            .expect("it is asked about");
        let reason = asked["params"]["reason"].as_str().unwrap();
        assert!(reason.contains("settings of git"), "{reason}");
        client.reply(&asked, json!({ "decision": "accept" })).await;
        client.until("turn/completed").await;
        assert_eq!(users_git(&lab, &["remote"]).await, "up\n");
        // A rule is a user's word, too.
        assert_eq!(
            question(&mut client, &thread, "run `git config a.b c`").await,
            None
        );
        assert_eq!(users_git(&lab, &["config", "a.b"]).await, "c\n");
        // Not asked about, and not written.
        lab.write("quiet.sh", "git config a.b d; echo tried");
        assert_eq!(question(&mut client, &thread, "run `sh quiet.sh`").await, None);
        assert_eq!(users_git(&lab, &["config", "a.b"]).await, "c\n");
        server.kill().await;
    }
}

#[tokio::test]
async fn a_repository_is_made_and_removed_in_the_sandbox() {
    for kind in kinds().into_iter().filter(|kind| *kind == Kind::Plain) {
        let lab = lab(kind);
        std::fs::remove_dir_all(lab.work().join(".git")).unwrap();
        lab.write(
            "new.sh",
            "set -e\ngit init -q\ngit config user.name a\ngit config user.email a@example.org\ngit add a\ngit commit -qm one\n\
             git clone -q . copy\necho 'do''ne'\n",
        );
        for (script, end) in [("new.sh", "done"), ("gone.sh", "done")] {
            lab.write(
                "gone.sh",
                "set -e\nrm -rf copy\ngit commit -q --allow-empty -m two\necho 'do''ne'\n",
            );
            let said = written(&lab.run(&["exec", &format!("run `sh {script}`")]).await);
            assert!(said.contains(end), "{script}: {said}");
        }
        assert!(!lab.work().join("copy").exists());
    }
}
