//! People with roles: what each may do, who is asked, what records say, and who is out.

use std::path::Path;

use bobbin_testkit::{Client, Link};
use serde_json::{Map, Value, json};
use tokio::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::support::{Process, Workspace, methods, not_tested, rich};

const ROLES: [(&str, &str); 4] = [
    ("viewer", "read"),
    ("author", "prompt"),
    ("approver", "approve"),
    ("owner", "own"),
];
const FORBIDDEN: i64 = -32004;

/// Runs a command that succeeds, and returns its output.
pub(crate) async fn run(workspace: &Workspace, args: &[&str]) -> String {
    let ran = workspace.run(args).await;
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{args:?}: {errors}");
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

/// Whether the roles between viewer and owner can be given here.
pub(crate) async fn has_bubblewrap(workspace: &Workspace) -> bool {
    let added = workspace
        .run(&["people", "add", "probe", "--role", "author"])
        .await;
    let errors = String::from_utf8_lossy(&added.stderr);
    if added.status.success() {
        run(workspace, &["people", "remove", "probe"]).await;
        return true;
    }
    assert!(errors.contains("bubblewrap does not confine"), "{errors}");
    not_tested("roles above viewer take bubblewrap");
    false
}

/// Gives a person a role and returns a token.
pub(crate) async fn admit(workspace: &Workspace, name: &str, role: &str) -> String {
    run(workspace, &["people", "add", name, "--role", role]).await;
    run(workspace, &["token", "--for", name]).await
}

/// Returns the address for a client with another token.
async fn address(server: &Process, token: &str) -> String {
    let own = server.address().await;
    let (address, _) = own.split_once('?').unwrap();
    format!("{address}?token={token}")
}

pub(crate) async fn client(server: &Process, token: &str, name: &str) -> Client {
    Client::ready(
        Link::web_socket(&address(server, token).await).await,
        name,
        rich(),
    )
    .await
}

/// Returns the requests of the protocol, with what each needs.
pub(crate) fn requests() -> Vec<Value> {
    let index = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto-schema/index.json");
    let index: Value = serde_json::from_str(&std::fs::read_to_string(index).unwrap()).unwrap();
    let requests = index["requests"].as_array().unwrap().iter();
    requests
        .filter(|row| row["served"] == true && row["method"] != "initialize")
        .cloned()
        .collect()
}

fn order(need: &str) -> usize {
    ROLES.iter().position(|(_, right)| *right == need).unwrap()
}

#[tokio::test]
async fn every_method_is_forbidden_exactly_where_its_row_says_so() {
    let workspace = Workspace::new();
    if !has_bubblewrap(&workspace).await {
        return;
    }
    let server = workspace.web_socket();
    let rows = requests();
    assert!(rows.len() > 200, "{}", rows.len());
    for (index, (role, _)) in ROLES.into_iter().enumerate() {
        let token = admit(&workspace, &format!("p{index}"), role).await;
        let mut client = client(&server, &token, role).await;
        for row in &rows {
            let (method, need) = (row["method"].as_str().unwrap(), row["need"].as_str().unwrap());
            let answer = client.answer_to(method, json!({})).await;
            let error = &answer["error"];
            let is_forbidden = error["code"] == FORBIDDEN;
            assert_eq!(is_forbidden, index < order(need), "{role} {method}: {answer}");
            if is_forbidden {
                assert_eq!(
                    (&error["data"]["need"], &error["data"]["role"]),
                    (&json!(need), &json!(role))
                );
            }
        }
    }
}

/// Returns a value that a member of the params can have.
fn value(member: &str) -> Value {
    match member.rsplit('.').next().unwrap() {
        "approvalPolicy" => json!("autoApprove"),
        "loadPresets" => json!(true),
        "requireApprovalOutsideWorkspace" => json!(false),
        "workspaceOverride" => json!("/"),
        "engine" => json!("other"),
        "agentControlToolAccess" | "sandbox" => json!("full"),
        "allow" | "toolAllowList" | "toolDenyList" | "mcpServers" | "allowedAgentControlTools" => json!([]),
        other => panic!("{other} has no value here"),
    }
}

/// Returns params that each method can read, with a member in a spelling.
fn params(member: &str, spell: fn(&str) -> String) -> Value {
    let mut params = json!({
        "threadId": "thread_1", "sourceThreadId": "thread_1",
        "identity": { "channelName": "test" },
        "input": [{ "type": "text", "text": "hello" }],
    });
    let mut names: Vec<&str> = member.split('.').collect();
    let last = names.pop().unwrap();
    let mut inner = Map::from_iter([(spell(last), value(member))]);
    for name in names.into_iter().rev() {
        inner = Map::from_iter([(spell(name), Value::Object(inner))]);
    }
    params.as_object_mut().unwrap().append(&mut inner);
    if params.get("config").is_none() && !member.starts_with("config.") {
        params["config"] = json!({});
    }
    params
}

#[tokio::test]
async fn members_that_need_more_are_forbidden_in_every_spelling() {
    let workspace = Workspace::new();
    if !has_bubblewrap(&workspace).await {
        return;
    }
    let server = workspace.web_socket();
    let spellings: [fn(&str) -> String; 3] = [
        str::to_owned,
        |name| name.to_uppercase(),
        |name| name.to_lowercase(),
    ];
    let token = admit(&workspace, "ana", "approver").await;
    let mut client = client(&server, &token, "ana").await;
    let mut members = 0;
    for row in requests() {
        let method = row["method"].as_str().unwrap();
        for (member, need) in row["members"].as_object().into_iter().flatten() {
            assert_eq!(need, "own", "{method} {member}");
            members += 1;
            for spell in spellings {
                let params = params(member, spell);
                let answer = client.answer_to(method, params.clone()).await;
                let error = &answer["error"];
                assert_eq!(error["code"], FORBIDDEN, "{method} {params}: {answer}");
                assert!(error["message"].as_str().unwrap().ends_with(member), "{error}");
            }
        }
    }
    assert!(members > 40, "{members}");
}

#[tokio::test]
async fn an_author_prompts_a_viewer_watches_an_approver_answers_and_the_record_names_them() {
    let workspace = Workspace::asking();
    if !has_bubblewrap(&workspace).await {
        return;
    }
    let server = workspace.web_socket();
    let [vi, au, ap] = [("vi", "viewer"), ("au", "author"), ("ap", "approver")];
    let mut viewer = client(&server, &admit(&workspace, vi.0, vi.1).await, "watching").await;
    let mut author = client(&server, &admit(&workspace, au.0, au.1).await, "writing").await;
    let mut approver = client(&server, &admit(&workspace, ap.0, ap.1).await, "deciding").await;
    let thread = author.start_thread().await;
    for client in [&mut viewer, &mut author, &mut approver] {
        client
            .call("thread/subscribe", json!({ "threadId": thread }))
            .await;
    }
    author.start_turn(&thread, "run `echo x >> ran`").await;
    let asked = approver.wait_for("item/approval/request").await;
    let decisions = asked["params"]["availableDecisions"].as_array().unwrap();
    assert!(!decisions.contains(&json!("acceptAlways")), "{decisions:?}");
    approver
        .reply(&asked, json!({ "decision": "acceptAlways" }))
        .await;
    for client in [&mut viewer, &mut author] {
        let seen = client.until("turn/completed").await;
        assert!(
            !methods(&seen).contains(&"item/approval/request"),
            "{:?}",
            methods(&seen)
        );
        let settled = seen
            .iter()
            .find(|one| one["method"] == "item/approval/resolved")
            .unwrap();
        let answer = &settled["params"]["item"]["payload"];
        assert_eq!(answer["actor"], json!({ "name": "ap", "role": "approver" }));
        assert_eq!(
            (&answer["decision"], &settled["params"]["answeredBy"]),
            (&json!("acceptForSession"), &json!("deciding"))
        );
    }
    assert!(workspace.path().join("ran").exists());
    server.kill().await;

    let server = workspace.web_socket();
    let mut me = server.client("me").await;
    let read = me
        .call("thread/read", json!({ "threadId": thread, "includeTurns": true }))
        .await;
    let items = read["thread"]["turns"][0]["items"].as_array().unwrap();
    let actors: Vec<_> = items
        .iter()
        .filter_map(|item| item["payload"]["actor"]["name"].as_str())
        .collect();
    assert_eq!(actors, ["au", "ap"]);
    let shown = run(&workspace, &["threads", "show", &thread]).await;
    assert!(shown.contains("au") && shown.contains("ap"), "{shown}");
    let rules = me.call("approval/rules/list", json!({})).await;
    assert!(!rules.to_string().contains("echo x"), "{rules}");
}

#[tokio::test]
async fn an_author_stops_steers_and_takes_back_their_own_alone() {
    let workspace = Workspace::asking();
    if !has_bubblewrap(&workspace).await {
        return;
    }
    let server = workspace.web_socket();
    let mut me = server.client("me").await;
    let mut author = client(&server, &admit(&workspace, "au", "author").await, "writing").await;
    let thread = me.start_thread().await;
    let turn = me.start_turn(&thread, "run `echo x >> ran`").await;
    me.wait_for("item/approval/request").await;
    let input = json!([{ "type": "text", "text": "no" }]);
    let queued = me
        .call("turn/enqueue", json!({ "threadId": thread, "input": input }))
        .await;
    let (theirs, own) = (
        queued["queuedInput"]["id"].clone(),
        author
            .call("turn/enqueue", json!({ "threadId": thread, "input": input }))
            .await,
    );
    assert_eq!(
        own["queuedInput"]["actor"],
        json!({ "name": "au", "role": "author" })
    );
    assert_eq!(own["queuedInputs"][0].get("actor"), None);
    let own = own["queuedInput"]["id"].clone();
    let of = |more: Value| {
        let mut params = json!({ "threadId": thread });
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        params
    };
    for (method, params) in [
        ("turn/interrupt", json!({ "turnId": turn })),
        ("turn/steer", json!({ "expectedTurnId": turn, "input": input })),
        (
            "turn/steer",
            json!({ "expectedTurnId": turn, "queuedInputId": own }),
        ),
        (
            "turn/queue/update",
            json!({ "queuedInputId": own, "status": "guidancePending", "expectedTurnId": turn }),
        ),
        ("turn/queue/remove", json!({ "queuedInputId": theirs })),
        (
            "turn/queue/reorder",
            json!({ "orderedQueuedInputIds": [own, theirs] }),
        ),
    ] {
        let error = author.error(method, of(params)).await;
        assert_eq!(error["code"], FORBIDDEN, "{method}: {error}");
        assert_eq!(error["data"]["need"], "approve", "{method}");
    }
    for (turn, code) in [("", FORBIDDEN), ("turn_9", -32014)] {
        let error = author
            .error("turn/interrupt", of(json!({ "turnId": turn })))
            .await;
        assert_eq!(error["code"], code, "{turn:?}: {error}");
    }
    author
        .call("turn/queue/remove", of(json!({ "queuedInputId": own })))
        .await;
    me.call("turn/queue/remove", of(json!({ "queuedInputId": theirs })))
        .await;
    me.call("turn/interrupt", of(json!({ "turnId": turn }))).await;
    me.wait_for("turn/cancelled").await;
    let turn = author.start_turn(&thread, "run `echo x >> ran`").await;
    author.call("turn/interrupt", of(json!({ "turnId": turn }))).await;
    author.wait_for("turn/cancelled").await;
}

#[tokio::test]
async fn an_author_loosens_nothing_by_what_is_left_out_or_configured() {
    let workspace = Workspace::new();
    if !has_bubblewrap(&workspace).await {
        return;
    }
    let server = workspace.web_socket();
    let mut me = server.client("me").await;
    let mut author = client(&server, &admit(&workspace, "au", "author").await, "writing").await;
    let config = json!({ "approvalPolicy": "ask", "toolDenyList": ["WebFetch"], "model": "offline" });
    let started = json!({ "identity": { "channelName": "test" }, "config": config });
    let started = me.call("thread/start", started).await;
    let thread = started["thread"]["id"].clone();
    let mut expected = started["thread"]["configuration"].clone();
    assert_eq!(expected["toolDenyList"], json!(["WebFetch"]));
    expected.as_object_mut().unwrap().remove("model");
    expected["agentInstructions"] = json!("Be brief.");
    let update = json!({ "threadId": thread, "config": { "agentInstructions": "Be brief." } });
    author.call("thread/config/update", update).await;
    let read = me.call("thread/read", json!({ "threadId": thread })).await;
    assert_eq!(read["thread"]["configuration"], expected);

    // The owner's policy allows everything. What leaves the sandbox waits for an answer all the same.
    let loose = json!({ "threadId": thread, "config": { "approvalPolicy": "autoApprove" } });
    me.call("thread/config/update", loose).await;
    me.call("thread/subscribe", json!({ "threadId": thread })).await;
    let thread = thread.as_str().unwrap();
    let outside = workspace.path().join("../outside-of-an-author");
    let line = format!("write `{}`: x", outside.display());
    author.start_turn(thread, &line).await;
    let asked = me.wait_for("item/approval/request").await;
    me.reply(&asked, json!({ "decision": "decline" })).await;
    author.wait_for("turn/completed").await;
    me.wait_for("turn/completed").await;
    assert!(!outside.exists());
    me.start_turn(thread, "run `cat /proc/self/status >> mine`").await;
    let seen = me.until("turn/completed").await;
    assert!(!methods(&seen).contains(&"item/approval/request"));
    author
        .start_turn(thread, "run `cat /proc/self/status >> theirs`")
        .await;
    author.wait_for("turn/completed").await;
    let confined = std::fs::read_to_string(workspace.path().join("theirs")).unwrap();
    assert!(confined.contains("Seccomp:\t2"), "{confined}");
}

#[tokio::test]
async fn commands_see_no_home_and_no_other_workspace_once_others_may_prompt() {
    let workspace = Workspace::new();
    if !has_bubblewrap(&workspace).await {
        return;
    }
    // Commands have a `/tmp` of their own.
    let [home, other] = [(); 2].map(|()| tempfile::tempdir_in("/var/tmp").unwrap());
    let wheel = home.path().join(".cache/pip/wheel");
    std::fs::create_dir_all(wheel.parent().unwrap()).unwrap();
    let [notes, plan] = [home.path().join("notes"), other.path().join("plan")];
    for (file, text) in [(&wheel, "wheel"), (&notes, "notes"), (&plan, "plan")] {
        std::fs::write(file, text).unwrap();
    }
    run(&workspace, &["workspace", "add", other.path().to_str().unwrap()]).await;
    let server = workspace.web_socket_with_home(home.path());
    let mut me = server.client("me").await;
    let started =
        json!({ "identity": { "channelName": "test" }, "config": { "approvalPolicy": "sandboxed" } });
    let started = me.call("thread/start", started).await;
    let thread = started["thread"]["id"].as_str().unwrap().to_owned();
    me.call("thread/subscribe", json!({ "threadId": thread })).await;
    let seen = async |client: &mut Client, name: &str| {
        let files = [&wheel, &notes, &plan].map(|file| file.to_str().unwrap());
        let line = format!("run `cat {} >> {name}`", files.join(" "));
        client.start_turn(&thread, &line).await;
        client.wait_for("turn/completed").await;
        std::fs::read_to_string(workspace.path().join(name)).unwrap()
    };
    assert_eq!(seen(&mut me, "alone").await, "wheelnotesplan");
    admit(&workspace, "vi", "viewer").await;
    assert_eq!(seen(&mut me, "watched").await, "wheelnotesplan");
    let mut author = client(&server, &admit(&workspace, "au", "author").await, "writing").await;
    author
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    assert_eq!(seen(&mut author, "theirs").await, "wheel");
    me.wait_for("turn/completed").await;
    assert_eq!(seen(&mut me, "mine").await, "wheel");
    let command = json!({ "threadId": thread, "command": format!("cat {} > typed", notes.display()) });
    me.call("thread/shellCommand", command).await;
    me.wait_for("turn/completed").await;
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("typed")).unwrap(),
        ""
    );
    // A Turn that a removed person has started may still run.
    run(&workspace, &["people", "remove", "au"]).await;
    assert_eq!(seen(&mut me, "removed").await, "wheel");
}

#[tokio::test]
async fn what_leaves_the_workspace_is_answered_by_the_owner_and_always_is_about_the_owners_turns() {
    let workspace = Workspace::asking();
    if !has_bubblewrap(&workspace).await {
        return;
    }
    let server = workspace.web_socket();
    let mut me = server.client("me").await;
    let mut author = client(&server, &admit(&workspace, "au", "author").await, "writing").await;
    let mut approver = client(&server, &admit(&workspace, "ap", "approver").await, "deciding").await;
    let thread = me.start_thread().await;
    for client in [&mut me, &mut author, &mut approver] {
        client
            .call("thread/subscribe", json!({ "threadId": thread }))
            .await;
    }
    let line = "run `echo x >> ran`";
    me.start_turn(&thread, line).await;
    let asked = me.wait_for("item/approval/request").await;
    me.reply(&asked, json!({ "decision": "acceptAlways" })).await;
    me.wait_for("turn/completed").await;
    me.start_turn(&thread, line).await;
    let seen = me.until("turn/completed").await;
    assert!(!methods(&seen).contains(&"item/approval/request"));
    for _ in 0..2 {
        approver.until("turn/completed").await;
    }
    author.start_turn(&thread, line).await;
    let asked = approver.wait_for("item/approval/request").await;
    approver.reply(&asked, json!({ "decision": "accept" })).await;
    approver.wait_for("turn/completed").await;
    // The owner was asked, too.
    me.until("turn/completed").await;

    let outside = workspace.path().join("../outside-of-an-approver");
    author
        .start_turn(&thread, &format!("write `{}`: x", outside.display()))
        .await;
    let asked = me.wait_for("item/approval/request").await;
    me.reply(&asked, json!({ "decision": "decline" })).await;
    let seen = approver.until("turn/completed").await;
    assert!(
        !methods(&seen).contains(&"item/approval/request"),
        "{:?}",
        methods(&seen)
    );
    assert!(!outside.exists());
}

#[tokio::test]
async fn a_removed_person_is_out_within_a_second_with_the_reason() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let token = admit(&workspace, "vi", "viewer").await;
    let mut viewer = client(&server, &token, "watching").await;
    viewer
        .call("thread/list", json!({ "identity": { "channelName": "test" } }))
        .await;
    run(&workspace, &["people", "remove", "vi"]).await;
    let removed = Instant::now();
    let closed = viewer
        .find("a close", |message| message.get("close").is_some())
        .await;
    assert!(
        removed.elapsed() < Duration::from_secs(1),
        "{:?}",
        removed.elapsed()
    );
    assert_eq!(closed["close"], 1008);
    assert!(
        closed["reason"].as_str().unwrap().contains("has ended"),
        "{closed}"
    );
    let refused = tokio_tungstenite::connect_async(address(&server, &token).await).await;
    assert!(matches!(refused, Err(Error::Http(answer)) if answer.status() == 401));
    // The user's own token goes on.
    server.client("me").await;
}

#[tokio::test]
async fn people_reach_no_counters_no_editors_and_nothing_else_of_a_listener() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let token = admit(&workspace, "vi", "owner").await;
    let own = server.address().await;
    let base = own.split_once("/ws").unwrap().0;
    for path in ["/eca", "/", "/metrics", "/nothing"] {
        let mut request = format!("{base}{path}").into_client_request().unwrap();
        let bearer = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert("authorization", bearer);
        let refused = tokio_tungstenite::connect_async(request).await;
        let Err(Error::Http(answer)) = refused else {
            panic!("{path}: {refused:?}")
        };
        assert_eq!(answer.status(), 403, "{path}");
    }
    client(&server, &token, "me").await;
}

#[tokio::test]
async fn roles_above_viewer_take_bubblewrap() {
    let workspace = Workspace::new();
    workspace.without_bubblewrap();
    for (role, is_given) in [
        ("viewer", true),
        ("author", false),
        ("approver", false),
        ("owner", true),
    ] {
        let added = workspace.run(&["people", "add", "ana", "--role", role]).await;
        let errors = String::from_utf8_lossy(&added.stderr);
        assert_eq!(added.status.success(), is_given, "{role}: {errors}");
        assert!(
            is_given || errors.contains("bubblewrap does not confine commands here"),
            "{errors}"
        );
    }
}

#[tokio::test]
async fn people_are_added_listed_and_removed_and_a_token_is_shown_once() {
    let workspace = Workspace::new();
    let empty = run(&workspace, &["people", "list"]).await;
    assert!(empty.starts_with("Nobody but you"), "{empty}");
    let token = admit(&workspace, "ana", "viewer").await;
    run(&workspace, &["token", "--for", "ana", "--expires", "30d"]).await;
    let listed = run(&workspace, &["people", "list"]).await;
    assert_eq!(listed, "ana  viewer  2 tokens");
    let listed: Value = serde_json::from_str(&run(&workspace, &["people", "list", "--json"]).await).unwrap();
    assert_eq!(
        (&listed["name"], &listed["role"]),
        (&json!("ana"), &json!("viewer"))
    );
    assert!(!listed.to_string().contains(&token));
    let record = std::fs::read_to_string(workspace.state().join("people.json")).unwrap();
    assert!(!record.contains(&token));
    for (args, says) in [
        (&["people", "add", "an a", "--role", "viewer"][..], "is no name"),
        (
            &["people", "add", "ana", "--role", "king"],
            "possible values: viewer, author, approver, owner",
        ),
        (
            &["people", "add", "ana", "--role", "viewer", "--workspace", "tea"],
            "serves no workspace tea",
        ),
        (&["people", "remove", "bo"], "nobody called bo"),
        (&["token", "--for", "bo"], "nobody called bo"),
        (&["token", "--expires", "30d"], "--for"),
        (&["token", "--for", "ana", "--expires", "-1d"], ""),
    ] {
        let ran = workspace.run(args).await;
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert!(
            !ran.status.success() && errors.contains(says),
            "{args:?}: {errors}"
        );
    }
    run(&workspace, &["people", "remove", "ana"]).await;
}
