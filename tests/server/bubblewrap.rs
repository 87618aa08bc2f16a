//! Commands in bubblewrap, for real: what it adds to what holds them.
//!
//! Where bubblewrap does not work, the tests of what it adds make sure that people are told why, and end there.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use bobbin_agent_api::tool::CallContext;
use bobbin_children::{Confinement, Environment, Limits, ProcessSpec, Shell};
use bobbin_model::CommandStatus;
use bobbin_sandbox::{Files, Outer, Plan, Profile};
use bobbin_tools::BubblewrapUse;
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::held_place::{Ears, OPEN, Place, STRICT, leash, told};
use crate::support::{PATIENCE, Workspace, not_tested, rich};

#[tokio::test]
async fn neither_contents_nor_owners_modes_and_times_outside_are_changed() {
    let place = Place::new();
    let Some(sandbox) = place.held(STRICT).await else {
        return;
    };
    let before = place.file.metadata().unwrap();
    let output = place
        .run(
            &sandbox,
            "for what in 'chmod 777' 'chown 1' 'touch -d 2001-01-01' 'rm -f' 'mv -t .'; do $what ../out/file; done; \
             echo x > ../out/file; ln ../out/file second; echo x > ../out/new; echo in > inside; \
             echo t > $TMPDIR/t && cat inside $TMPDIR/t; pwd",
        )
        .await;
    let after = place.file.metadata().unwrap();
    assert_eq!(std::fs::read_to_string(&place.file).unwrap(), "mine");
    assert_eq!(
        (before.mode(), before.uid(), before.mtime(), before.nlink()),
        (after.mode(), after.uid(), after.mtime(), after.nlink())
    );
    assert!(!place.file.with_file_name("new").exists());
    let end = format!("in\nt\n{}\n", place.work.display());
    assert!(output.text.ends_with(&end), "{}", output.text);
}

#[tokio::test]
async fn places_hidden_in_the_workspace_are_read_under_no_name() {
    let place = Place::new();
    let Some(mut sandbox) = place.held(STRICT).await else {
        return;
    };
    let keys = place.work.join("deploy/live/keys");
    std::fs::create_dir_all(&keys).unwrap();
    std::fs::write(keys.join("a"), "secret").unwrap();
    std::fs::write(place.work.join("pass.env"), "secret").unwrap();
    std::os::unix::fs::symlink("deploy/live/keys/a", place.work.join("way")).unwrap();
    sandbox.hide = vec![
        keys.clone(),
        place.work.join("pass.env"),
        place.file.parent().unwrap().to_owned(),
        place.top.join("never/there"),
    ];
    let look = "cat way pass.env ../out/file /proc/self/root$PWD/pass.env; cat */*/keys/* */keys/* keys/*; grep -r secret .; \
                grep -r mine ../out";
    for command in [
        look.to_owned(),
        format!("mv deploy moved; mv deploy/live moved; mv deploy/live/keys keys; mv pass.env other; {look}"),
        format!("rm -rf deploy pass.env; ln pass.env second; cat second; {look}"),
        format!("umount deploy/live/keys; umount pass.env; {look}"),
        format!("echo x > deploy/live/keys/a; echo x > pass.env; {look}"),
    ] {
        let output = place.run(&sandbox, &command).await;
        assert!(
            !output.text.contains("secret") && !output.text.contains("mine"),
            "{}",
            output.text
        );
        assert_eq!(std::fs::read_to_string(keys.join("a")).unwrap(), "secret");
        assert_eq!(
            std::fs::read_to_string(place.work.join("pass.env")).unwrap(),
            "secret"
        );
    }
    // Beside them, everything is as ever.
    let output = place
        .run(&sandbox, "echo new > deploy/live/file; cat deploy/live/file")
        .await;
    assert_eq!(output.text, "exit code 0\nnew\n");
}

#[tokio::test]
async fn the_servers_own_files_in_the_workspace_are_neither_changed_nor_read() {
    let place = Place::new();
    let Some(mut sandbox) = place.held(OPEN).await else {
        return;
    };
    let craft = place.work.join(".craft");
    for (name, text) in [("config.json", "{}"), ("bobbin.json", "token"), ("note", "yes")] {
        std::fs::write(craft.join(name), text).unwrap();
    }
    sandbox.blank = vec![craft.join("bobbin.json"), craft.join("bobbin.db")];
    let output = place
        .run(
            &sandbox,
            "cd .craft; echo x > config.json; echo x > new; rm -f config.json bobbin.json; cat bobbin.json; \
             mv ../.craft ../other; cat note",
        )
        .await;
    assert!(!output.text.contains("token"), "{}", output.text);
    assert!(output.text.contains("\nyes"), "{}", output.text);
    assert_eq!(std::fs::read_to_string(craft.join("config.json")).unwrap(), "{}");
    assert_eq!(
        std::fs::read_to_string(craft.join("bobbin.json")).unwrap(),
        "token"
    );
    assert!(!craft.join("new").exists());
}

#[tokio::test]
async fn what_the_server_writes_for_itself_while_a_command_runs_is_not_read_either() {
    let place = Place::new();
    let Some(mut sandbox) = place.held(OPEN).await else {
        return;
    };
    let craft = place.work.join(".craft");
    sandbox.blank = ["bobbin.json", "terminals"].map(|name| craft.join(name)).to_vec();
    std::fs::write(craft.join("bobbin.json"), "token").unwrap();
    std::fs::create_dir_all(craft.join("terminals/thread_1")).unwrap();
    std::fs::write(craft.join("terminals/thread_1/term_1.log"), "token").unwrap();
    let ended = leash(&place.work.join("begun"));
    let write = async {
        // The command has begun once it has opened the pipe, and goes on once the file is there.
        ended.await.unwrap();
        for name in [
            "bobbin.json.new",
            "bobbin.db-journal",
            "terminals/thread_1/term_2.log",
        ] {
            std::fs::write(craft.join(name), "token").unwrap();
        }
        std::fs::write(place.work.join("go"), "").unwrap();
    };
    let look = "echo > begun; while ! [ -e go ]; do sleep 0.01; done; ls -A .craft; grep -rs token .";
    let (output, ()) = tokio::join!(place.run(&sandbox, look), write);
    assert_eq!(output.text, "exit code 1\n");
}

#[tokio::test]
async fn no_process_in_the_view_tells_what_is_hidden() {
    let place = Place::new();
    let Some(mut sandbox) = place.held(STRICT).await else {
        return;
    };
    sandbox.hide = vec![place.file.clone()];
    let output = place
        .run(
            &sandbox,
            "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ls /proc/1/cwd",
        )
        .await;
    let hidden = place.file.display().to_string();
    assert!(
        output.text.contains("bwrap") && !output.text.contains(&hidden),
        "{}",
        output.text
    );
    // However much is handed over; what would be too much is not run with less.
    for (places, begins) in [
        (200, "exit code 0\nran\n"),
        (2_000, "did not run: cannot start /bin/sh: there is too much"),
    ] {
        sandbox.hide = (0..places)
            .map(|n| place.top.join(format!("{n}-{}", "x".repeat(3_000))))
            .collect();
        let output = place.run(&sandbox, "echo ran").await;
        assert!(output.text.starts_with(begins), "{}", output.text);
    }
}

#[tokio::test]
async fn where_craft_is_a_link_commands_are_refused_in_words() {
    let place = Place::new();
    let Some(mut sandbox) = place.held(OPEN).await else {
        return;
    };
    sandbox.bubblewrap = place.bubblewrap(BubblewrapUse::Auto);
    let held = place.prepared(&sandbox, "echo x > ran").await.unwrap();
    std::fs::rename(place.work.join(".craft"), place.work.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", place.work.join(".craft")).unwrap();
    // The link may have appeared after the question.
    let context = CallContext::alone(CancellationToken::new(), Arc::new(Ears::default()));
    let output = held.run(context).await;
    let refused = place.prepared(&sandbox, "echo x").await.err().unwrap();
    for said in [output.text, refused] {
        let wanted =
            ".craft is a link, which commands could replace: put the directory that it leads to in its place";
        assert!(said.contains(wanted), "{said}");
    }
    assert!(!place.work.join("ran").exists());
}

#[tokio::test]
async fn a_hidden_file_that_appears_after_the_question_is_hidden() {
    let place = Place::new();
    let Some(mut sandbox) = place.held(STRICT).await else {
        return;
    };
    let keys = place.work.join("keys");
    sandbox.hide = vec![keys.clone()];
    let prepared = place.prepared(&sandbox, "cat keys").await.unwrap();
    std::fs::write(&keys, "secret").unwrap();
    let context = CallContext::alone(CancellationToken::new(), Arc::new(Ears::default()));
    let text = prepared.run(context).await.text;
    assert!(
        text.starts_with("exit code 1\n") && text.contains("Permission denied"),
        "{text}"
    );
}

#[tokio::test]
async fn what_one_command_replaces_by_a_link_is_not_written_through_it_by_the_next() {
    let place = Place::new();
    let (made, kept) = (place.work.join("made"), place.work.join(".craft/made"));
    for wanted in [BubblewrapUse::Off, BubblewrapUse::Require] {
        let mut sandbox = place.sandbox(STRICT, place.bubblewrap(wanted));
        sandbox.write = vec![made.clone(), kept.clone()];
        sandbox.settle().await;
        if let Some(why) = sandbox.missing() {
            not_tested(&why);
            continue;
        }
        for directory in [&made, &kept] {
            drop(std::fs::remove_file(directory));
            std::fs::create_dir_all(directory).unwrap();
        }
        let replace = "rm -rf made .craft/made; ln -s ../out made; ln -s ../../out .craft/made";
        place.run(&sandbox, replace).await;
        assert!(made.is_symlink());
        assert_eq!(kept.is_symlink(), wanted == BubblewrapUse::Off);
        let output = place
            .run(
                &sandbox,
                "for way in made .craft/made ../out; do echo x > $way/file; echo x > $way/other; done; \
                 cat made/file; echo in > inside && cat inside",
            )
            .await;
        assert!(output.text.ends_with("minein\n"), "{}", output.text);
        assert_eq!(std::fs::read_to_string(&place.file).unwrap(), "mine");
        assert!(!place.file.with_file_name("other").exists());
    }
}

#[tokio::test]
async fn a_thread_in_another_workspace_is_kept_from_the_files_of_that_ones_server() {
    let mut place = Place::new();
    let Some(mut sandbox) = place.held(OPEN).await else {
        return;
    };
    sandbox.hide = vec![place.top.join("home/.craft")];
    sandbox.blank = vec![place.work.join(".craft/bobbin.json")];
    for (name, settings) in [("home", ""), ("other", "{}")] {
        place.work = place.top.join(name);
        let craft = place.work.join(".craft");
        std::fs::create_dir_all(&craft).unwrap();
        std::fs::write(craft.join("config.json"), "{}").unwrap();
        std::fs::write(craft.join("bobbin.json"), "token").unwrap();
        let output = place
            .run(
                &sandbox,
                "cd .craft; cat bobbin.json; rm -f *; echo x > config.json; echo x > new; mv ../.craft ../away; \
                 cat config.json; echo in > ../inside && cat ../inside",
            )
            .await;
        assert!(!output.text.contains("token"), "{}", output.text);
        assert!(
            output.text.ends_with(&format!("{settings}in\n")),
            "{}",
            output.text
        );
        assert_eq!(std::fs::read_to_string(craft.join("config.json")).unwrap(), "{}");
        assert_eq!(
            std::fs::read_to_string(craft.join("bobbin.json")).unwrap(),
            "token"
        );
        assert!(!craft.join("new").exists());
    }
}

#[tokio::test]
async fn processes_shared_memory_and_the_network_are_the_commands_own() {
    let place = Place::new();
    for (profile, own) in [
        (STRICT, &["pid", "ipc", "uts", "mnt", "net"][..]),
        (OPEN, &["pid", "ipc", "uts", "mnt"]),
        (
            Profile {
                files: Files::Full,
                ..STRICT
            },
            &["pid", "ipc", "uts", "mnt", "net"],
        ),
        (
            Profile {
                files: Files::ReadOnly,
                ..STRICT
            },
            &["pid", "ipc", "uts", "mnt", "net"],
        ),
    ] {
        let Some(sandbox) = place.held(profile).await else {
            return;
        };
        let output = place
            .run(
                &sandbox,
                "for n in pid ipc uts mnt net; do readlink /proc/self/ns/$n; done; ls /proc | grep -c '^[0-9]'; \
                 grep -c : /proc/net/dev",
            )
            .await;
        let theirs: Vec<&str> = output.text.lines().skip(1).collect();
        for (name, theirs) in ["pid", "ipc", "uts", "mnt", "net"].iter().zip(&theirs) {
            let ours = std::fs::read_link(format!("/proc/self/ns/{name}")).unwrap();
            let differs = ours != Path::new(theirs);
            assert_eq!(differs, own.contains(name), "{name} {profile}: {}", output.text);
        }
        let processes: usize = theirs[5].parse().unwrap();
        assert!(processes < 8, "{}", output.text);
        if own.contains(&"net") {
            assert_eq!(theirs[6], "1", "only the command's own loopback");
        }
    }
}

#[tokio::test]
async fn a_command_makes_terminals_of_its_own_and_sees_no_other() {
    let place = Place::new();
    let Some(sandbox) = place.held(STRICT).await else {
        return;
    };
    let output = place
        .run(&sandbox, "ls /dev/pts; script -qec 'tty; echo typed' /dev/null")
        .await;
    let lines: Vec<&str> = output.text.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        ["exit code 0", "ptmx", "/dev/pts/0", "typed"],
        "{}",
        output.text
    );
}

#[tokio::test]
async fn codes_and_signals_come_through() {
    let place = Place::new();
    let Some(sandbox) = place.held(STRICT).await else {
        return;
    };
    for (command, expected) in [
        ("exit 7", "exit code 7\n"),
        ("echo a; exit 1", "exit code 1\na\n"),
        (
            "kill -SEGV $$",
            "exit code 139, that of a command ended by signal 11\n",
        ),
        ("echo bwrap: no >&2; exit 1", "exit code 1\nbwrap: no\n"),
        ("yes | head -n 1", "exit code 0\ny\n"),
        ("ls /proc/self/fd | grep -vc '^[0-3]$'", "exit code 1\n0\n"),
    ] {
        let output = place.run(&sandbox, command).await;
        assert_eq!(output.text, expected, "{command}");
        let end = output.command.unwrap();
        assert!(end.exit_code.is_some(), "{command}");
    }
}

#[tokio::test]
async fn a_command_that_is_ended_is_asked_first_and_then_nothing_of_it_is_left() {
    let place = Place::new();
    let Some(sandbox) = place.held(STRICT).await else {
        return;
    };
    let output = place
        .run_and_cancel(
            &sandbox,
            "trap 'echo cleaned up > cleaned; exit' TERM; echo up; while :; do sleep 0.02; done",
        )
        .await;
    assert_eq!(output.command.unwrap().status, CommandStatus::Cancelled);
    assert_eq!(
        std::fs::read_to_string(place.work.join("cleaned")).unwrap(),
        "cleaned up\n"
    );
    // Deaf to the polite signal, and one in a session of its own.
    let leash = self::leash(&place.work.join("leash"));
    let output = place
        .run_and_cancel(
            &sandbox,
            "trap '' TERM; exec 3> leash; setsid sleep 600 & sleep 600 & echo up; sleep 600",
        )
        .await;
    assert_eq!(output.command.unwrap().status, CommandStatus::Cancelled);
    timeout(PATIENCE, leash).await.unwrap().unwrap();
    // One that ends by itself leaves nobody either.
    let leash = self::leash(&place.work.join("another"));
    let output = place
        .run(&sandbox, "exec 3> another; setsid sleep 600 & echo done")
        .await;
    assert_eq!(output.text, "exit code 0\ndone\n");
    timeout(PATIENCE, leash).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_terminal_is_typed_into_and_nothing_of_it_outlives_a_server_that_is_killed() {
    let place = Place::new();
    if place.held(STRICT).await.is_none() {
        return;
    }
    let workspace = Workspace::new();
    let leash = leash(&workspace.path().join("leash"));
    let server = workspace.web_socket();
    let mut capabilities = rich();
    capabilities["backgroundTerminals"] = json!(true);
    let mut client = server.client_with("before", capabilities).await;
    let thread = client.start_thread().await;
    let prompt = "run `exec 3> leash; setsid sleep 600 & cat` in the background";
    client.start_turn(&thread, prompt).await;
    let asked = client.wait_for("item/approval/request").await;
    let reason = asked["params"]["reason"].as_str().unwrap();
    assert!(reason.contains("(bubblewrap, "), "{reason}");
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let started = client.wait_for("terminal/started").await;
    let id = &started["params"]["terminal"]["sessionId"];
    let typed = json!({ "sessionId": id, "input": "still here\n", "yieldTimeMs": 0 });
    client.call("terminal/write", typed).await;
    client
        .find("what was typed", |message| {
            message["params"]["delta"]
                .as_str()
                .is_some_and(|delta| delta.contains("still here"))
        })
        .await;
    assert!(!leash.is_finished());
    server.kill().await;
    timeout(PATIENCE, leash).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_workspace_behind_a_link_and_one_within_a_hidden_place_are_worked_in() {
    let place = Place::new();
    let Some(mut sandbox) = place.held(STRICT).await else {
        return;
    };
    sandbox.hide = vec![place.top.clone()];
    let link = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&place.work, link.path().join("link")).unwrap();
    let linked = Place {
        work: link.path().join("link"),
        ..place
    };
    let output = linked
        .run(
            &sandbox,
            "pwd; echo x > made; ls; cat ../out/file; echo y > ../beside",
        )
        .await;
    let real = linked.top.join("work");
    let begin = format!("exit code 2\n{}\nmade\n", real.display());
    assert!(output.text.starts_with(&begin), "{}", output.text);
    assert!(!output.text.contains("mine"), "{}", output.text);
    assert!(real.join("made").exists() && !linked.top.join("beside").exists());
}

#[tokio::test]
async fn without_landlock_bubblewrap_holds_files_by_itself() {
    let place = Place::new();
    let Some(mut sandbox) = place.held(STRICT).await else {
        return;
    };
    sandbox.support.landlock = 0;
    sandbox.hide = vec![place.file.clone()];
    let prepared = place.prepared(&sandbox, "make").await.unwrap();
    let (reason, line) = told(&*prepared);
    assert!(reason.contains("(bubblewrap and seccomp)."), "{reason}");
    assert_eq!(line.sandboxed_by, ["bubblewrap", "seccomp"]);
    let output = place
        .run(
            &sandbox,
            "echo x > ../out/new; cat ../out/file; echo in > inside && cat inside",
        )
        .await;
    assert!(output.text.ends_with("in\n"), "{}", output.text);
    assert!(!output.text.contains("mine"), "{}", output.text);
    assert!(!place.file.with_file_name("new").exists());
}

#[tokio::test]
async fn the_helper_does_not_take_a_promise_of_bubblewrap_for_bubblewrap() {
    let place = Place::new();
    let plan = Plan {
        profile: STRICT,
        write: vec![place.work.clone()],
        outer: Outer::Bubblewrap,
        ..Plan::default()
    };
    // Runs what it is to run, and makes no view.
    let idle = place.top.join("idle");
    std::fs::write(
        &idle,
        "#!/bin/sh\nwhile [ \"$1\" != --args ]; do shift; done; shift 2; exec \"$@\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&idle, std::fs::Permissions::from_mode(0o755)).unwrap();
    let confinement = Confinement {
        plan,
        bubblewrap: Some(idle),
    };
    let spec = ProcessSpec::shell(&Shell::Posix, "echo x > ran", &place.work, Environment::empty());
    let (limits, never) = (Limits::default(), CancellationToken::new());
    let done = place
        .children
        .run(spec.confined(confinement), &limits, None, &never)
        .await;
    let error = done.unwrap_err().to_string();
    assert!(
        error.contains("bubblewrap does not hold what was promised"),
        "{error}"
    );
    assert!(!place.work.join("ran").exists());
}

#[tokio::test]
async fn where_a_place_is_replaced_while_the_view_is_made_nothing_runs() {
    let place = Place::new();
    let Some(sandbox) = place.held(STRICT).await else {
        return;
    };
    let real = sandbox.bubblewrap.found().unwrap().unwrap();
    let (git, work) = (place.work.join(".git"), place.work.display());
    let plan = Plan {
        profile: STRICT,
        write: vec![place.work.clone()],
        read_only: vec![place.work.join(".craft")],
        blank: [".craft/bobbin.db", "deploy/.env"]
            .map(|name| place.work.join(name))
            .to_vec(),
        outer: Outer::Bubblewrap,
        ..Plan::default()
    };
    for (replace, is_run) in [
        ("true", true),
        // What the server writes when its address changes.
        ("printf x > .craft/appserver.lock", true),
        (
            "cp .craft/appserver.lock new; mv new .craft/appserver.lock",
            false,
        ),
        ("mv .git/hooks old; mkdir .git/hooks", false),
        ("mv .git/hooks old", false),
        ("mv .git/modules/m old; ln -s ../../decoy .git/modules/m", false),
        ("mv .git/modules/m old; ln -s .. .git/modules/m", false),
        ("mv .git/modules/m old; cp -r old .git/modules/m", false),
        ("mv .git/modules old; ln -s / .git/modules", false),
        ("mv deploy old; ln -s decoy deploy", false),
        ("mv .git old; ln -s decoy .git", false),
        (&format!("mv {work} {work}2; ln -s / {work}"), false),
    ] {
        for directory in ["hooks", "objects", "info", "modules/m/hooks"] {
            std::fs::create_dir_all(git.join(directory)).unwrap();
        }
        for file in [
            ".git/HEAD",
            ".git/config",
            ".git/modules/m/config",
            ".craft/appserver.lock",
            "deploy/.env",
            "decoy/config",
            "decoy/.env",
        ] {
            std::fs::create_dir_all(place.work.join(file).parent().unwrap()).unwrap();
            std::fs::write(place.work.join(file), "").unwrap();
        }
        let replacing = place.top.join("replacing");
        let text = format!(
            "#!/bin/sh\ncd {work} && {replace}\nexec {} \"$@\"\n",
            real.display()
        );
        std::fs::write(&replacing, text).unwrap();
        std::fs::set_permissions(&replacing, std::fs::Permissions::from_mode(0o755)).unwrap();
        let confinement = Confinement {
            plan: plan.clone(),
            bubblewrap: Some(replacing),
        };
        let spec = ProcessSpec::shell(&Shell::Posix, "echo x > ran", &place.work, Environment::empty());
        let (limits, never) = (Limits::default(), CancellationToken::new());
        let done = place
            .children
            .run(spec.confined(confinement), &limits, None, &never)
            .await;
        assert_eq!(done.is_ok(), is_run, "{replace}: {done:?}");
        assert_eq!(place.work.join("ran").exists(), is_run, "{replace}");
        let moved = place
            .work
            .with_file_name(format!("{}2", place.work.file_name().unwrap().display()));
        if moved.exists() {
            std::fs::remove_file(&place.work).unwrap();
            std::fs::rename(moved, &place.work).unwrap();
        }
        for name in [".git", "old", "deploy", "decoy", "ran"] {
            let name = place.work.join(name);
            drop(std::fs::remove_file(&name));
            drop(std::fs::remove_dir_all(&name));
        }
    }
}
