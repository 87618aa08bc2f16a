//! Lists and histories in pages.

use serde_json::{Value, json};

use crate::support::Server;

fn names(list: &Value) -> Vec<&str> {
    let data = list["data"].as_array().unwrap();
    data.iter()
        .map(|thread| thread["displayName"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_list_in_pages_is_the_list() {
    let server = Server::start().await;
    let mut client = server.client().await;
    for number in 0..7 {
        let request =
            json!({ "identity": { "channelName": "test" }, "displayName": format!("Tea {number}%") });
        client.call("thread/start", request).await;
    }
    let ask = |more: Value| {
        let mut params = json!({ "identity": { "channelName": "test" } });
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        params
    };
    let whole = client.call("thread/list", ask(json!({}))).await;
    assert_eq!((names(&whole).len(), whole.get("nextCursor")), (7, None));
    let mut paged = Vec::new();
    let mut more = json!({ "limit": 3 });
    loop {
        let page = client.call("thread/list", ask(more)).await;
        paged.extend(page["data"].as_array().unwrap().clone());
        match page.get("nextCursor") {
            Some(cursor) => more = json!({ "limit": 3, "cursor": cursor }),
            None => break,
        }
    }
    assert_eq!(paged, *whole["data"].as_array().unwrap());
    let found = client.call("thread/list", ask(json!({ "query": "EA 4%" }))).await;
    assert_eq!(names(&found), ["Tea 4%"]);
    let found = client.call("thread/list", ask(json!({ "query": "_ea" }))).await;
    assert!(names(&found).is_empty());
    for wrong in [
        json!({ "limit": 0 }),
        json!({ "limit": 101 }),
        json!({ "cursor": "x" }),
    ] {
        let error = client.error("thread/list", ask(wrong)).await;
        assert_eq!(error["code"], -32602);
    }
}

#[tokio::test]
async fn a_history_in_pages_is_the_history_newest_page_first() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    for number in 0..40 {
        client.start_turn(&thread, &format!("say {number}")).await;
        client.wait_for("turn/completed").await;
    }
    client.start_turn(&thread, "hang").await;
    let ask = |more: Value| {
        let mut params = json!({ "threadId": thread, "includeTurns": true });
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        params
    };
    let whole = client.call("thread/read", ask(json!({}))).await;
    assert_eq!(whole.get("turnPage"), None);
    let whole = whole["thread"]["turns"].as_array().unwrap().clone();
    assert_eq!(whole.len(), 41);
    for limit in [1, 7, 16, 41, 100] {
        let mut pages: Vec<Value> = Vec::new();
        let mut more = json!({ "turnLimit": limit });
        loop {
            let page = client.call("thread/read", ask(more)).await;
            let turns = page["thread"]["turns"].as_array().unwrap();
            assert!(turns.len() <= limit && !turns.is_empty());
            pages.splice(0..0, turns.clone());
            match page["turnPage"].get("nextCursor") {
                Some(cursor) => more = json!({ "turnLimit": limit, "cursor": cursor }),
                None => break,
            }
        }
        assert_eq!(pages, whole, "{limit}");
    }
    for wrong in [json!({ "turnLimit": 0 }), json!({ "cursor": "x" })] {
        let error = client.error("thread/read", ask(wrong)).await;
        assert_eq!(error["code"], -32602);
    }
}

#[tokio::test]
async fn a_history_too_long_for_one_answer_says_where_to_go_on() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let long = "x".repeat(1 << 20);
    for _ in 0..6 {
        client.start_turn(&thread, &format!("say {long}")).await;
        client.wait_for("turn/completed").await;
    }
    let mut seen = 0;
    let mut params = json!({ "threadId": thread, "includeTurns": true });
    loop {
        let page = client.call("thread/read", params.clone()).await;
        seen += page["thread"]["turns"].as_array().unwrap().len();
        match page["turnPage"].get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => break,
        }
    }
    assert_eq!(seen, 6);
}
