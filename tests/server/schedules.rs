//! Jobs of a real server that is killed.

use std::time::Duration;

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Process, Workspace};

/// How long a server may take to die, or a task to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Steps of the server, counted from the request, at which it is killed: before the request is stored, before its Thread is,
/// during its Turn, at its end.
const DEATHS: [u32; 8] = [1, 2, 3, 5, 7, 10, 14, 20];

/// Waits until the task does not run, and returns it.
async fn settled(client: &mut Client, id: &Value) -> Value {
    let settled = async {
        loop {
            let task = client.call("automation/task/read", json!({ "taskId": id })).await;
            if task["status"] != "running" {
                return task;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.unwrap()
}

/// Returns the Turns that the task has had, in every Thread.
async fn runs(client: &mut Client, id: &Value) -> usize {
    let all = json!({ "identity": { "channelName": "test" }, "crossChannelOrigins": ["automations"] });
    let threads = client.call("thread/list", all).await;
    let mut runs = 0;
    for thread in threads["data"].as_array().unwrap() {
        let read = json!({ "threadId": thread["id"], "includeTurns": true });
        let read = client.call("thread/read", read).await;
        let turns = read["thread"]["turns"].as_array().unwrap();
        let of_task = turns
            .iter()
            .filter(|turn| turn["items"][0]["payload"]["triggerRefId"] == *id);
        runs += of_task.count();
    }
    runs
}

/// Returns the only cron job.
async fn job(client: &mut Client) -> Value {
    let jobs = client.call("cron/list", json!({ "includeDisabled": true })).await;
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "{jobs}");
    jobs["jobs"][0].clone()
}

/// Returns the Turns of the Thread that a job runs in.
async fn turns(client: &mut Client, job: &Value) -> Value {
    let read = json!({ "threadId": job["state"]["lastThreadId"], "includeTurns": true });
    client.call("thread/read", read).await["thread"]["turns"].clone()
}

/// Has an agent make a job that runs a second later, and then every hour.
async fn add_job(client: &mut Client, config: Value, message: &str) {
    let start = json!({ "identity": { "channelName": "test" }, "config": config });
    let thread = client.call("thread/start", start).await["thread"]["id"].clone();
    let arguments = json!({ "action": "add", "message": message, "everySeconds": 3600, "delaySeconds": 1 });
    let text = format!("call `Cron` with {arguments}");
    let input = json!([{ "type": "text", "text": text }]);
    client
        .call("turn/start", json!({ "threadId": thread, "input": input }))
        .await;
    if config["approvalPolicy"].is_null() {
        let asked = client.wait_for("item/approval/request").await;
        client.reply(&asked, json!({ "decision": "accept" })).await;
    }
    client.wait_for("turn/completed").await;
}

#[tokio::test]
async fn a_cron_job_at_work_when_the_server_dies_says_so_and_does_nothing_twice() {
    let workspace = Workspace::new();
    workspace.without_bubblewrap();
    let server = workspace.web_socket();
    let mut client = server.client("before").await;
    let config = json!({ "approvalPolicy": "autoApprove" });
    add_job(&mut client, config, "run `echo x >> ran; sleep 600`").await;
    let ran = workspace.path().join("ran");
    let at_work = async {
        while !std::fs::read_to_string(&ran).is_ok_and(|ran| ran == "x\n") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, at_work).await.unwrap();
    let before = job(&mut client).await;
    assert_eq!(before["state"]["running"], true, "{before}");
    server.kill().await;

    let server = workspace.web_socket();
    let mut client = server.client("after").await;
    let ended = async {
        loop {
            let job = job(&mut client).await;
            if job["state"].get("running").is_none() {
                return job;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let after = tokio::time::timeout(PATIENCE, ended).await.unwrap();
    let state = &after["state"];
    assert!(
        state["note"].as_str().unwrap().contains("server ended"),
        "{after}"
    );
    assert!(
        state["lastResult"].as_str().unwrap().contains("interrupted"),
        "{after}"
    );
    assert_eq!(state["nextRunAtMs"], before["state"]["nextRunAtMs"]);
    assert_eq!(state["lastThreadId"], before["state"]["lastThreadId"]);
    assert_eq!(turns(&mut client, &after).await.as_array().unwrap().len(), 1);
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "x\n");
    server.terminate().await;
}

#[tokio::test]
async fn a_cron_job_that_would_have_to_ask_declines_and_says_so() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("cook").await;
    add_job(&mut client, json!({}), "run `echo x >> ran`").await;
    let result = client.wait_for("system/jobResult").await;
    let said = result["params"]["result"].as_str().unwrap();
    assert!(said.contains("not approved"), "{said}");
    assert!(!workspace.path().join("ran").exists());
    server.terminate().await;
}

#[tokio::test]
async fn a_cron_job_makes_no_jobs_whatever_its_author_may_do() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("cook").await;
    let another = json!({ "action": "add", "message": "say Hm.", "everySeconds": 3600 });
    let config = json!({ "approvalPolicy": "autoApprove" });
    add_job(&mut client, config, &format!("call `Cron` with {another}")).await;
    let result = client.wait_for("system/jobResult").await;
    let said = result["params"]["result"].as_str().unwrap();
    assert!(said.contains("`Cron`"), "{said}");
    job(&mut client).await;
    server.terminate().await;
}

/// Waits for the end of a server that is to die, or of the run that outruns its death.
async fn dead_or_done(server: &mut Process, client: &mut Client) -> bool {
    let ended = async {
        while !server.is_over() {
            if client.unread() > 200 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(3), ended).await.is_ok()
}

#[tokio::test]
async fn a_run_is_neither_lost_nor_doubled_wherever_the_server_dies() {
    let mut deaths = 0;
    for at in DEATHS {
        let workspace = Workspace::new();
        let mut server = workspace.web_socket_armed();
        let mut client = server.client("before").await;
        let task = json!({ "title": "Boil", "description": "say Done.", "schedule": { "kind": "every", "everyMs": 3_600_000 } });
        let id = client.call("automation/task/create", task).await["taskId"].clone();
        let order = workspace.kill_at();
        std::fs::write(order.with_extension("new"), format!("any {at}")).unwrap();
        std::fs::rename(order.with_extension("new"), &order).unwrap();
        client
            .request("automation/task/run", json!({ "taskId": id }))
            .await;
        deaths += usize::from(dead_or_done(&mut server, &mut client).await);
        // The server has removed it if it has died by it.
        drop(std::fs::remove_file(&order));
        server.kill().await;

        let server = workspace.web_socket();
        let mut client = server.client("after").await;
        let after = settled(&mut client, &id).await;
        let runs = runs(&mut client, &id).await;
        let ran = after["threadId"].is_string();
        assert_eq!(runs, usize::from(ran), "killed at {at}: {after}");
        // Run again, it runs once more and no more.
        client.call("automation/task/run", json!({ "taskId": id })).await;
        settled(&mut client, &id).await;
        assert_eq!(self::runs(&mut client, &id).await, runs + 1, "killed at {at}");
        server.kill().await;
    }
    assert!(deaths >= DEATHS.len() / 2, "the server died only {deaths} times");
}
