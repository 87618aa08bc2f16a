//! A database that several workspaces share, and what lies in it.

use bobbin_model::state::StatusChange;
use bobbin_model::{
    Approval, ApprovalId, ApprovalKind, DecidedBy, Decision, Event, ItemId, Scope, Seq, ThreadId, TurnId,
    UnixMillis,
};
use bobbin_store::{
    ListFilter, NamedRequest, ScheduleChange, ScheduleEntry, ScheduleStore, Store, StoreError, Write,
};
use bobbin_store_postgres::{Access, Options, PostgresStore, ServedFolder};
use bobbin_testkit::store_story::{Writer, me, prompt, question};

use crate::support::{holder, open, server};

#[tokio::test]
async fn workspaces_with_equal_ids_share_no_row() {
    let Some(server) = server() else { return };
    let address = server.database("both");
    let (tea, coffee) = (open(&address, "tea").await, open(&address, "coffee").await);
    let scope = question("a").scope;
    let id = ThreadId::new("thread_1");
    let entry = ScheduleEntry {
        kind: "job".into(),
        id: "a".into(),
        body: "1".into(),
    };
    for (store, title) in [(&tea, "green"), (&coffee, "black")] {
        let mut writer = Writer::start(store, "thread_1", me()).await;
        let write = Write {
            remember: (title == "green").then(|| scope.clone()),
            request: Some(NamedRequest {
                id: "one".into(),
                body: title.into(),
                at: UnixMillis(1),
            }),
            ..writer.next(writer.state.decide_rename(title).unwrap())
        };
        store.submit(write).await.unwrap().await.unwrap();
    }
    let mut writer = Writer::start(&tea, "thread_2", me()).await;
    let started = writer
        .state
        .decide_start_turn(prompt("go"), UnixMillis(2))
        .unwrap();
    writer.write(started).await.unwrap();
    tea.change_schedule(vec![ScheduleChange::Put(entry)])
        .await
        .unwrap();

    let title = async |store: &PostgresStore| {
        let loaded = store.load(&id).await.unwrap().unwrap();
        loaded.state.header.display_name.unwrap()
    };
    assert_eq!(
        (title(&tea).await, title(&coffee).await),
        ("green".into(), "black".into())
    );
    let filter = ListFilter {
        workspace_path: "/srv/tea".into(),
        ..ListFilter::default()
    };
    assert_eq!(coffee.list(filter).await.unwrap().len(), 1);
    assert!(tea.is_remembered(&scope).await.unwrap());
    assert!(!coffee.is_remembered(&scope).await.unwrap());
    let known = coffee.request(Some(&id), "one").await.unwrap().unwrap();
    assert_eq!(known.body, "black");
    assert_eq!(coffee.threads_with_open_turns().await.unwrap(), []);
    assert_eq!(coffee.schedule().await.unwrap(), []);
    coffee.forget_answers(None).await.unwrap();
    assert!(tea.is_remembered(&scope).await.unwrap());
    // An open store of one workspace keeps its answers for the session while another is opened.
    let mut writer = Writer::start(&tea, "thread_3", me()).await;
    let started = writer
        .state
        .decide_start_turn(prompt("go"), UnixMillis(2))
        .unwrap();
    writer.write(started).await.unwrap();
    writer
        .write(writer.state.decide_ask(question("a")).unwrap())
        .await
        .unwrap();
    let by = DecidedBy::Client("me".into());
    let answer = writer.state.decide_answer(
        &ApprovalId::new("a"),
        Decision::AcceptForSession,
        &by,
        UnixMillis(4),
    );
    writer.write(answer.unwrap()).await.unwrap();
    let other = open(&address, "cocoa").await;
    assert_eq!(writer.loaded().await.grants, writer.state.grants);
    let mut gone = Writer::start(&coffee, "thread_2", me()).await;
    gone.write(vec![Event::ThreadDeleted]).await.unwrap();
    for store in [tea, coffee, other] {
        store.close().await;
    }
    let left = server.query("both", "SELECT count(*) FROM thread WHERE workspace = 'tea'");
    assert_eq!(left.trim(), "3");
}

#[tokio::test]
async fn long_texts_fit_where_they_are_looked_up() {
    let Some(server) = server() else { return };
    let store = open(&server.database("long"), "tea").await;
    // Hardly compressible, and longer than a key of an index may be.
    let long: String = (0..4000u32)
        .map(|n| char::from(b' ' + (n * n % 89) as u8))
        .collect();
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    let started = writer
        .state
        .decide_start_turn(prompt(&long), UnixMillis(2))
        .unwrap();
    writer.write(started).await.unwrap();
    let scope = Scope::new(ApprovalKind::Shell, &long, &long);
    let approval = Approval {
        turn: TurnId(0),
        item: ItemId(0),
        call_id: long.clone(),
        scope: scope.clone(),
        ..question("a")
    };
    writer
        .write(writer.state.decide_ask(approval).unwrap())
        .await
        .unwrap();
    let call = Event::CallStarted {
        turn: TurnId(1),
        call_id: long.clone(),
    };
    writer.write(vec![call]).await.unwrap();
    let write = Write {
        remember: Some(scope.clone()),
        request: Some(NamedRequest {
            id: long.clone(),
            body: "digest".into(),
            at: UnixMillis(1),
        }),
        ..writer.next(writer.state.decide_status(StatusChange::Pause))
    };
    store.submit(write).await.unwrap().await.unwrap();
    assert_eq!(writer.loaded().await, writer.state);
    assert!(store.is_remembered(&scope).await.unwrap());
    let id = ThreadId::new("thread_1");
    assert!(store.request(Some(&id), &long).await.unwrap().is_some());
    assert_eq!(store.request(Some(&id), &long[1..]).await.unwrap(), None);
    store.close().await;
}

#[tokio::test]
async fn answers_for_ever_end_with_the_directory_and_threads_follow_the_folder() {
    let Some(server) = server() else { return };
    let access = Access::parse(&server.database("moved"), None).unwrap();
    let open = async |path: &str, directory: &str| {
        let options = Options {
            folder: Some(ServedFolder {
                path: path.into(),
                directory: directory.into(),
            }),
            ..Options::of("tea", holder("a"))
        };
        PostgresStore::open(&access, options).await.unwrap()
    };
    let scope = question("a").scope;
    let store = open("/srv/tea", "1").await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    let renamed = writer.state.decide_rename("x").unwrap();
    writer
        .write_with(renamed, vec![], Some(scope.clone()))
        .await
        .unwrap();
    store.close().await;
    for (path, directory, is_remembered) in [
        ("/srv/tea", "1", true),
        ("/srv/pot", "1", true),
        ("/srv/pot", "2", false),
    ] {
        let store = open(path, directory).await;
        let filter = ListFilter {
            workspace_path: path.into(),
            ..ListFilter::default()
        };
        assert_eq!(store.list(filter).await.unwrap().len(), 1, "{path}");
        assert_eq!(
            store.is_remembered(&scope).await.unwrap(),
            is_remembered,
            "{path} {directory}"
        );
        store.close().await;
    }
}

#[tokio::test]
async fn damage_is_an_error_that_names_its_place() {
    let Some(server) = server() else { return };
    let store = open(&server.database("damage"), "tea").await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    writer
        .write(writer.state.decide_rename("x").unwrap())
        .await
        .unwrap();
    server.query(
        "damage",
        "UPDATE event SET payload = '{\"threadRenamed\":7}' WHERE seq = 2; UPDATE event SET version = 99 WHERE seq = 1",
    );
    let id = ThreadId::new("thread_1");
    let old = store.events(&id, Seq(0), Seq(1), 9).await.unwrap_err();
    assert!(
        matches!(&old, StoreError::CorruptEvent { seq: Seq(1), reason, .. } if reason.contains("99")),
        "{old:?}"
    );
    let broken = store.events(&id, Seq(1), Seq(2), 9).await.unwrap_err();
    assert!(matches!(broken, StoreError::CorruptEvent { seq: Seq(2), .. }));
    store.close().await;
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_an_error_without_the_password() {
    let Some(server) = server() else { return };
    let address = server.database("newer");
    let open = async |address: &str| {
        let access = Access::parse(address, Some("secret")).unwrap();
        match PostgresStore::open(&access, Options::of("tea", holder("a"))).await {
            Ok(_) => panic!("{address} is open"),
            Err(error) => error.to_string(),
        }
    };
    let missing = open(&server.address("nowhere")).await;
    assert!(missing.contains("\"nowhere\" does not exist"), "{missing}");
    server.query("newer", "CREATE ROLE guest LOGIN");
    let refused = open(&address.replace("bobbin@", "guest@")).await;
    assert!(refused.contains("permission denied"), "{refused}");
    self::open(&address, "tea").await.close().await;
    server.query(
        "newer",
        "UPDATE _sqlx_migrations SET version = 99 WHERE version = 1",
    );
    let newer = open(&address).await;
    assert!(newer.contains("newer version"), "{newer}");
    for error in [missing, refused, newer] {
        assert!(!error.contains("secret"), "{error}");
    }
}
