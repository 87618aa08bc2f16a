//! Starts, handshakes and ends.

use bobbin_hermes::{Entry, ExtensionState};
use serde_json::{Value, json};

use crate::fake::Fake;
use crate::support::{PATIENCE, World, plain, with_commands};

fn pid(fake: &Fake) -> i32 {
    i32::try_from(fake.about["pid"].as_i64().unwrap()).unwrap()
}

fn is_gone(pid: i32) -> bool {
    // A killed process is a zombie until its parent waits for it or ends.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |stat| stat.contains(") Z "))
}

/// Lets time pass.
async fn pass(millis: u64) {
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_millis(millis)).await;
    tokio::time::resume();
}

fn variable(fake: &Fake, name: &str) -> Option<String> {
    let variables = fake.about["variables"].as_array().unwrap();
    let mut values = variables.iter().filter_map(|one| one.as_str()?.split_once('='));
    values
        .find(|(one, _)| *one == name)
        .map(|(_, value)| value.to_owned())
}

#[tokio::test]
async fn behaviour_01_a_path_without_arguments_is_split_as_a_shell_would() {
    let world = World::new();
    let (mut entry, socket) = world.fake("one");
    let arguments = std::mem::take(&mut entry.args).join(" ");
    entry.path = format!("'{}' {arguments} --test-threads \"1\"", entry.path);
    world.load(&[entry]);
    let fake = socket.started().await;
    let arguments = fake.about["arguments"].as_array().unwrap();
    assert_eq!(arguments[arguments.len() - 2..], ["--test-threads", "1"]);
}

#[tokio::test]
async fn behaviour_01_with_arguments_the_path_is_taken_as_it_is() {
    let mut world = World::new();
    let (mut entry, socket) = world.fake("one");
    let link = world.path("with blanks --and $HOME");
    std::os::unix::fs::symlink(&entry.path, &link).unwrap();
    entry.path = link.to_str().unwrap().to_owned();
    let quoted = Entry {
        path: "'open".to_owned(),
        enabled: true,
        ..Entry::default()
    };
    let ids = world.load(&[entry, quoted]);
    socket.started().await;
    let status = world.reaches(&ids[1], ExtensionState::Failed).await;
    assert!(status.error.unwrap().contains("quote"));
}

#[tokio::test]
async fn behaviour_02_variables_reach_the_extension_and_secrets_of_the_server_do_not() {
    let world = World::new();
    let (mut entry, socket) = world.fake("one");
    entry.env.insert("TEA".to_owned(), "green".to_owned());
    world.load(&[entry]);
    let fake = socket.started().await;
    assert_eq!(variable(&fake, "TEA").as_deref(), Some("green"));
    assert_eq!(variable(&fake, "HERMES_VERSION").as_deref(), Some("1.2.3"));
    assert_eq!(variable(&fake, "HERMES_API_VERSION").as_deref(), Some("1.0"));
    let data = variable(&fake, "HERMES_DATA_DIR").unwrap();
    assert!(std::path::Path::new(&data).is_dir());
    // The variables that cargo sets for a test are not among them.
    assert_eq!(variable(&fake, "CARGO_MANIFEST_DIR"), None);
}

#[tokio::test]
async fn behaviour_03_an_extension_that_cannot_start_does_not_stop_the_next() {
    let mut world = World::new();
    let (entry, socket) = world.fake("one");
    let missing = Entry {
        path: "/nowhere/to/be found".to_owned(),
        enabled: true,
        ..Entry::default()
    };
    let ids = world.load(&[missing, entry]);
    let status = world.reaches(&ids[0], ExtensionState::Failed).await;
    assert!(status.error.unwrap().contains("/nowhere/to/be"));
    let mut fake = socket.started().await;
    fake.greet(plain()).await;
    let status = world.reaches(&ids[1], ExtensionState::Running).await;
    assert_eq!((status.name.as_str(), status.version.as_str()), ("tea", "1.0.0"));
}

#[tokio::test]
async fn behaviour_04_initialize_is_the_first_message() {
    let world = World::new();
    let (entry, socket) = world.fake("one");
    let id = world.load(&[entry]).remove(0);
    world.open("thread_1", "MSH|^~\\&\r").await;
    let mut fake = socket.started().await;
    let message = fake.receive().await;
    let params = &message["params"];
    assert_eq!(
        (&message["method"], &message["id"]),
        (&json!("initialize"), &json!(1))
    );
    assert_eq!(
        (&params["hermesVersion"], &params["apiVersion"]),
        (&json!("1.2.3"), &json!("1.0"))
    );
    assert!(params["dataDirectory"].as_str().unwrap().ends_with(id.as_str()));
    let status = &world.host.extensions()[0];
    assert_eq!(
        (status.state, status.name.as_str()),
        (ExtensionState::Initializing, "Unknown")
    );
}

#[tokio::test]
async fn behaviour_05_an_extension_that_does_not_answer_is_killed_after_ten_seconds() {
    let mut world = World::new();
    let (entry, socket) = world.fake("one");
    let id = world.load(&[entry]).remove(0);
    let mut fake = socket.started().await;
    fake.receive_method("initialize").await;
    pass(9500).await;
    assert_eq!(world.host.extensions()[0].state, ExtensionState::Initializing);
    pass(600).await;
    fake.ended().await;
    let status = world.reaches(&id, ExtensionState::Failed).await;
    assert!(
        status
            .error
            .unwrap()
            .contains("did not answer initialize within 10s")
    );
    assert!(is_gone(pid(&fake)));
}

#[tokio::test]
async fn behaviour_06_an_error_as_the_answer_fails_the_extension() {
    let mut world = World::new();
    let (entry, socket) = world.fake("one");
    let id = world.load(&[entry]).remove(0);
    let mut fake = socket.started().await;
    let initialize = fake.receive().await;
    let error = json!({ "code": -32002, "message": "not today" });
    fake.send(json!({ "jsonrpc": "2.0", "id": initialize["id"], "error": error }))
        .await;
    let status = world.reaches(&id, ExtensionState::Failed).await;
    assert!(status.error.unwrap().contains("not today"));
    fake.ended().await;
    // The process was killed: its sockets close before it is gone.
    let gone = async {
        while !is_gone(pid(&fake)) {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
}

#[tokio::test]
async fn behaviour_07_an_answer_without_a_name_fails_the_extension() {
    let mut world = World::new();
    let (entry, socket) = world.fake("one");
    let id = world.load(&[entry]).remove(0);
    let mut fake = socket.started().await;
    fake.greet(json!({ "version": "1" })).await;
    let status = world.reaches(&id, ExtensionState::Failed).await;
    assert!(status.error.unwrap().contains("has no name"));
    fake.ended().await;
}

#[tokio::test]
async fn behaviour_09_requests_before_the_answer_are_refused() {
    let mut world = World::new();
    let (entry, socket) = world.fake("one");
    let id = world.load(&[entry]).remove(0);
    let mut fake = socket.started().await;
    let initialize = fake.receive().await;
    for _ in 0..50 {
        let code = fake
            .refused("editor/getMessage", json!({ "format": "hl7" }))
            .await;
        assert_eq!(code, -32001);
    }
    fake.answer(&initialize, plain()).await;
    // The host may read the answer and this request at once.
    let empty = fake.result("editor/getMessage", json!({ "format": "hl7" })).await;
    assert_eq!(empty, json!({ "message": "", "hasFile": false }));
    world.reaches(&id, ExtensionState::Running).await;
}

async fn stopping(world: &mut World) -> (bobbin_hermes::ExtensionId, Fake, Value) {
    let (id, mut fake) = world.run(plain()).await;
    world.host.set_enabled(id.as_str(), false).unwrap();
    let shutdown = fake.receive_method("shutdown").await;
    assert_eq!(shutdown["params"], json!({ "reason": "disabled" }));
    (id, fake, shutdown)
}

#[tokio::test]
async fn behaviour_10_an_extension_that_answers_and_exits_is_stopped() {
    let mut world = World::new();
    let (id, mut fake, shutdown) = stopping(&mut world).await;
    // The extension may still send requests.
    fake.result("editor/getMessage", json!({ "format": "hl7" })).await;
    fake.answer(&shutdown, json!({ "success": true })).await;
    fake.exit(0).await;
    let status = world.reaches(&id, ExtensionState::Stopped).await;
    assert_eq!((status.error, status.enabled), (None, false));
    assert!(is_gone(pid(&fake)));
}

#[tokio::test]
async fn behaviour_11_an_extension_that_answers_and_stays_is_killed() {
    let mut world = World::new();
    let (id, mut fake, shutdown) = stopping(&mut world).await;
    fake.answer(&shutdown, json!(null)).await;
    // Both the extension and the host may write more.
    fake.result("editor/getMessage", json!({ "format": "hl7" })).await;
    pass(5100).await;
    fake.ended().await;
    world.reaches(&id, ExtensionState::Stopped).await;
    assert!(is_gone(pid(&fake)));
}

#[tokio::test]
async fn behaviour_12_an_extension_that_does_not_answer_is_killed_after_five_seconds() {
    let mut world = World::new();
    let (id, mut fake, _) = stopping(&mut world).await;
    pass(4500).await;
    assert_eq!(world.host.extensions()[0].state, ExtensionState::ShuttingDown);
    pass(600).await;
    fake.ended().await;
    world.reaches(&id, ExtensionState::Stopped).await;
    assert!(is_gone(pid(&fake)));
}

#[tokio::test]
async fn behaviour_13_an_extension_that_refuses_to_end_is_killed_at_once() {
    let mut world = World::new();
    let (id, mut fake, shutdown) = stopping(&mut world).await;
    let error = json!({ "code": -32000, "message": "no" });
    fake.send(json!({ "jsonrpc": "2.0", "id": shutdown["id"], "error": error }))
        .await;
    fake.ended().await;
    world.logs("it was killed").await;
    world.reaches(&id, ExtensionState::Stopped).await;
}

#[tokio::test]
async fn behaviour_14_a_crash_takes_the_buttons_along_and_no_other_extension() {
    let mut world = World::new();
    let ((one, first), (two, second)) = (world.fake("one"), world.fake("two"));
    let ids = world.load(&[one, two]);
    let (mut first, mut second) = (first.started().await, second.started().await);
    let button = |id: &str| {
        let button = json!({ "id": id, "label": id, "icon": "<svg></svg>", "command": format!("{id}/run") });
        json!({ "name": id, "version": "1.0.0", "toolbarButtons": [button] })
    };
    first.greet(button("one")).await;
    world.reaches(&ids[0], ExtensionState::Running).await;
    second.greet(button("two")).await;
    world.reaches(&ids[1], ExtensionState::Running).await;
    assert_eq!(world.host.commands(), ["one/run", "two/run"]);
    first.exit(3).await;
    let status = world.reaches(&ids[0], ExtensionState::Failed).await;
    assert_eq!(
        status.error.as_deref(),
        Some("it ended by itself (exit status 3)")
    );
    let buttons = world.host.toolbar();
    assert_eq!((buttons.len(), &buttons[0].extension_id), (1, &ids[1]));
    second
        .result("editor/getMessage", json!({ "format": "hl7" }))
        .await;
    // Only a user starts it again.
    world.host.set_enabled(ids[0].as_str(), true).unwrap();
    world.reaches(&ids[0], ExtensionState::Starting).await;
}

#[tokio::test]
async fn behaviour_14_an_extension_that_closes_its_output_has_failed() {
    let mut world = World::new();
    let (id, mut fake) = world.run(plain()).await;
    fake.close_output().await;
    world.reaches(&id, ExtensionState::Failed).await;
    fake.ended().await;
}

#[tokio::test]
async fn behaviour_15_what_an_extension_has_started_ends_with_it() {
    let mut world = World::new();
    let (entry, socket) = world.fake("one");
    let pids = world.path("pids");
    let line = [vec![format!("'{}'", entry.path)], entry.args.clone()]
        .concat()
        .join(" ");
    let wrapper = Entry {
        path: "/bin/sh".to_owned(),
        args: vec![
            "-c".to_owned(),
            format!("sleep 1000 & echo $! > {}; {line}; wait", pids.display()),
        ],
        ..entry
    };
    let id = world.load(&[wrapper]).remove(0);
    let mut fake = socket.started().await;
    fake.greet(plain()).await;
    world.reaches(&id, ExtensionState::Running).await;
    let sleeper = std::fs::read_to_string(pids).unwrap().trim().parse().unwrap();
    assert!(!is_gone(sleeper));
    let host = world.host.clone();
    let ended = tokio::spawn(async move { host.end().await });
    let shutdown = fake.receive_method("shutdown").await;
    let error = json!({ "code": -32000, "message": "no" });
    fake.send(json!({ "jsonrpc": "2.0", "id": shutdown["id"], "error": error }))
        .await;
    tokio::time::timeout(PATIENCE, ended).await.unwrap().unwrap();
    assert!(is_gone(sleeper));
}

#[tokio::test]
async fn behaviour_16_a_reload_ends_all_and_starts_the_new_list() {
    let mut world = World::new();
    let ((mut one, first), (two, second)) = (world.fake("one"), world.fake("two"));
    let ids = world.load(&[one.clone(), two.clone()]);
    assert_ne!(ids[0], ids[1], "one path, two extensions");
    let (mut old, mut gone) = (first.started().await, second.started().await);
    old.greet(with_commands(&["tea/old"])).await;
    world.reaches(&ids[0], ExtensionState::Running).await;
    gone.greet(plain()).await;
    world.reaches(&ids[1], ExtensionState::Running).await;

    one.name = Some("the first".to_owned());
    let ids = world.load(&[one]);
    let shutdowns = [
        old.receive_method("shutdown").await,
        gone.receive_method("shutdown").await,
    ];
    // The new process starts after the end of the old one.
    assert!(first.is_quiet().await);
    for (fake, shutdown) in [&mut old, &mut gone].into_iter().zip(shutdowns) {
        assert_eq!(shutdown["params"], json!({ "reason": "reload" }));
        fake.answer(&shutdown, json!({ "success": true })).await;
        fake.exit(0).await;
    }
    assert_eq!(world.host.extensions()[0].name, "the first");
    let mut new = first.started().await;
    new.greet(with_commands(&["tea/new"])).await;
    world.reaches(&ids[0], ExtensionState::Running).await;
    assert_eq!(world.host.commands(), ["tea/new"]);
}

#[tokio::test]
async fn behaviour_17_the_end_of_the_host_leaves_no_process() {
    let mut world = World::new();
    let (_, mut fake) = world.run(plain()).await;
    let host = world.host.clone();
    let ended = tokio::spawn(async move { host.end().await });
    let shutdown = fake.receive_method("shutdown").await;
    assert_eq!(shutdown["params"], json!({ "reason": "closing" }));
    fake.answer(&shutdown, json!({})).await;
    fake.exit(0).await;
    tokio::time::timeout(PATIENCE, ended).await.unwrap().unwrap();
    assert!(is_gone(pid(&fake)));
}

#[tokio::test]
async fn behaviour_17_the_end_during_the_handshake_leaves_no_process() {
    let world = World::new();
    let (entry, socket) = world.fake("one");
    world.load(&[entry]);
    let mut fake = socket.started().await;
    fake.receive_method("initialize").await;
    tokio::time::timeout(PATIENCE, world.host.end()).await.unwrap();
    fake.ended().await;
    // Its socket closes a little before the process is gone.
    let gone = async {
        while !is_gone(pid(&fake)) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
}
