//! Damaged bytes in the database, as the user of a server meets them: a start or a read says what is wrong and what to do,
//! the rest goes on.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Workspace, rich};

const PAGE: usize = 4096;

/// What the Threads of these tests talk about.
const WORDS: [&str; 6] = ["black", "green", "white", "oolong", "jasmine", "rooibos"];
/// Turns of each.
const TURNS: usize = 3;

/// Leaves a database of some Threads behind, in one file, and returns it with them.
async fn left_behind(workspace: &Workspace) -> (PathBuf, Vec<String>) {
    let server = workspace.web_socket();
    let mut client = server.client("damage").await;
    let mut threads = Vec::new();
    for word in WORDS {
        let thread = client.start_thread().await;
        // Several pages of each, so that one page is of one Thread.
        for _ in 0..TURNS {
            client
                .start_turn(&thread, &format!("say {}", word.repeat(1000)))
                .await;
            client.wait_for("turn/completed").await;
        }
        threads.push(thread);
    }
    assert!(server.terminate().await.success());
    let file = workspace.database();
    (file, threads)
}

#[tokio::test]
async fn a_file_that_is_no_database_stops_the_start_with_what_to_do() {
    let workspace = Workspace::new();
    let (file, _) = left_behind(&workspace).await;
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[..100].fill(b'x');
    std::fs::write(&file, bytes).unwrap();
    let started = workspace
        .run(&["app-server", "--listen", "ws://127.0.0.1:0"])
        .await;
    let told = String::from_utf8(started.stderr).unwrap();
    assert_eq!(started.status.code(), Some(1), "{told}");
    assert!(
        told.contains("bobbin.db") && told.contains("bobbin doctor") && !told.contains("panicked"),
        "{told}"
    );
    let doctor = workspace.run(&["doctor"]).await;
    let told = String::from_utf8(doctor.stdout).unwrap();
    assert_eq!(doctor.status.code(), Some(1), "{told}");
    assert!(
        told.contains("damaged") && told.contains("bobbin import"),
        "{told}"
    );
}

#[tokio::test]
async fn damage_is_told_where_it_is_met_and_the_rest_goes_on() {
    let workspace = Workspace::new();
    let (file, threads) = left_behind(&workspace).await;
    let mut bytes = std::fs::read(&file).unwrap();
    let needle = WORDS[0].repeat(300);
    let mut hit = 0;
    for page in bytes.chunks_mut(PAGE).skip(1) {
        // Pages that go on with a long text begin with the number of the next one; those of the tree belong to all.
        let goes_on = page[0] == 0;
        let is_of_it = page.windows(needle.len()).any(|part| part == needle.as_bytes());
        if goes_on && is_of_it {
            page[..8].fill(0xff);
            hit += 1;
        }
    }
    assert!(hit > 0);
    std::fs::write(&file, bytes).unwrap();
    let server = workspace.web_socket();
    // One connection for all of it: nobody is cut off for what somebody else has asked.
    let mut client = server.client_with("damage", rich()).await;
    let list = json!({ "identity": { "channelName": "test" } });
    let list = client.call("thread/list", list).await;
    assert_eq!(list["data"].as_array().unwrap().len(), threads.len());
    let mut told = Vec::new();
    for (word, thread) in WORDS.iter().zip(&threads) {
        let read = json!({ "threadId": thread, "includeTurns": true });
        let answer = client.answer_to("thread/read", read).await;
        if let Some(error) = answer.get("error") {
            assert_eq!(error["code"], -32603, "{error}");
            let reason = error["data"]["reason"].as_str().unwrap_or_default();
            assert!(["databaseDamaged", "threadDamaged"].contains(&reason), "{error}");
            told.push(*word);
            continue;
        }
        let turns = answer["result"]["thread"]["turns"].as_array().unwrap();
        assert_eq!(turns.len(), TURNS);
        let said = |turn: &serde_json::Value| turn["items"][0]["payload"]["text"].to_string();
        assert!(turns.iter().all(|turn| said(turn).contains(word)));
    }
    // A search for its neighbours may have to pass what is damaged: they are whole, or told as well.
    assert!(told.contains(&WORDS[0]), "{told:?}");
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn a_damaged_log_is_read_as_far_as_it_is_sound() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("damage").await;
    let thread = client.start_thread().await;
    for _ in 0..4 {
        client.start_turn(&thread, "say something").await;
        client.wait_for("turn/completed").await;
    }
    server.kill().await;
    let log = workspace.database().with_extension("db-wal");
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.len() * 3 / 4;
    bytes[middle..middle + 64].fill(0x5a);
    std::fs::write(&log, bytes).unwrap();
    let server = workspace.web_socket();
    let mut client = server.client("after").await;
    let read = json!({ "threadId": thread, "includeTurns": true });
    let read = client.call("thread/read", read).await;
    // What is there is whole: Turns from the first on, each with an end.
    let turns = read["thread"]["turns"].as_array().unwrap();
    assert!(!turns.is_empty() && turns.len() <= 4);
    // A Turn whose end was damaged runs again first.
    let subscription = json!({ "threadId": thread });
    client.call("thread/subscribe", subscription).await;
    let turn = json!({ "threadId": thread, "input": [{ "type": "text", "text": "say more" }] });
    let mut started = client.answer_to("turn/start", turn.clone()).await;
    if started["error"]["code"] == -32012 {
        client.wait_for("turn/completed").await;
        started = client.answer_to("turn/start", turn).await;
    }
    let id = &started["result"]["turn"]["id"];
    let is_over =
        |message: &Value| message["method"] == "turn/completed" && message["params"]["turnId"] == *id;
    client.find("the end of the turn", is_over).await;
    assert!(server.terminate().await.success());
}
