//! `automation/*` of today: tasks and cron jobs in one shape, with their runs.

use serde_json::{Value, json};

use crate::support::{HOUR, Server, add as add_job};

fn definition(prompt: &str) -> Value {
    json!({
        "name": "Descale", "prompt": prompt, "status": "active", "executionMode": "independent",
        "approvalPolicy": "workspaceScope",
        "schedule": { "kind": "weekly", "days": [1], "hour": 7, "minute": 0, "timeZone": "Europe/Paris" },
    })
}

async fn today(server: &Server) -> bobbin_testkit::Client {
    bobbin_testkit::Client::ready(server.link(), "desk", json!({ "appBindingVersion": 1 })).await
}

/// Waits until a run has this status, and returns it.
async fn run_is(client: &mut bobbin_testkit::Client, status: &str) -> Value {
    let news = client
        .find(status, |message| {
            message["method"] == "automation/run/updated" && message["params"]["run"]["status"] == status
        })
        .await;
    news["params"]["run"].clone()
}

#[tokio::test]
async fn an_automation_is_made_changed_and_deleted() {
    let server = Server::start().await;
    let mut may = server.client().await;
    let mut client = today(&server).await;
    let made = client
        .call(
            "automation/create",
            json!({ "automation": definition("say Lime.") }),
        )
        .await["automation"]
        .clone();
    let id = made["id"].clone();
    let expected = [
        ("version", json!(1)),
        ("name", json!("Descale")),
        ("prompt", json!("say Lime.")),
        ("status", json!("active")),
        ("executionMode", json!("independent")),
        ("approvalPolicy", json!("workspaceScope")),
        ("workspaceMode", json!("project")),
        ("notificationPolicy", json!("all")),
        ("schedule", definition("")["schedule"].clone()),
    ];
    for (member, value) in expected {
        assert_eq!(made[member], value, "{member}");
    }
    // The clock of the tests stands on a Monday at 10:15.
    assert_eq!(made["nextRunAt"], "2027-01-11T06:00:00.000Z");
    let news = client.wait_for("automation/updated").await;
    assert_eq!(
        news["params"],
        json!({ "automationId": id, "automation": made, "removed": false })
    );
    // The same task under the names of May.
    let old = may.wait_for("automation/task/updated").await;
    assert_eq!(old["params"]["task"]["title"], "Descale");
    let tasks = may.call("automation/task/list", json!({})).await;
    assert_eq!(tasks["tasks"][0]["description"], "say Lime.");

    let here = json!({ "automationId": id });
    let mut change =
        json!({ "automationId": id, "expectedVersion": 7, "automation": definition("say No lime.") });
    let error = client.error("automation/update", change.clone()).await;
    assert_eq!(
        (&error["code"], &error["data"]["code"]),
        (&json!(-32056), &json!("automation.versionConflict"))
    );
    change["expectedVersion"] = json!(1);
    change["automation"]["status"] = json!("paused");
    let changed = client.call("automation/update", change).await["automation"].clone();
    assert_eq!(
        (&changed["version"], &changed["prompt"], &changed["status"]),
        (&json!(2), &json!("say No lime."), &json!("paused"))
    );
    assert_eq!(changed.get("nextRunAt"), None);

    assert_eq!(
        client.call("automation/delete", here.clone()).await,
        json!({ "ok": true })
    );
    let gone = client
        .find("the end", |message| message["params"]["removed"] == true)
        .await;
    assert_eq!(gone["params"], json!({ "automationId": id, "removed": true }));
    assert_eq!(
        client.call("automation/list", json!({})).await,
        json!({ "automations": [] })
    );
    for method in [
        "automation/read",
        "automation/run",
        "automation/delete",
        "automation/runs/list",
    ] {
        assert_eq!(
            client.error(method, here.clone()).await["code"],
            -32051,
            "{method}"
        );
    }
    let seen = may.finish().await;
    let is_todays = |message: &Value| {
        let method = message["method"].as_str().unwrap_or_default();
        method == "automation/updated" || method == "automation/run/updated"
    };
    assert!(!seen.iter().any(is_todays));
}

#[tokio::test]
async fn an_automation_runs_by_hand_and_its_runs_are_marked() {
    let server = Server::start().await;
    let mut client = today(&server).await;
    let mut paused = definition("say No lime.");
    paused["status"] = json!("paused");
    let made = client
        .call("automation/create", json!({ "automation": paused }))
        .await["automation"]
        .clone();
    let id = made["id"].clone();
    let here = json!({ "automationId": id });
    // It stays paused; each run has a Thread of its own.
    let mut threads = Vec::new();
    for _ in 0..2 {
        let run = client.call("automation/run", here.clone()).await["run"].clone();
        assert_eq!(
            (&run["status"], &run["definitionVersion"]),
            (&json!("queued"), &json!(1))
        );
        let done = run_is(&mut client, "succeeded").await;
        assert_eq!((&done["id"], &done["summary"]), (&run["id"], &json!("No lime.")));
        assert_eq!(
            (&done["deliveryStatus"], done.get("scheduledAt")),
            (&json!("skipped"), None)
        );
        threads.push(done["threadId"].clone());
        server.pass(&mut client, 1000).await;
    }
    assert_ne!(threads[0], threads[1]);
    let read = client.call("automation/read", here.clone()).await;
    assert_eq!(read["automation"]["status"], "paused");
    let runs = client.call("automation/runs/list", here.clone()).await["runs"].clone();
    let ids: Vec<_> = runs
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["id"].clone())
        .collect();
    assert_eq!((ids.len(), &runs[0]["threadId"]), (2, &threads[1]));
    let mark = |read: bool| json!({ "automationId": id, "runIds": [ids[0]], "read": read });
    let marked = client.call("automation/runs/read", mark(true)).await;
    assert!(marked["runs"][0]["readAt"].is_string() && marked["runs"][1].get("readAt").is_none());
    let marked = client.call("automation/runs/read", mark(false)).await;
    assert_eq!(marked["runs"][0].get("readAt"), None);
    let unknown = json!({ "automationId": id, "runIds": ["r"], "read": true });
    assert_eq!(
        client.error("automation/runs/read", unknown).await["code"],
        -32602
    );
}

#[tokio::test]
async fn an_automation_of_one_time_is_completed_after_it_and_runs_in_the_thread_that_it_names() {
    let server = Server::start().await;
    let mut client = today(&server).await;
    let thread = client.start_thread().await;
    let mut automation = definition("say Now.");
    automation["executionMode"] = json!("thread");
    automation["schedule"] = json!({ "kind": "at", "at": "2027-01-04T11:15:00Z" });
    let without = json!({ "automation": automation });
    assert_eq!(client.error("automation/create", without).await["code"], -32602);
    automation["targetThreadId"] = json!(thread);
    let made = client
        .call("automation/create", json!({ "automation": automation }))
        .await["automation"]
        .clone();
    assert_eq!(
        (&made["notificationPolicy"], &made["targetThreadId"]),
        (&json!("important"), &json!(thread))
    );
    server.pass(&mut client, HOUR).await;
    let done = run_is(&mut client, "succeeded").await;
    assert_eq!(
        (&done["threadId"], done["scheduledAt"].is_string()),
        (&json!(thread), true)
    );
    let read = client
        .call("automation/read", json!({ "automationId": made["id"] }))
        .await;
    assert_eq!(read["automation"]["status"], "completed");
    let change = json!({ "automationId": made["id"], "expectedVersion": 1, "automation": automation });
    assert_eq!(client.error("automation/update", change).await["code"], -32052);
    client
        .call("automation/run", json!({ "automationId": made["id"] }))
        .await;
    run_is(&mut client, "succeeded").await;
}

#[tokio::test]
async fn a_cron_job_is_an_automation_too() {
    let server = Server::start().await;
    let mut client = today(&server).await;
    let thread = client.start_thread().await;
    let arguments =
        json!({ "action": "add", "name": "plants", "message": "say Watered.", "dailyTime": "07:30" });
    add_job(&mut client, &thread, &arguments).await;
    let listed = client.call("automation/list", json!({})).await;
    let job = &listed["automations"][0];
    assert_eq!(
        (&job["name"], &job["prompt"], &job["executionMode"]),
        (&json!("plants"), &json!("say Watered."), &json!("independent"))
    );
    assert_eq!(
        job["schedule"],
        json!({ "kind": "daily", "hour": 7, "minute": 30, "timeZone": "UTC" })
    );
    let mut automation = definition("say Dry.");
    automation["status"] = json!("paused");
    automation["schedule"] = json!({ "kind": "weekdays", "hour": 7 });
    let change =
        json!({ "automationId": job["id"], "expectedVersion": job["version"], "automation": automation });
    let changed = client.call("automation/update", change).await;
    assert_eq!(changed["automation"]["schedule"]["kind"], "weekdays");
    let jobs = client.call("cron/list", json!({ "includeDisabled": true })).await;
    assert_eq!(
        (
            &jobs["jobs"][0]["name"],
            &jobs["jobs"][0]["schedule"]["expr"],
            &jobs["jobs"][0]["enabled"]
        ),
        (&json!("Descale"), &json!("0 7 * * 1,2,3,4,5"), &json!(false))
    );
}

#[tokio::test]
async fn what_cannot_run_is_refused() {
    let server = Server::start().await;
    let mut client = today(&server).await;
    for (member, value) in [
        ("name", json!(" ")),
        ("prompt", json!(" ")),
        ("prompt", json!("x".repeat(10_001))),
        ("status", json!("completed")),
        ("workspaceMode", json!("worktree")),
        ("approvalPolicy", json!("always")),
        ("schedule", json!({ "kind": "every", "everyMs": 1 })),
        ("schedule", json!({ "kind": "every" })),
        ("schedule", json!({ "kind": "daily" })),
        ("schedule", json!({ "kind": "daily", "hour": 24 })),
        ("schedule", json!({ "kind": "weekly", "hour": 7, "days": [8] })),
        ("schedule", json!({ "kind": "weekly", "hour": 7, "days": [] })),
        (
            "schedule",
            json!({ "kind": "weekly", "hour": 7, "days": [1], "timeZone": "Kettle/Tea" }),
        ),
    ] {
        let mut automation = definition("say x");
        automation[member] = value.clone();
        let error = client
            .error("automation/create", json!({ "automation": automation }))
            .await;
        assert_eq!(error["code"], -32602, "{member} {value}");
    }
    assert_eq!(
        client.call("automation/list", json!({})).await,
        json!({ "automations": [] })
    );
}

#[tokio::test]
async fn presets_are_the_built_in_templates() {
    let server = Server::start().await;
    let mut client = today(&server).await;
    let presets = client
        .call("automation/presets/list", json!({ "locale": "en" }))
        .await;
    let presets = presets["presets"].as_array().unwrap();
    assert!(!presets.is_empty());
    for preset in presets {
        let texts = ["id", "name", "prompt"].map(|member| preset[member].as_str().unwrap_or_default());
        assert!(texts.iter().all(|text| !text.is_empty()), "{preset}");
    }
}
