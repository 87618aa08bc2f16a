//! Time that passes without a look: sleep, restarts, long runs.

use serde_json::{Value, json};

use crate::support::{HOUR, MINUTE, Server, add, jobs};

fn hourly(message: &str) -> Value {
    json!({ "action": "add", "message": message, "everySeconds": 3600, "name": "tea" })
}

/// Returns the Turns in the Thread of the only job.
async fn runs(client: &mut bobbin_testkit::Client) -> Vec<Value> {
    let job = jobs(client).await.remove(0);
    let read = json!({ "threadId": job["state"]["lastThreadId"], "includeTurns": true });
    let read = client.call("thread/read", read).await;
    read["thread"]["turns"].as_array().unwrap().clone()
}

#[tokio::test]
async fn times_that_passed_while_no_server_ran_are_made_up_for_once() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    add(&mut client, &thread, &hourly("say Late.")).await;
    let skipping = json!({ "action": "add", "message": "say Never.", "everySeconds": 3600, "name": "skips", "whenMissed": "skip" });
    add(&mut client, &thread, &skipping).await;
    let started = jobs(&mut client).await[0]["createdAtMs"].as_i64().unwrap();
    let server = server.restart_after(10 * HOUR + 20 * MINUTE).await;
    let mut client = server.client().await;
    let result = client.wait_for("system/jobResult").await;
    assert_eq!(result["params"]["result"], "Late.");
    server.look(&mut client).await;
    let mut jobs = jobs(&mut client).await;
    jobs.sort_by_key(|job| job["name"] == "skips");
    for job in &jobs {
        assert_eq!(job["state"]["nextRunAtMs"], started + 11 * HOUR, "{job}");
    }
    assert_eq!(jobs[1]["state"].get("lastRunAtMs"), None);
    assert!(
        jobs[1]["state"]["note"]
            .as_str()
            .unwrap()
            .contains("its time passed")
    );
    client
        .call("cron/remove", json!({ "jobId": jobs[1]["id"] }))
        .await;
    let runs = runs(&mut client).await;
    assert_eq!(runs.len(), 1);
    let said = &runs[0]["items"][0]["payload"];
    assert_eq!(said["text"], "say Late.", "{said}");
    assert_eq!(said["triggerLabel"], "tea, 560 minutes late", "{said}");
}

#[tokio::test]
async fn a_time_at_which_the_last_run_goes_on_is_left_out() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let id = add(&mut client, &thread, &hourly("wait")).await["id"].clone();
    server.pass(&mut client, HOUR).await;
    client
        .find("its run", |message| {
            message["method"] == "cron/stateChanged" && message["params"]["job"]["state"]["running"] == true
        })
        .await;
    server.pass(&mut client, 3 * HOUR).await;
    let job = jobs(&mut client).await.remove(0);
    assert!(
        job["state"]["note"].as_str().unwrap().contains("still going on"),
        "{job}"
    );
    let again = client.call("cron/run", json!({ "jobId": id })).await;
    assert_eq!(again["queued"], false);
    server.engine.release();
    client.wait_for("system/jobResult").await;
    assert_eq!(runs(&mut client).await.len(), 1);
    let next = jobs(&mut client).await[0]["state"]["nextRunAtMs"]
        .as_i64()
        .unwrap();
    assert_eq!(next, job["createdAtMs"].as_i64().unwrap() + 5 * HOUR);
}

#[tokio::test]
async fn a_run_that_a_restart_interrupted_is_not_run_twice() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    add(&mut client, &thread, &hourly("hang")).await;
    server.pass(&mut client, HOUR).await;
    client
        .find("its turn", |message| {
            message["method"] == "thread/runtimeChanged" && message["params"]["threadId"] != json!(thread)
        })
        .await;
    let server = server.restart_after(MINUTE).await;
    let mut client = server.client().await;
    server.look(&mut client).await;
    let job = jobs(&mut client).await.remove(0);
    // The Turn may still be open; it then goes on after the restart.
    if job["state"]["running"] == true {
        assert!(
            job["state"]["note"].as_str().unwrap().contains("server ended"),
            "{job}"
        );
        let open = json!({ "threadId": job["state"]["lastThreadId"], "turnId": "turn_001" });
        drop(client.answer_to("turn/interrupt", open).await);
    }
    client
        .find("its end", |message| {
            message["method"] == "system/jobResult"
                || message["params"]["job"]["state"]["lastStatus"] == "error"
        })
        .await;
    assert_eq!(runs(&mut client).await.len(), 1);
}

#[tokio::test]
async fn no_more_than_three_jobs_run_at_the_same_time() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    for _ in 0..5 {
        add(&mut client, &thread, &hourly("wait")).await;
    }
    server.pass(&mut client, HOUR).await;
    let running = |jobs: Vec<Value>| {
        let running = jobs.iter().filter(|job| job["state"]["running"] == true);
        running.count()
    };
    assert_eq!(running(jobs(&mut client).await), 3);
    for _ in 0..5 {
        server.engine.release();
        client.wait_for("system/jobResult").await;
        server.look(&mut client).await;
    }
    let jobs = jobs(&mut client).await;
    assert!(
        jobs.iter().all(|job| job["state"]["lastStatus"] == "ok"),
        "{jobs:?}"
    );
}

#[tokio::test]
async fn a_workspace_has_a_bounded_number_of_jobs() {
    let server = Server::start().await;
    let mut client = server.client().await;
    for n in 0..200 {
        let task = json!({ "title": format!("t{n}"), "description": "say No.", "schedule": { "kind": "every", "everyMs": HOUR } });
        client.call("automation/task/create", task).await;
    }
    let task = json!({ "title": "one more", "description": "say No.", "schedule": { "kind": "every", "everyMs": HOUR } });
    let error = client.error("automation/task/create", task).await;
    assert!(error.to_string().contains("There are 200 jobs"), "{error}");
}
