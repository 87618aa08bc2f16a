//! A folder that brings a server's files along, or links where the server writes, gains nothing by it.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use crate::lab::{Bubblewrap, Lab, PATIENCE};

/// Returns the files of this name below a directory.
fn named(directory: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(named(&path, name));
        } else if path.file_name().is_some_and(|file| file == name) {
            found.push(path);
        }
    }
    found
}

/// Returns the database of a lab, wherever its server has put it.
fn database(lab: &Lab) -> PathBuf {
    let found = [named(&lab.state(), "bobbin.db"), named(&lab.work(), "bobbin.db")].concat();
    found.into_iter().next().unwrap()
}

/// Makes a database with an answer that was given for ever and a Turn that waits for one, and plants it in a folder.
pub(crate) async fn plant(victim: &Lab) {
    let attacker = Lab::new(Bubblewrap::Off);
    let server = attacker.serve().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "run `touch planted`").await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "acceptAlways" })).await;
    client.wait_for("turn/completed").await;
    let other = client.start_thread().await;
    client.start_turn(&other, "run `touch waiting`").await;
    client.wait_for("item/approval/request").await;
    server.kill().await;
    let craft = victim.work().join(".craft");
    std::fs::create_dir_all(&craft).unwrap();
    let from = database(&attacker);
    for ending in ["db", "db-wal"] {
        let from = from.with_extension(ending);
        std::fs::copy(from, craft.join(format!("bobbin.{ending}"))).unwrap();
    }
}

#[tokio::test]
async fn a_database_that_a_folder_brings_is_named_and_not_used() {
    let victim = Lab::new(Bubblewrap::Off);
    plant(&victim).await;
    // The first start of `bobbin exec` would carry out what is open as well.
    let said = victim.run(&["exec", "hello"]).await;
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        said.contains("the conversations in .craft/bobbin.db are not used"),
        "{said}"
    );
    let server = victim.serve().await;
    let mut client = server.client().await;
    let list = json!({ "identity": { "channelName": "test" } });
    let list = client.call("thread/list", list).await;
    let open = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|thread| thread["displayName"] != "hello");
    assert_eq!(open.count(), 0, "{list}");
    let thread = client.start_thread().await;
    client.start_turn(&thread, "run `touch planted`").await;
    // The answer that came along does not count.
    client.wait_for("item/approval/request").await;
    assert!(!victim.work().join("planted").exists());
    server.kill().await;
}

#[tokio::test]
async fn a_start_follows_no_link_of_the_folder_and_waits_for_no_pipe_in_it() {
    for pipes in [false, true] {
        let lab = Lab::new(Bubblewrap::Off);
        lab.write(".craft/config.json", "{}");
        let profile = lab.home().join(".bashrc");
        std::fs::write(&profile, "mine").unwrap();
        let (craft, elsewhere) = (lab.work().join(".craft"), lab.home().join("made"));
        for name in [
            "bobbin.json",
            "bobbin.json.new",
            "bobbin.lock",
            "bobbin.db",
            ".gitignore",
            "terminals",
            "appserver.lock",
            "appserver.lock.new",
        ] {
            let place = craft.join(name);
            if pipes {
                nix::unistd::mkfifo(&place, nix::sys::stat::Mode::S_IRWXU).unwrap();
            } else if name.starts_with("bobbin.json") {
                symlink(&profile, place).unwrap();
            } else {
                symlink(&elsewhere, place).unwrap();
            }
        }
        let server = lab.serve().await;
        server.client().await.start_thread().await;
        server.kill().await;
        assert_eq!(std::fs::read_to_string(&profile).unwrap(), "mine");
        assert!(!elsewhere.exists(), "pipes {pipes}");
    }
}

#[tokio::test]
async fn the_only_file_put_into_a_folder_is_private_ignored_and_without_a_token() {
    let lab = Lab::new(Bubblewrap::Off);
    lab.write(".git/info/exclude", "");
    let server = lab.serve().await;
    server.client().await.start_thread().await;
    let craft = lab.work().join(".craft");
    let names = || -> Vec<_> {
        let files = std::fs::read_dir(&craft).unwrap();
        files.map(|file| file.unwrap().file_name()).collect()
    };
    assert_eq!(names(), ["appserver.lock"]);
    let lock = craft.join("appserver.lock");
    assert_eq!(std::fs::symlink_metadata(&lock).unwrap().mode() & 0o7777, 0o600);
    let text = std::fs::read_to_string(&lock).unwrap();
    assert!(text.contains(&server.address), "{text}");
    let token = server.token.clone().unwrap_or_else(|| "token".to_owned());
    assert!(!text.contains(&token), "{text}");
    let exclude = std::fs::read_to_string(lab.work().join(".git/info/exclude")).unwrap();
    assert_eq!(exclude, "**/.craft/appserver.lock\n");
    let mut child = server.child;
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    child.wait().await.unwrap();
    assert_eq!(names().len(), 0);
}

/// Waits until a process has ended, and returns its exit code.
async fn code(child: &mut tokio::process::Child) -> Option<i32> {
    let ended = tokio::time::timeout(PATIENCE, child.wait()).await;
    ended.expect("the process ends").unwrap().code()
}

#[tokio::test]
async fn a_database_that_is_removed_or_replaced_ends_the_server_and_completes_no_turn() {
    for what in ["removed", "replaced", "without its log", "with its folder"] {
        let lab = Lab::new(Bubblewrap::Off);
        let mut server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        client.start_turn(&thread, "run `touch made`").await;
        let asked = client.wait_for("item/approval/request").await;
        let database = database(&lab);
        match what {
            "removed" => std::fs::remove_file(&database).unwrap(),
            "replaced" => {
                let other = database.with_extension("other");
                std::fs::copy(&database, &other).unwrap();
                std::fs::rename(&other, &database).unwrap();
            }
            "without its log" => std::fs::remove_file(database.with_extension("db-wal")).unwrap(),
            _ => std::fs::remove_dir_all(database.parent().unwrap()).unwrap(),
        }
        client.reply(&asked, json!({ "decision": "accept" })).await;
        assert_eq!(code(&mut server.child).await, Some(7), "{what}");
        let sent = client.finish().await;
        let completed = sent
            .iter()
            .filter(|message| message["method"] == "turn/completed");
        assert_eq!(completed.count(), 0, "{what}: {sent:?}");
        assert!(!lab.work().join("made").exists(), "{what}");
    }
}

#[tokio::test]
async fn a_client_is_answered_that_the_database_is_gone_and_exec_says_it_in_words() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    std::fs::remove_file(database(&lab)).unwrap();
    let input = json!([{ "type": "text", "text": "hello" }]);
    let refused = client
        .error("turn/start", json!({ "threadId": thread, "input": input }))
        .await;
    assert_eq!(refused["data"]["reason"], "databaseRemoved", "{refused}");
    server.kill().await;

    let lab = Lab::new(Bubblewrap::Off);
    let running = lab
        .bobbin(&["exec", "--approve", "run `touch started; sleep 3`"])
        .spawn()
        .unwrap();
    while !lab.work().join("started").exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    std::fs::remove_file(database(&lab)).unwrap();
    let ended = tokio::time::timeout(PATIENCE, running.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(7), "{said}");
    assert!(said.contains("was removed or replaced"), "{said}");
}

#[tokio::test]
async fn another_folder_at_the_same_path_is_asked_again() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "run `touch made`").await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "acceptAlways" })).await;
    client.wait_for("turn/completed").await;
    server.kill().await;
    // The same folder: the answer counts.
    std::fs::remove_file(lab.work().join("made")).unwrap();
    let server = lab.serve().await;
    let mut client = server.client().await;
    let other = client.start_thread().await;
    client.start_turn(&other, "run `touch made`").await;
    client.wait_for("turn/completed").await;
    assert!(lab.work().join("made").exists());
    server.kill().await;
    // Another one in its place: the conversations are there, the answer is not.
    std::fs::rename(lab.work(), lab.work().with_extension("aside")).unwrap();
    std::fs::create_dir(lab.work()).unwrap();
    let server = lab.serve().await;
    let mut client = server.client().await;
    let list = json!({ "identity": { "channelName": "test" } });
    let list = client.call("thread/list", list).await;
    assert_eq!(list["data"].as_array().unwrap().len(), 2, "{list}");
    let third = client.start_thread().await;
    client.start_turn(&third, "run `touch made`").await;
    client.wait_for("item/approval/request").await;
    assert!(!lab.work().join("made").exists());
    server.kill().await;
}

#[tokio::test]
async fn after_a_quiet_time_nothing_lies_in_the_log_alone() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let log = database(&lab).with_extension("db-wal");
    let until = tokio::time::Instant::now() + PATIENCE;
    while std::fs::metadata(&log).unwrap().len() > 0 {
        assert!(tokio::time::Instant::now() < until, "the log is not folded in");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server.kill().await;
    std::fs::write(&log, "damaged").unwrap();
    let server = lab.serve().await;
    let mut client = server.client().await;
    client.call("thread/read", json!({ "threadId": thread })).await;
    server.kill().await;
}

#[tokio::test]
async fn another_user_reaches_nothing_of_the_state() {
    let lab = Lab::new(Bubblewrap::Off);
    // As a machine without per-user groups has it.
    std::fs::create_dir_all(lab.state()).unwrap();
    let server = lab.serve().await;
    server.client().await.start_thread().await;
    let folder = database(&lab).parent().unwrap().to_owned();
    for directory in [&lab.state(), &lab.state().join("workspaces"), &folder] {
        assert_eq!(
            std::fs::metadata(directory).unwrap().mode() & 0o777,
            0o700,
            "{directory:?}"
        );
    }
    for file in ["bobbin.db", "bobbin.db-wal", "bobbin.lock", "bobbin.json"] {
        let mode = std::fs::metadata(folder.join(file)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    server.kill().await;
}

#[tokio::test]
async fn a_command_in_the_sandbox_reaches_no_conversation_and_no_other_output() {
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        let long = lab
            .run(&["exec", "--approve", "run `seq 100000; echo long-secret`"])
            .await;
        assert!(long.status.success(), "{long:?}");
        let folder = database(&lab).parent().unwrap().to_owned();
        let logs = named(&folder.join("terminals"), "x");
        assert_eq!(logs, Vec::<PathBuf>::new());
        let line = format!(
            "cat {folder}/bobbin.db {folder}/terminals/*/*.log; echo x > {folder}/terminals/x; rm -rf {folder}/bobbin.db; \
             echo $TMPDIR; echo kept > $TMPDIR/a && cat $TMPDIR/a",
            folder = folder.display()
        );
        let output = lab.run(&["exec", "--approve", &format!("run `{line}`")]).await;
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(
            !text.contains("SQLite format") && !text.contains("99999"),
            "{text}"
        );
        assert!(folder.join("bobbin.db").exists() && !folder.join("terminals/x").exists());
        let temporary = match bubblewrap {
            Bubblewrap::Required => "/tmp",
            Bubblewrap::Off => "/bobbin-",
        };
        assert!(text.contains(temporary) && text.contains("kept"), "{text}");
    }
}

#[tokio::test]
async fn a_state_directory_where_commands_write_is_refused_with_the_way_out() {
    let lab = Lab::new(Bubblewrap::Off);
    let state = lab.work().join("deep/state");
    for args in [
        vec!["--state", state.to_str().unwrap(), "exec", "hello"],
        vec!["exec", "--workspace", lab.home().to_str().unwrap(), "hello"],
    ] {
        let refused = lab.run(&args).await;
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains("BOBBIN_STATE"), "{said}");
    }
    assert!(!state.exists() && !lab.state().exists());
}
