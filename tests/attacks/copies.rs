//! Conversations come in from a file as finished history, and go out into one, and nothing else does.

use std::os::unix::fs::{MetadataExt as _, symlink};

use serde_json::{Value, json};

use crate::lab::{Bubblewrap, Lab};
use crate::state::plant;

/// Runs `bobbin` and returns its exit code with everything it said.
async fn run(lab: &Lab, args: &[&str]) -> (Option<i32>, String) {
    let output = lab.run(args).await;
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

async fn threads(lab: &Lab) -> Vec<Value> {
    let server = lab.serve().await;
    let mut client = server.client().await;
    let list = json!({ "identity": { "channelName": "test" } });
    let list = client.call("thread/list", list).await;
    server.kill().await;
    list["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_imported_database_gives_nobody_anything() {
    let lab = Lab::new(Bubblewrap::Off);
    plant(&lab).await;
    let (code, said) = run(&lab, &["import", ".craft/bobbin.db"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Imported 2 conversations"), "{said}");
    let (code, said) = run(&lab, &["import", ".craft/bobbin.db"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("2 were left out: they are here already"), "{said}");
    let server = lab.serve().await;
    let mut client = server.client().await;
    let list = json!({ "identity": { "channelName": "test" } });
    let list = client.call("thread/list", list).await;
    let mut ends = Vec::new();
    for thread in list["data"].as_array().unwrap() {
        let read = json!({ "threadId": thread["id"], "includeTurns": true });
        let read = client.call("thread/read", read).await;
        let turn = &read["thread"]["turns"][0];
        ends.push(turn["status"].as_str().unwrap().to_owned());
        if turn["status"] == "failed" {
            assert!(turn.to_string().contains("was imported"), "{turn:#}");
        }
        // Nothing is asked about what was asked there.
        client
            .call("thread/subscribe", json!({ "threadId": thread["id"] }))
            .await;
    }
    ends.sort();
    assert_eq!(ends, ["completed", "failed"]);
    let thread = client.start_thread().await;
    client.start_turn(&thread, "run `touch planted`").await;
    // The answer that came along does not count, and this question is the first of all.
    let asked = client.wait_for("item/approval/request").await;
    assert_eq!(asked["params"]["threadId"], thread.as_str(), "{asked}");
    assert!(!lab.work().join("planted").exists() && !lab.work().join("waiting").exists());
    server.kill().await;
}

#[tokio::test]
async fn what_is_no_database_is_not_imported_and_nothing_is_while_a_server_runs() {
    let lab = Lab::new(Bubblewrap::Off);
    lab.write("text.db", "hello");
    lab.write("half.db", "SQLite format 3\0 and then nonsense");
    nix::unistd::mkfifo(&lab.work().join("pipe.db"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    symlink("/dev/zero", lab.work().join("zero.db")).unwrap();
    for file in ["text.db", "half.db", "pipe.db", "zero.db", "none.db"] {
        let (code, said) = run(&lab, &["import", file]).await;
        assert_eq!(code, Some(1), "{file}: {said}");
        assert!(said.contains(file), "{said}");
    }
    let server = lab.serve().await;
    let (code, said) = run(&lab, &["import", "text.db"]).await;
    assert_eq!(code, Some(6), "{said}");
    assert!(said.contains("while no server runs"), "{said}");
    server.kill().await;
}

#[tokio::test]
async fn conversations_of_another_agent_come_in_once_as_finished_history() {
    let lab = Lab::new(Bubblewrap::Off);
    let work = lab.work().to_str().unwrap().to_owned();
    let line = |kind: &str, content: Value| json!({ "type": kind, "cwd": work, "timestamp": "2026-11-27T21:23:08.500Z", "message": { "content": content } });
    let call =
        json!([{ "type": "tool_use", "id": "c", "name": "Bash", "input": { "command": "touch planted" } }]);
    let mut text = format!(
        "{}\n{}\nno line\n",
        line("user", json!("Boil it")),
        line("assistant", call)
    );
    let name: String = work.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let folder = lab.home().join(".claude/projects").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("one.jsonl");
    std::fs::write(&file, &text).unwrap();
    let (code, said) = run(&lab, &["import", "--from", "claude"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("one  2026-11-27 21:23 UTC     1 turn  Boil it"),
        "{said}"
    );
    let (code, said) = run(&lab, &["import", "--from", "claude", "one", "two"]).await;
    assert_eq!(code, Some(1), "{said}");
    for part in [
        "Imported 1 conversation of Claude Code",
        "one: damaged lines were skipped: 1",
        "no conversation two",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let (code, said) = run(&lab, &["import", "--from", "claude", "--all"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("here already: 1 conversation"), "{said}");
    text.push_str(&line("user", json!("And tea")).to_string());
    std::fs::write(&file, &text).unwrap();
    let (_, said) = run(&lab, &["import", "--from", "claude", "--all"]).await;
    assert!(said.contains("bobbin threads delete thread_claude_one"), "{said}");
    for other in ["codex", "opencode"] {
        let (code, said) = run(&lab, &["import", "--from", other]).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("has no conversations in"), "{said}");
    }
    let server = lab.serve().await;
    let (code, said) = run(&lab, &["import", "--from", "claude", "--all"]).await;
    assert_eq!(code, Some(6), "{said}");
    let mut client = server.client().await;
    let read = json!({ "threadId": "thread_claude_one", "includeTurns": true });
    let read = client.call("thread/read", read).await;
    let turns = read["thread"]["turns"].as_array().unwrap();
    assert_eq!(
        (turns.len(), turns[0]["status"].as_str()),
        (1, Some("completed")),
        "{read:#}"
    );
    assert!(!lab.work().join("planted").exists());
    // The user can go on with it.
    client.start_turn("thread_claude_one", "list the files").await;
    client.wait_for("turn/completed").await;
    server.kill().await;
    let (code, said) = run(&lab, &["threads", "delete", "--yes", "thread_claude_one"]).await;
    assert_eq!(code, Some(0), "{said}");
    let (_, said) = run(&lab, &["import", "--from", "claude", "--all"]).await;
    assert!(said.contains("Imported 1 conversation of"), "{said}");
}

#[tokio::test]
async fn a_backup_is_private_overwrites_nothing_and_comes_back() {
    let lab = Lab::new(Bubblewrap::Off);
    let (code, said) = run(&lab, &["backup", "early.db"]).await;
    assert_eq!(code, Some(1), "{said}");
    let server = lab.serve().await;
    let mut client = server.client().await;
    client.start_thread().await;
    let (code, said) = run(&lab, &["backup", "copy.db"]).await;
    assert_eq!(code, Some(0), "{said}");
    let copy = lab.work().join("copy.db");
    assert_eq!(std::fs::metadata(&copy).unwrap().mode() & 0o777, 0o600);
    symlink(lab.home().join("made"), lab.work().join("link.db")).unwrap();
    for there in ["copy.db", "link.db"] {
        let (code, said) = run(&lab, &["backup", there]).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("is there already"), "{said}");
    }
    assert!(!lab.home().join("made").exists());
    server.kill().await;
    let other = Lab::new(Bubblewrap::Off);
    std::fs::copy(&copy, other.work().join("copy.db")).unwrap();
    let (code, said) = run(&other, &["import", "copy.db"]).await;
    assert_eq!(code, Some(0), "{said}");
    let found = threads(&other).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0]["workspacePath"],
        other.work().to_str().unwrap(),
        "{found:?}"
    );
}

#[tokio::test]
async fn state_follows_a_moved_folder_and_is_removed_only_when_its_user_says_so() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    server.client().await.start_thread().await;
    let (old, new) = (lab.work(), lab.work().with_extension("moved"));
    let names = [old.to_str().unwrap(), new.to_str().unwrap()];
    std::fs::create_dir(&new).unwrap();
    for args in [
        &["state", "move", names[0], names[1]][..],
        &["state", "remove", names[0], "--yes"],
    ] {
        let (code, said) = run(&lab, args).await;
        assert_eq!(code, Some(6), "a server runs: {said}");
    }
    server.kill().await;
    std::fs::remove_dir(&new).unwrap();
    std::fs::rename(&old, &new).unwrap();
    // The lab's own place is empty from here on.
    std::fs::create_dir(&old).unwrap();
    let (_, said) = run(&lab, &["state", "list"]).await;
    assert!(said.contains(names[0]) && said.contains("MiB"), "{said}");
    let (code, said) = run(&lab, &["state", "move", names[0], names[1]]).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run(&lab, &["state", "move", names[0], names[1]]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no state of"), "{said}");
    let server = lab
        .serve_by(lab.bobbin(&["serve", "--workspace", names[1], "--listen", "ws://127.0.0.1:0"]))
        .await;
    let mut client = server.client().await;
    let list = json!({ "identity": { "channelName": "test" } });
    let list = client.call("thread/list", list).await;
    assert_eq!(list["data"].as_array().unwrap().len(), 1, "{list}");
    server.kill().await;
    assert_eq!(threads(&lab).await.len(), 0);
    let (code, said) = run(&lab, &["state", "move", names[1], names[0]]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("has state already"), "{said}");
    let (code, said) = run(&lab, &["state", "remove", names[1]]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--yes"), "{said}");
    std::fs::remove_dir_all(&new).unwrap();
    let (_, said) = run(&lab, &["state", "list"]).await;
    assert!(said.contains("no such folder any more"), "{said}");
    let (code, said) = run(&lab, &["state", "remove", names[1], "--yes"]).await;
    assert_eq!(code, Some(0), "{said}");
    let (_, said) = run(&lab, &["state", "list"]).await;
    assert!(!said.contains(names[1]), "{said}");
}
