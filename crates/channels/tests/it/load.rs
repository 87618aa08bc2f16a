//! Eight adapters of fifty chats each, for a minute. By hand:
//! `cargo nextest run --release -p bobbin-channels --run-ignored only -E 'test(load)' --no-capture`.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bobbin_testkit::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{Server, by_itself};

const ADAPTERS: usize = 8;
const CHATS: usize = 50;
/// Messages per second, to all chats of an adapter together and from them together.
const RATE: u32 = 20;
const SECONDS: u32 = 60;

/// The messages that the chats of one adapter got.
#[derive(Default)]
struct Seen {
    /// Times from a chat's message to its reply.
    replies: Vec<Duration>,
    /// Numbers of the messages that were sent to the chats, in order.
    sent: Vec<usize>,
}

/// Runs one adapter: its chats send messages in turn, and it accepts messages to them.
async fn adapter(mut client: Client, name: String) -> (Seen, Client) {
    let total = (RATE * SECONDS) as usize;
    let mut threads = Vec::new();
    for chat in 0..CHATS {
        let identity = json!({ "channelName": name, "userId": format!("u-{chat}"), "channelContext": format!("{chat}") });
        let started = client.call("thread/start", json!({ "identity": identity })).await;
        threads.push(started["thread"]["id"].as_str().unwrap().to_owned());
    }
    let mut waiting = vec![VecDeque::new(); CHATS];
    let mut seen = Seen::default();
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / RATE);
    let mut said = 0;
    while seen.replies.len() < total || seen.sent.len() < total {
        let message = tokio::select! {
            _ = ticks.tick(), if said < total => {
                let chat = said % CHATS;
                let input = json!([{ "type": "text", "text": format!("Say message {said}") }]);
                client.request("turn/start", json!({ "threadId": threads[chat], "input": input })).await;
                waiting[chat].push_back((said, Instant::now()));
                said += 1;
                continue;
            }
            message = client.next() => message.expect("the connection stays"),
        };
        assert_eq!(message.get("error"), None, "{name}: {message}");
        match message["method"].as_str() {
            Some("ext/channel/send") => {
                let number: usize = message["params"]["message"]["text"]
                    .as_str()
                    .unwrap()
                    .parse()
                    .unwrap();
                let chat = format!("{name}:{}", number % CHATS);
                assert_eq!(message["params"]["target"], chat.as_str());
                seen.sent.push(number);
                client.reply(&message, json!({ "delivered": true })).await;
            }
            Some("ext/channel/heartbeat") => client.reply(&message, json!({})).await,
            Some("turn/completed") => {
                let params = &message["params"];
                let chat = threads
                    .iter()
                    .position(|id| params["threadId"] == id.as_str())
                    .unwrap();
                let (number, started) = waiting[chat].pop_front().expect("one reply a message");
                let items = params["turn"]["items"].as_array().unwrap();
                let reply = items.iter().find(|item| item["type"] == "agentMessage").unwrap();
                assert_eq!(reply["payload"]["text"], format!("message {number}"));
                seen.replies.push(started.elapsed());
            }
            _ => {}
        }
    }
    (seen, client)
}

/// Sends to the chats of one adapter in turn.
async fn sender(mut client: Client, name: String) -> (Vec<Duration>, Client) {
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / RATE);
    let mut times = Vec::new();
    for number in 0..RATE * SECONDS {
        ticks.tick().await;
        let before = Instant::now();
        let target = format!("{name}:{}", number as usize % CHATS);
        let message = json!({ "kind": "text", "text": number.to_string() });
        let params = json!({ "channel": name, "target": target, "message": message });
        let sent: Value = client.call("channel/send", params).await;
        assert_eq!(sent["delivered"], true, "{sent}");
        times.push(before.elapsed());
    }
    (times, client)
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    let (count, median, p99, most) = (times.len(), at(50), at(99), at(100));
    eprintln!("{what}: {count}, median {median:?}, p99 {p99:?}, most {most:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a minute and prints figures"]
async fn every_message_of_eight_adapters_is_answered_and_delivered_once_and_in_order() {
    let names: Vec<String> = (0..ADAPTERS).map(|n| format!("bird{n}")).collect();
    let server = Server::start(names.iter().map(|name| by_itself(name)).collect()).await;
    let (mut adapters, mut senders) = (JoinSet::new(), JoinSet::new());
    for name in names {
        let capability = json!({ "deliveryCapabilities": { "structuredDelivery": true } });
        let client = server.adapter(&name, capability).await;
        adapters.spawn(adapter(client, name.clone()));
        senders.spawn(sender(server.client().await, name));
    }
    let sent = senders.join_all().await;
    let seen = adapters.join_all().await;
    for (seen, _) in &seen {
        assert!(
            seen.sent.iter().copied().eq(0..(RATE * SECONDS) as usize),
            "{:?}",
            seen.sent
        );
    }
    report(
        "replies",
        seen.into_iter().flat_map(|(seen, _)| seen.replies).collect(),
    );
    report(
        "deliveries",
        sent.into_iter().flat_map(|(times, _)| times).collect(),
    );
}
