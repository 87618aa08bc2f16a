//! ACP clients whose connections are cut and whose servers are killed, on one Thread that another agent runs.
//!
//! A short form runs with all tests. `BOBBIN_ACP_ROUNDS=200 cargo nextest run -p bobbin-cli acp_rounds` is the long form.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::acp::{greeted, kill_server, prompt, text};
use crate::chaos::from_outside;
use crate::engine_acp::{read, workspace};
use crate::support::Workspace;

/// Rounds of the short form.
const ROUNDS: u64 = 10;

/// How a round ends for its client.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// The client's process is killed.
    Client,
    /// The client closes the connection.
    Connection,
    /// The server is killed.
    Server,
}

/// Loads the session, again if the server has just ended. Returns its replay.
async fn replay(client: &mut Client, workspace: &Workspace, session: &str) -> Vec<Value> {
    let params = json!({ "sessionId": session, "cwd": workspace.path(), "mcpServers": [] });
    let mut id = client.request("session/load", params.clone()).await;
    let mut updates = Vec::new();
    let mut again = true;
    loop {
        let message = client.next().await.unwrap();
        let is_answer = message.get("method").is_none() && message["id"] == id;
        if is_answer && message["result"].is_object() {
            return updates;
        }
        if is_answer {
            let why = message["error"]["message"].as_str().unwrap();
            assert!(again && why.contains("Load the session"), "{message}");
            again = false;
            id = client.request("session/load", params.clone()).await;
            updates.clear();
        } else {
            updates.push(message["params"]["update"].clone());
        }
    }
}

/// Returns what a conversation consists of: messages, thoughts, calls and how they ended.
fn conversation(replay: &[Value]) -> Vec<&Value> {
    let kinds = [
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
    ];
    let is_part = |update: &&Value| kinds.contains(&update["sessionUpdate"].as_str().unwrap_or_default());
    replay.iter().filter(is_part).collect()
}

/// Returns how often users said something.
fn said(replay: &[Value], marker: &str) -> usize {
    let of_user = replay
        .iter()
        .filter(|update| update["sessionUpdate"] == "user_message_chunk");
    of_user
        .filter(|update| update["content"]["text"].as_str() == Some(marker))
        .count()
}

/// Returns the calls that have not ended.
fn open_calls(replay: &[Value]) -> Vec<&Value> {
    let calls = replay
        .iter()
        .filter(|update| update["sessionUpdate"] == "tool_call");
    let is_open = |call: &&Value| {
        let id = &call["toolCallId"];
        let mut news = replay.iter().rev().filter(|update| update["toolCallId"] == *id);
        let status = news.find_map(|update| update["status"].as_str());
        !matches!(status, Some("completed" | "failed"))
    };
    calls.filter(is_open).collect()
}

#[tokio::test]
async fn a_thread_is_the_same_for_every_client_after_each_cut() {
    let rounds = from_outside("BOBBIN_ACP_ROUNDS").unwrap_or(ROUNDS);
    let workspace = workspace();
    let (_child, mut client) = greeted(&workspace).await;
    let params = json!({ "cwd": workspace.path(), "mcpServers": [] });
    let started = client.call("session/new", params).await;
    let session = started["sessionId"].as_str().unwrap().to_owned();
    let engine = json!({ "sessionId": session, "configId": "agent", "value": "tea" });
    client.call("session/set_config_option", engine).await;
    client.finish().await;

    let mut before: Vec<Value> = Vec::new();
    for round in 0..rounds {
        let cut = match round % 3 {
            0 => Cut::Client,
            1 => Cut::Server,
            _ => Cut::Connection,
        };
        // The cut comes after so many messages of the Turn, which has about ten.
        let messages = (round * 7) % 12;
        let (mut child, mut client) = greeted(&workspace).await;
        replay(&mut client, &workspace, &session).await;
        let marker = format!("round {round}");
        let id = client.request("session/prompt", text(&session, &marker)).await;
        let mut seen: u64 = 0;
        while seen < messages {
            let message = client.next().await.unwrap();
            if message.get("method").is_none() && message["id"] == id {
                break;
            }
            let kind = message["params"]["update"]["sessionUpdate"].as_str();
            seen += u64::from(matches!(kind, Some("tool_call" | "agent_message_chunk")));
        }
        match cut {
            Cut::Client => child.start_kill().unwrap(),
            Cut::Connection => drop(client),
            Cut::Server => kill_server(&workspace, &workspace),
        }

        // A prompt of the next client runs after the Turn, however that ends.
        let (_child, mut next) = greeted(&workspace).await;
        replay(&mut next, &workspace, &session).await;
        let settled = format!("title {round}");
        let answer = prompt(&mut next, &session, &settled).await;
        let answer = answer.last().unwrap();
        assert_eq!(
            answer["result"]["stopReason"], "end_turn",
            "{round} {cut:?}: {answer}"
        );

        let (_child, mut other) = greeted(&workspace).await;
        let [one, two] = [&mut next, &mut other];
        let one = replay(one, &workspace, &session).await;
        let two = replay(two, &workspace, &session).await;
        let (one, two) = (conversation(&one), conversation(&two));
        assert_eq!(one, two, "{round} {cut:?}");
        let now: Vec<Value> = one.into_iter().cloned().collect();
        assert!(now.starts_with(&before), "{round} {cut:?}: {before:?} {now:?}");
        let recorded = said(&now, &marker);
        // Where the client saw something of the Turn, its prompt is recorded.
        assert!(
            recorded == 1 || (recorded == 0 && messages == 0),
            "{round} {cut:?}: {recorded}"
        );
        assert_eq!(said(&now, &settled), 1, "{round} {cut:?}");
        assert_eq!(open_calls(&now), Vec::<&Value>::new(), "{round} {cut:?}");
        let prompts = read(&workspace, "prompts");
        let sent = prompts.matches(&format!("\"text\":\"{marker}\"")).count();
        assert!(sent <= recorded, "{round} {cut:?}: the agent got it {sent} times");
        before = now;
    }
}
