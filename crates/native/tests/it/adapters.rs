//! A chat adapter finds its conversation again (AppServer protocol 02 §7).

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::Server;

/// The requests of an adapter before each message of a chat: steps 1 to 3.
async fn look_up(client: &mut Client, chat: &str) -> String {
    let identity = json!({ "channelName": "pigeon", "userId": "u-3", "channelContext": chat });
    let list = client.call("thread/list", json!({ "identity": identity })).await;
    let threads = list["data"].as_array().unwrap();
    let open = |thread: &&Value| thread["status"] == "active" || thread["status"] == "paused";
    let Some(found) = threads.iter().find(open) else {
        let started = client.call("thread/start", json!({ "identity": identity })).await;
        return started["thread"]["id"].as_str().unwrap().to_owned();
    };
    let method = if found["status"] == "paused" {
        "thread/resume"
    } else {
        "thread/read"
    };
    let thread = client.call(method, json!({ "threadId": found["id"] })).await;
    assert_eq!(thread["thread"]["status"], "active");
    found["id"].as_str().unwrap().to_owned()
}

fn says(thread: &str, text: &str) -> Value {
    let sender = json!({ "senderId": "u-3", "senderName": "Mika", "groupId": "roof:7" });
    json!({ "threadId": thread, "input": [{ "type": "text", "text": text }], "sender": sender })
}

#[tokio::test]
async fn a_chat_leads_to_the_same_thread_until_it_is_put_away() {
    let server = Server::start().await;
    let adapter = json!({ "channelAdapter": { "channelName": "pigeon" } });
    let mut client = server.client_with(adapter.clone()).await;
    let roof = look_up(&mut client, "roof:7").await;
    let barn = look_up(&mut client, "barn:1").await;
    assert_ne!(roof, barn);
    client.call("turn/start", says(&roof, "wait")).await;
    // Busy: wait and try again.
    assert_eq!(
        client.error("turn/start", says(&roof, "say x")).await["code"],
        -32012
    );
    server.engine.release();
    let ended = client.wait_for("turn/completed").await;
    let turn = &ended["params"]["turn"];
    assert_eq!(turn["originChannel"], "pigeon");
    assert_eq!(
        turn["initiator"],
        json!({
            "channelName": "pigeon", "userId": "u-3", "userName": "Mika",
            "channelContext": "roof:7", "groupId": "roof:7",
        })
    );
    // Another client has paused it; the look-up resumes it.
    client.call("thread/pause", json!({ "threadId": roof })).await;
    assert_eq!(
        client.error("turn/start", says(&roof, "say x")).await["code"],
        -32011
    );
    assert_eq!(look_up(&mut client, "roof:7").await, roof);
    // Another connection of the adapter finds the same.
    let mut again = server.client_with(adapter).await;
    assert_eq!(look_up(&mut again, "roof:7").await, roof);
    assert_eq!(look_up(&mut again, "barn:1").await, barn);
    // `/new` archives the Thread, and the next message starts another.
    again.call("thread/archive", json!({ "threadId": roof })).await;
    let new = look_up(&mut client, "roof:7").await;
    assert!(new != roof && new != barn);
    client.call("turn/start", says(&new, "say hi")).await;
    let ended = client.wait_for("turn/completed").await;
    let items = ended["params"]["turn"]["items"].as_array().unwrap();
    let reply = items.iter().find(|item| item["type"] == "agentMessage").unwrap();
    assert_eq!(reply["payload"]["text"], "hi");
}
