//! `thread/search`: from a word to its place in the conversation.

use std::time::Duration;

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::Server;

fn request(more: &Value) -> Value {
    let mut params = json!({ "identity": { "channelName": "test" }, "query": "kettle" });
    let members = params.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    params
}

/// Searches once everything is indexed.
async fn search(client: &mut Client, more: &Value) -> Value {
    let search = async {
        loop {
            let found = client.call("thread/search", request(more)).await;
            if found["complete"] == true {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), search)
        .await
        .expect("the index catches up")
}

#[tokio::test]
async fn a_search_leads_to_the_turn_where_it_was_said() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    for text in ["say tea", "say Put the KETTLE on.", "say toast"] {
        client.start_turn(&thread, text).await;
        client.wait_for("turn/completed").await;
    }
    let found = search(&mut client, &json!({ "itemTypes": ["agentMessage"] })).await;
    let hits = found["data"].as_array().unwrap();
    assert_eq!(hits.len(), 1, "{found}");
    let hit = &hits[0];
    assert_eq!(hit["threadId"], thread.as_str());
    assert_eq!(hit["displayName"], "say tea");
    assert_eq!(
        (&hit["turnId"], &hit["itemId"]),
        (&json!("turn_002"), &json!("item_002"))
    );
    assert_eq!(hit["snippet"], "Put the KETTLE on.");
    assert_eq!(found.get("nextCursor"), None);
    let page =
        json!({ "threadId": thread, "includeTurns": true, "turnLimit": 1, "cursor": hit["turnCursor"] });
    let read = client.call("thread/read", page).await;
    assert_eq!(read["thread"]["turns"][0]["id"], "turn_002");
    let titles = search(
        &mut client,
        &json!({ "query": "\"say tea\"", "itemTypes": ["title"] }),
    )
    .await;
    assert_eq!(titles["data"][0]["itemType"], "title");
    assert_eq!(titles["data"][0].get("turnCursor"), None);
}

#[tokio::test]
async fn a_search_in_pages_goes_on_where_the_last_ended() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, &"say kettle\n".repeat(5)).await;
    client.wait_for("turn/completed").await;
    let mut more = json!({ "limit": 2, "itemTypes": ["agentMessage"] });
    let mut items = Vec::new();
    loop {
        let page = search(&mut client, &more).await;
        items.extend(
            page["data"]
                .as_array()
                .unwrap()
                .iter()
                .map(|hit| hit["itemId"].clone()),
        );
        match page.get("nextCursor") {
            Some(cursor) => more["cursor"] = cursor.clone(),
            None => break,
        }
    }
    assert_eq!(
        items,
        ["item_006", "item_005", "item_004", "item_003", "item_002"]
    );
}

#[tokio::test]
async fn what_cannot_be_searched_for_is_refused_with_a_reason() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let table = [
        (json!({ "query": "to be" }), "three characters"),
        (json!({ "query": "x".repeat(1001) }), "longer than 1000 bytes"),
        (json!({ "limit": 0 }), "1 to 100"),
        (json!({ "limit": 101 }), "1 to 100"),
        (
            json!({ "cursor": "turn_001" }),
            "not one that an earlier answer gave",
        ),
        (json!({ "identity": { "channelName": " " } }), "must not be blank"),
    ];
    for (more, told) in table {
        let error = client.error("thread/search", request(&more)).await;
        assert_eq!(error["code"], -32602);
        let detail = error["data"]["detail"].as_str().unwrap();
        assert!(detail.contains(told), "{detail}");
    }
}

#[tokio::test]
async fn a_search_takes_a_bounded_number_of_other_channels() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let origins: Vec<String> = (0..257).map(|n| format!("channel-{n}")).collect();
    let error = client
        .error(
            "thread/search",
            request(&json!({ "crossChannelOrigins": origins })),
        )
        .await;
    assert_eq!(error["code"], -32602);
    let fewer = request(&json!({ "crossChannelOrigins": origins[1..] }));
    client.call("thread/search", fewer).await;
}

#[tokio::test]
async fn threads_are_found_by_what_was_said_in_them() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let mut threads = Vec::new();
    for (user, texts) in [
        ("ada", &["say Milk, but less  sugar.", "say No SUGAR at all."][..]),
        ("bob", &["say a spoon of Sugar"]),
        ("ada", &["say 砂糖"]),
    ] {
        let identity = json!({ "channelName": user, "userId": user });
        let started = client.call("thread/start", json!({ "identity": identity })).await;
        let thread = started["thread"]["id"].as_str().unwrap().to_owned();
        for text in texts {
            client.start_turn(&thread, text).await;
            client.wait_for("turn/completed").await;
        }
        server.clock().advance(1000);
        threads.push(thread);
    }
    let [first, second, third] = &threads[..] else {
        panic!("three Threads")
    };
    search(&mut client, &json!({})).await;
    let find = async |client: &mut Client, more: Value| {
        let mut params = json!({ "searchTerm": " SUGAR " });
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let found = client.call("thread/search", params).await;
        let ids = found["data"].as_array().unwrap().iter();
        let ids: Vec<_> = ids
            .map(|entry| entry["thread"]["id"].as_str().unwrap().to_owned())
            .collect();
        (ids, found)
    };
    let (ids, found) = find(&mut client, json!({})).await;
    assert_eq!(ids, [second.as_str(), first]);
    assert_eq!(found["data"][1]["snippet"], "say Milk, but less sugar.");
    assert_eq!(found["data"][1]["thread"]["status"], "active");
    assert_eq!(found.get("nextCursor"), None);
    let (ids, page) = find(&mut client, json!({ "limit": 1, "sortDirection": "ascending" })).await;
    assert_eq!(ids, [first.as_str()]);
    let next = json!({ "limit": 1, "sortDirection": "ascending", "cursor": page["nextCursor"] });
    let (ids, page) = find(&mut client, next).await;
    assert_eq!((ids, page.get("nextCursor")), (vec![second.clone()], None));
    client.start_turn(first, "say tea").await;
    client.wait_for("turn/completed").await;
    let (ids, _) = find(&mut client, json!({ "sortKey": "lastActiveAt" })).await;
    assert_eq!(ids, [first.as_str(), second]);
    // The index has no texts of two characters.
    let (ids, _) = find(&mut client, json!({ "searchTerm": "砂糖" })).await;
    assert_eq!(ids, [third.as_str()]);
    client.call("thread/archive", json!({ "threadId": second })).await;
    let (ids, _) = find(&mut client, json!({ "archived": true })).await;
    assert_eq!(ids, [second.as_str()]);
    let (ids, _) = find(&mut client, json!({})).await;
    assert_eq!(ids, [first.as_str()]);
    for more in [
        json!({ "searchTerm": "  " }),
        json!({ "limit": 0 }),
        json!({ "limit": 101 }),
        json!({ "cursor": "c1" }),
        json!({ "query": "sugar" }),
    ] {
        let mut params = json!({ "searchTerm": "sugar" });
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        assert_eq!(
            client.error("thread/search", params).await["code"],
            -32602,
            "{more}"
        );
    }
}
