//! `automation/*` and `heartbeat/trigger`, as clients see them.

use serde_json::{Value, json};

use crate::support::{HOUR, Server, add as add_job};

async fn answers(client: &mut bobbin_testkit::Client, requests: Vec<(&str, Value)>) -> Vec<Value> {
    let mut seen = Vec::new();
    for (method, params) in requests {
        let mut answer = client.answer_to(method, params).await;
        answer["id"].take();
        seen.push(answer);
    }
    seen
}

#[tokio::test]
async fn a_task_is_made_runs_and_is_deleted() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = "weekly-scale-check-20270104101500";
    let schedule = json!({ "kind": "every", "everyMs": 168 * HOUR });
    let mut seen = answers(
        &mut client,
        vec![
            (
                "automation/task/create",
                json!({ "title": "Weekly scale check", "description": "say Lime.", "schedule": schedule }),
            ),
            ("automation/task/read", json!({ "taskId": id })),
            ("automation/task/list", json!({})),
            ("automation/task/run", json!({ "taskId": id })),
        ],
    )
    .await;
    for _ in 0..4 {
        seen.push(client.wait_for("automation/task/updated").await);
    }
    seen.extend(
        answers(
            &mut client,
            vec![
                ("automation/task/read", json!({ "taskId": "ghost" })),
                ("automation/task/run", json!({ "taskId": "ghost" })),
                ("automation/task/delete", json!({ "taskId": "ghost" })),
                ("automation/task/delete", json!({ "taskId": id })),
                ("automation/task/list", json!({})),
            ],
        )
        .await,
    );
    insta::assert_snapshot!(server.redact(&seen, &[]));
}

#[tokio::test]
async fn a_task_without_a_schedule_runs_once_and_at_once() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let made = client
        .call(
            "automation/task/create",
            json!({ "title": "Boil", "workflowTemplate": "---\nmax_rounds: 3\n---\nsay {{ task.title }} {{task.description}} {{ other }}", "description": "it" }),
        )
        .await;
    assert_eq!(made["task"]["status"], "pending");
    let done = client
        .find("its end", |message| {
            message["params"]["task"]["status"] == "completed"
        })
        .await;
    let task = &done["params"]["task"];
    assert_eq!(task["agentSummary"], "Boil it {{ other }}");
    assert_eq!(task.get("nextRunAt"), None);
    // A second run by hand uses the task's Thread again.
    client
        .call("automation/task/run", json!({ "taskId": task["id"] }))
        .await;
    let again = client
        .find("its end", |message| {
            message["params"]["task"]["status"] == "completed"
        })
        .await;
    assert_eq!(again["params"]["task"]["threadId"], task["threadId"]);
}

#[tokio::test]
async fn a_task_that_fails_five_times_in_a_row_is_off_until_it_is_run_by_hand() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let schedule = json!({ "kind": "every", "everyMs": HOUR });
    let make = json!({ "title": "Boil", "description": "fail no water", "schedule": schedule });
    let id = client.call("automation/task/create", make).await["taskId"].clone();
    let mut task = Value::Null;
    for _ in 0..5 {
        server.pass(&mut client, HOUR).await;
        let failed = client
            .find("its end", |message| {
                message["params"]["task"]["status"] == "failed"
            })
            .await;
        task = failed["params"]["task"].clone();
    }
    assert!(task["note"].as_str().unwrap().contains("Run it"), "{task}");
    assert_eq!(task.get("nextRunAt"), None);
    server.pass(&mut client, 10 * HOUR).await;
    let read = client.call("automation/task/read", json!({ "taskId": id })).await;
    assert_eq!(read["task"], task);
    // By hand it runs at once, and it runs by the clock from then on.
    let run = client.call("automation/task/run", json!({ "taskId": id })).await;
    assert_eq!(run["task"].get("note"), None);
    let failed = client
        .find("its end", |message| {
            message["params"]["task"]["status"] == "failed"
        })
        .await;
    assert!(failed["params"]["task"]["nextRunAt"].is_string(), "{failed}");
}

#[tokio::test]
async fn a_bound_task_runs_in_its_thread_after_the_turn_that_runs_there() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "wait").await;
    let binding = json!({ "threadId": thread, "mode": "run-in-thread" });
    let make = json!({ "title": "Watch", "description": "say Looked.", "threadBinding": binding });
    let made = client.call("automation/task/create", make).await;
    let id = made["taskId"].clone();
    client
        .find("its start", |message| {
            message["params"]["task"]["status"] == "running"
        })
        .await;
    let busy = client
        .error("automation/task/delete", json!({ "taskId": id }))
        .await;
    assert_eq!(busy["code"], -32052);
    let busy = json!({ "taskId": id, "threadBinding": null });
    assert_eq!(
        client.error("automation/task/updateBinding", busy.clone()).await["code"],
        -32052
    );
    server.engine.release();
    let done = client
        .find("its end", |message| {
            message["params"]["task"]["status"] == "completed"
        })
        .await;
    assert_eq!(done["params"]["task"]["threadId"], json!(thread));
    let read = client
        .call("thread/read", json!({ "threadId": thread, "includeTurns": true }))
        .await;
    let said = &read["thread"]["turns"][1]["items"][0]["payload"];
    assert_eq!(
        (&said["triggerKind"], &said["triggerRefId"]),
        (&json!("automation"), &id)
    );
    let free = client.call("automation/task/updateBinding", busy).await;
    assert_eq!(free["task"].get("threadBinding"), None);
    let ghost = json!({ "taskId": id, "threadBinding": { "threadId": "thread_20270104_ghost0" } });
    assert_eq!(
        client.error("automation/task/updateBinding", ghost).await["code"],
        -32055
    );
    client.call("thread/archive", json!({ "threadId": thread })).await;
    let archived = json!({ "taskId": id, "threadBinding": binding });
    assert_eq!(
        client.error("automation/task/updateBinding", archived).await["code"],
        -32055
    );
}

#[tokio::test]
async fn requests_for_tasks_that_cannot_be_are_refused() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let table = [
        (json!({ "title": " " }), "'title'"),
        (json!({ "title": "t".repeat(201), "description": "d" }), "'title'"),
        (json!({ "title": "t" }), "'description' is needed"),
        (
            json!({ "title": "t", "description": "d".repeat(10_001) }),
            "10000",
        ),
        (
            json!({ "title": "t", "description": "d", "approvalPolicy": "yolo" }),
            "'approvalPolicy'",
        ),
        (
            json!({ "title": "t", "description": "d", "workspaceMode": "isolated" }),
            "'workspaceMode'",
        ),
        (
            json!({ "title": "t", "description": "d", "templateId": "ghost" }),
            "no template 'ghost'",
        ),
        (
            json!({ "title": "t", "description": "d", "schedule": { "kind": "yearly" } }),
            "kind of a schedule",
        ),
        (
            json!({ "title": "t", "description": "d", "schedule": { "kind": "every" } }),
            "'everyMs' is needed",
        ),
        (
            json!({ "title": "t", "description": "d", "schedule": { "kind": "cron", "expr": "soon" } }),
            "five fields",
        ),
        (
            json!({ "title": "t", "description": "d", "threadBinding": { "threadId": "x", "mode": "beside" } }),
            "run-in-thread",
        ),
    ];
    for (params, why) in table {
        let error = client.error("automation/task/create", params.clone()).await;
        assert_eq!(error["code"], -32602, "{params}");
        assert!(error.to_string().contains(why), "{params}: {error}");
    }
    assert_eq!(server.stored().await, 0);
}

#[tokio::test]
async fn templates_are_saved_used_and_deleted() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let template = json!({ "id": "scale", "title": "Scale check", "workflowMarkdown": "say {{ task.description }}", "defaultDescription": "Lime?", "defaultApprovalPolicy": "fullAuto", "defaultSchedule": { "kind": "daily", "dailyHour": 7, "dailyMinute": 30, "tz": "Europe/Oslo" }, "needsThreadBinding": false });
    let seen = answers(
        &mut client,
        vec![
            ("automation/template/save", template),
            (
                "automation/task/create",
                json!({ "title": "Check", "templateId": "scale" }),
            ),
            ("automation/template/delete", json!({ "id": "scale" })),
            ("automation/template/delete", json!({ "id": "scale" })),
            ("automation/template/delete", json!({ "id": "run-the-tests" })),
            ("automation/template/delete", json!({ "id": "../x" })),
            (
                "automation/template/save",
                json!({ "id": "run-the-tests", "title": "t", "workflowMarkdown": "w" }),
            ),
            (
                "automation/template/save",
                json!({ "title": "t", "workflowMarkdown": " " }),
            ),
        ],
    )
    .await;
    insta::assert_snapshot!(server.redact(&seen, &[]));
    let listed = client
        .call("automation/template/list", json!({ "locale": "en" }))
        .await;
    let listed = listed["templates"].as_array().unwrap();
    assert!(listed.iter().all(|template| template.get("isUser").is_none()));
    assert_eq!(listed.len(), 5);
    // Each built-in template makes a task.
    for template in listed {
        let make = json!({ "title": template["defaultTitle"], "templateId": template["id"], "schedule": template["defaultSchedule"] });
        client.call("automation/task/create", make).await;
    }
}

/// Writes a template and a task in the form of other servers, and files that are neither.
fn bring(server: &Server) {
    let craft = server.threads.settings().workspace.join(".craft");
    let file = |path: &str, text: &str| {
        let path = craft.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let task =
        "---\ntitle: Water\nschedule: { kind: every, everyMs: 60000 }\nstatus: running\n---\nthe ivy\n";
    file("tasks/water/task.md", task);
    file(
        "tasks/water/workflow.md",
        "---\nmax_rounds: 3\n---\nask water\nsay {{ task.description }}",
    );
    let template = "---\ntitle: Scale\napprovalPolicy: fullAuto\n---\nsay Lime.\n";
    file("automations/templates/scale/template.md", template);
    file("automations/templates/.hidden/template.md", "say Hm.");
    file("automations/templates/empty/template.md", "---\ntitle: x\n---\n");
    file("automations/templates/run-the-tests/template.md", "say Hm.");
    file("elsewhere/template.md", "say Hm.");
    let link = craft.join("automations/templates/link");
    std::os::unix::fs::symlink(craft.join("elsewhere"), link).unwrap();
}

/// Returns the templates that are not built in: their ids, their titles, and whether they are the user's.
async fn templates(client: &mut bobbin_testkit::Client) -> Value {
    let listed = client.call("automation/template/list", json!({})).await;
    let listed = listed["templates"].as_array().unwrap().iter().skip(5);
    let shown = listed.map(|template| json!([template["id"], template["title"], template["isUser"]]));
    shown.collect()
}

#[tokio::test]
async fn templates_of_a_trusted_folder_make_tasks_when_a_user_says_so() {
    let server = Server::start().await;
    bring(&server);
    let mut client = server.client().await;
    let found = json!([["scale", "Scale", null], ["water", "Water", null]]);
    assert_eq!(templates(&mut client).await, found);
    server.pass(&mut client, HOUR).await;
    assert_eq!(server.stored().await, 0);
    let make = json!({ "title": "Water", "templateId": "water" });
    let made = client.call("automation/task/create", make).await;
    assert_eq!(made["task"]["approvalPolicy"], "workspaceScope");
    assert_eq!(made["task"].get("schedule"), None);
    let done = client
        .find("its end", |message| {
            message["params"]["task"]["status"] == "completed"
        })
        .await;
    assert_eq!(done["params"]["task"]["agentSummary"], "the ivy");
    assert_eq!(server.engine.effects(), Vec::<String>::new());
    // The user's own template replaces the folder's.
    let own = json!({ "id": "scale", "title": "Mine", "workflowMarkdown": "say Mine." });
    client.call("automation/template/save", own).await;
    let found = json!([["water", "Water", null], ["scale", "Mine", true]]);
    assert_eq!(templates(&mut client).await, found);
}

#[tokio::test]
async fn templates_of_a_folder_that_is_not_trusted_are_not_there() {
    let server = Server::untrusted().await;
    bring(&server);
    let mut client = server.client().await;
    assert_eq!(templates(&mut client).await, json!([]));
    let make = json!({ "title": "Water", "templateId": "water" });
    let error = client.error("automation/task/create", make).await;
    assert!(error.to_string().contains("no template 'water'"), "{error}");
    let brought: Vec<String> =
        bobbin_schedules::folder_templates(&server.threads.settings().workspace).collect();
    assert_eq!(brought, ["scale", "water"]);
}

#[tokio::test]
async fn the_heartbeat_runs_what_its_file_says_and_answers_at_the_end() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let file = server.threads.settings().workspace.join("HEARTBEAT.md");
    let mut seen = answers(&mut client, vec![("heartbeat/trigger", json!({}))]).await;
    std::fs::write(&file, "# Heartbeat\n<!-- nothing -->\n\n").unwrap();
    seen.extend(answers(&mut client, vec![("heartbeat/trigger", json!({}))]).await);
    std::fs::write(&file, "# Heartbeat\nwait\nsay Fine.\n").unwrap();
    let one = client.request("heartbeat/trigger", json!({})).await;
    let other = client.request("heartbeat/trigger", json!({})).await;
    client.wait_for("thread/started").await;
    server.engine.release();
    for id in [one, other] {
        let mut answer = client.answer(id).await;
        answer["id"].take();
        seen.push(answer);
    }
    seen.push(client.wait_for("system/jobResult").await);
    insta::assert_snapshot!(server.redact(&seen, &[]));
}

async fn slash(client: &mut bobbin_testkit::Client, thread: &str, line: &str) -> String {
    let execute = json!({ "threadId": thread, "command": line });
    let answer = client.call("command/execute", execute).await;
    answer["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn slash_commands_list_and_remove_jobs_and_run_the_heartbeat() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    assert!(slash(&mut client, &thread, "/cron").await.contains("no jobs"));
    assert!(slash(&mut client, &thread, "/Cron boil").await.contains("Usage"));
    assert!(
        slash(&mut client, &thread, "/cron remove ghost")
            .await
            .contains("no job 'ghost'")
    );
    assert!(
        slash(&mut client, &thread, "/heartbeat")
            .await
            .contains("nothing to do")
    );
    let add = json!({ "action": "add", "message": "say Hm.", "dailyTime": "07:30", "timeZone": "Europe/Oslo", "name": "tea" });
    let made = add_job(&mut client, &thread, &add).await;
    let id = made["id"].as_str().unwrap().to_owned();
    let listed = slash(&mut client, &thread, "/cron list").await;
    let expected = format!("- `{id}` tea: daily at 07:30 Europe/Oslo, next 2027-01-05T06:30:00Z\n");
    assert_eq!(listed, expected);
    assert!(
        slash(&mut client, &thread, &format!("/cron remove {id}"))
            .await
            .contains("removed")
    );
    let listed = client.call("command/list", json!({})).await.to_string();
    assert!(listed.contains("/cron") && listed.contains("/heartbeat"));
}

#[tokio::test]
async fn tasks_of_one_title_and_second_have_ids_of_their_own() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let schedule = json!({ "kind": "every", "everyMs": HOUR });
    let make = json!({ "title": "Boil", "description": "water", "schedule": schedule });
    let mut ids = Vec::new();
    for _ in 0..3 {
        let made = client.call("automation/task/create", make.clone()).await;
        ids.push(made["taskId"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids[1..], [format!("{}-2", ids[0]), format!("{}-3", ids[0])]);
    assert_eq!(server.stored().await, 3);
}
