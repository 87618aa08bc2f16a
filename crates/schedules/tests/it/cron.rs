//! `cron/*`, the agent's tool and the results of jobs, as clients see them.

use serde_json::json;

use crate::support::{HOUR, Server, add, jobs};

#[tokio::test]
async fn a_job_runs_by_the_clock_and_is_managed() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    client.wait_for("thread/started").await;
    let arguments =
        json!({ "action": "add", "message": "say The kettle is on.", "everySeconds": 3600, "name": "tea" });
    let made = add(&mut client, &thread, &arguments).await;
    let id = made["id"].as_str().unwrap().to_owned();
    let mut seen = vec![made.clone(), client.wait_for("cron/stateChanged").await];
    server.pass(&mut client, HOUR).await;
    seen.push(client.wait_for("cron/stateChanged").await);
    seen.push(client.wait_for("thread/started").await);
    seen.push(client.wait_for("cron/stateChanged").await);
    seen.push(client.wait_for("system/jobResult").await);
    for (method, params) in [
        ("cron/list", json!({})),
        ("cron/enable", json!({ "jobId": id, "enabled": false })),
        ("cron/list", json!({})),
        (
            "cron/enable",
            json!({ "jobId": id, "enabled": true, "clientRequestId": "e1" }),
        ),
        (
            "cron/enable",
            json!({ "jobId": id, "enabled": true, "clientRequestId": "e1" }),
        ),
        ("cron/remove", json!({ "jobId": "00000000" })),
        ("cron/enable", json!({ "jobId": "00000000", "enabled": true })),
        ("cron/run", json!({ "jobId": "00000000" })),
        ("cron/run", json!({ "jobId": id })),
    ] {
        let mut answer = client.answer_to(method, params).await;
        answer["id"].take();
        seen.push(answer);
    }
    client.wait_for("system/jobResult").await;
    let mut removed = client.answer_to("cron/remove", json!({ "jobId": id })).await;
    removed["id"].take();
    seen.push(removed);
    seen.push(
        client
            .find("its removal", |message| message["params"]["removed"] == true)
            .await,
    );
    assert!(jobs(&mut client).await.is_empty());
    assert_eq!(server.stored().await, 0);
    insta::assert_snapshot!(server.redact(&seen, &[&id]));
}

#[tokio::test]
async fn the_second_run_goes_on_in_the_thread_of_the_first_and_says_who_sent_it() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let arguments = json!({ "action": "add", "message": "say Again.", "everySeconds": 3600, "name": "tea" });
    let made = add(&mut client, &thread, &arguments).await;
    let mut threads = Vec::new();
    for _ in 0..2 {
        server.pass(&mut client, HOUR).await;
        let result = client.wait_for("system/jobResult").await;
        threads.push(result["params"]["threadId"].clone());
    }
    assert_eq!(threads[0], threads[1]);
    let read = json!({ "threadId": threads[0], "includeTurns": true });
    let read = client.call("thread/read", read).await;
    let read = &read["thread"];
    let turns = read["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2);
    assert_eq!(read["originChannel"], "cron");
    assert_eq!(read["displayName"], "tea");
    let said = &turns[1]["items"][0]["payload"];
    assert_eq!(said["triggerKind"], "cron");
    assert_eq!(said["triggerLabel"], "tea");
    assert_eq!(said["triggerRefId"], made["id"]);
    // The job's own Thread has no tool that makes jobs.
    assert_eq!(read["configuration"]["toolDenyList"], json!(["Cron"]));
}

#[tokio::test]
async fn a_job_for_once_goes_after_it_has_run_well() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let arguments = json!({ "action": "add", "message": "say Meeting.", "delaySeconds": 120 });
    let made = add(&mut client, &thread, &arguments).await;
    assert_eq!(made["deleteAfterRun"], true);
    assert_eq!(made["name"], "say Meeting.");
    server.pass(&mut client, 119_000).await;
    assert_eq!(jobs(&mut client).await.len(), 1);
    server.pass(&mut client, 1_000).await;
    client.wait_for("system/jobResult").await;
    assert!(jobs(&mut client).await.is_empty());
}

#[tokio::test]
async fn a_job_that_fails_five_times_in_a_row_is_switched_off() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let arguments =
        json!({ "action": "add", "message": "fail no water", "everySeconds": 3600, "name": "tea" });
    add(&mut client, &thread, &arguments).await;
    for failed in 1..=5 {
        assert_eq!(jobs(&mut client).await[0]["enabled"], true, "{failed}");
        server.pass(&mut client, HOUR).await;
        let result = client.wait_for("system/jobResult").await;
        assert_eq!(result["params"]["error"], "no water");
    }
    let job = jobs(&mut client).await.remove(0);
    assert_eq!(job["enabled"], false);
    assert!(
        job["state"]["note"]
            .as_str()
            .unwrap()
            .contains("last 5 runs failed"),
        "{job}"
    );
    server.pass(&mut client, 10 * HOUR).await;
    assert_eq!(jobs(&mut client).await[0]["state"]["lastStatus"], "error");
    // Switched on, the job is due in the future and has five more attempts.
    let id = job["id"].clone();
    let on = client
        .call("cron/enable", json!({ "jobId": id, "enabled": true }))
        .await;
    assert_eq!(on["job"]["state"].get("note"), None);
    server.pass(&mut client, HOUR).await;
    client.wait_for("system/jobResult").await;
    assert_eq!(jobs(&mut client).await[0]["enabled"], true);
}

#[tokio::test]
async fn the_result_goes_to_the_chat_that_the_job_was_made_in() {
    let roof = json!({ "channelName": "pigeon", "userId": "roof" });
    // An adapter replies to the context of its Thread.
    let group = json!({ "channelName": "pigeon", "userId": "7", "channelContext": "group:900" });
    for (identity, group, chat) in [(roof, "roof:7", "roof:7"), (group, "900", "group:900")] {
        let server = Server::start().await;
        let mut client = server.client().await;
        let thread = client.call("thread/start", json!({ "identity": identity })).await;
        let thread = thread["thread"]["id"].clone();
        let arguments = json!({ "action": "add", "message": "say Coo.", "delaySeconds": 60 });
        let turn = json!({
            "threadId": thread,
            "input": [{ "type": "text", "text": format!("use Cron {arguments}") }],
            "sender": { "senderId": "u-1", "senderName": "Ada", "groupId": group },
        });
        client.call("turn/start", turn).await;
        client.wait_for("turn/completed").await;
        server.pass(&mut client, 60_000).await;
        client.wait_for("system/jobResult").await;
        let sent = server.chats.0.lock().await.clone();
        let expected = ["pigeon", chat, "Coo.", r#"{"origin":"cron"}"#].map(str::to_owned);
        assert_eq!(sent, [expected.into()]);
    }
}

#[tokio::test]
async fn the_tool_says_what_is_wrong_with_its_arguments() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let table = [
        (json!({ "action": "boil" }), "'action' is"),
        (
            json!({ "action": "add", "everySeconds": 60 }),
            "'message' is needed",
        ),
        (json!({ "action": "add", "message": "m" }), "name one time"),
        (
            json!({ "action": "add", "message": "m", "everySeconds": 60, "dailyTime": "15:00" }),
            "name one time",
        ),
        (
            json!({ "action": "add", "message": "m", "everySeconds": 0 }),
            "positive",
        ),
        (
            json!({ "action": "add", "message": "m", "dailyTime": "noon" }),
            "15:30",
        ),
        (
            json!({ "action": "add", "message": "m", "everySeconds": 5 }),
            "at least a minute",
        ),
        (
            json!({ "action": "add", "message": "m", "dailyTime": "15:00", "timeZone": "Tea/Pot" }),
            "'Tea/Pot' is not known",
        ),
        (json!({ "action": "remove" }), "'jobId' is needed"),
    ];
    // These fail before a user is asked.
    for (arguments, why) in table {
        client.start_turn(&thread, &format!("use Cron {arguments}")).await;
        let failed = client.wait_for("turn/failed").await;
        assert!(failed.to_string().contains(why), "{arguments}: {failed}");
    }
    let table = [
        (
            json!({ "action": "add", "message": "m", "delaySeconds": 60, "channel": "owl" }),
            "no channel 'owl'",
        ),
        (
            json!({ "action": "add", "message": "m", "delaySeconds": 60, "channel": "pigeon" }),
            "'toUser' is needed",
        ),
    ];
    for (arguments, why) in table {
        let answer = add(&mut client, &thread, &arguments).await;
        assert!(
            answer["error"].as_str().unwrap().contains(why),
            "{arguments}: {answer}"
        );
    }
    let answer = add(&mut client, &thread, &json!({ "action": "remove", "jobId": "x" })).await;
    assert_eq!(answer["status"], "not_found");
    assert_eq!(server.stored().await, 0);
}
