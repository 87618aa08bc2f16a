//! Documents: what extensions read and write, and the events that they get.

use std::time::Duration;

use bobbin_hermes::{Change, DocumentError, ExtensionState, News, Origin, SaveTo, Source};
use bobbin_hl7::{Format, Patch, Shape, TextEdit};
use bobbin_model::ThreadId;
use serde_json::{Value, json};

use crate::fake::Fake;
use crate::support::{ADT, World, plain, with_commands};

fn subscribed(events: &Value) -> Value {
    json!({ "name": "tea", "version": "1.0.0", "capabilities": { "events": events } })
}

/// Waits until all earlier messages have arrived; only the answer may come.
async fn nothing_came(fake: &mut Fake) {
    fake.result("editor/getMessage", json!({ "format": "hl7" })).await;
}

#[tokio::test]
async fn behaviour_32_a_message_is_read_in_four_formats() {
    let mut world = World::new();
    let thread = world.open("thread_1", ADT).await;
    let (_, mut fake) = world.run(plain()).await;
    for format in [Format::Hl7, Format::Json, Format::Yaml, Format::Toml] {
        let read = fake
            .result("editor/getMessage", json!({ "format": format }))
            .await;
        let (text, _) = world.host.get(&thread, format, Shape::Segments).await.unwrap();
        assert_eq!(read, json!({ "message": text, "hasFile": false }));
    }
    assert_eq!(
        fake.refused("editor/getMessage", json!({ "format": "xml" }))
            .await,
        -32602
    );
    assert_eq!(fake.refused("editor/getMessage", json!({})).await, -32602);
}

#[tokio::test]
async fn behaviour_33_without_a_message_every_format_is_empty() {
    let mut world = World::new();
    let (_, mut fake) = world.run(plain()).await;
    let empty = json!({ "message": "", "hasFile": false });
    for _ in 0..2 {
        for format in ["hl7", "json", "yaml", "toml"] {
            assert_eq!(
                fake.result("editor/getMessage", json!({ "format": format }))
                    .await,
                empty
            );
        }
        // An empty document counts as none.
        world.open("thread_1", "").await;
    }
}

#[tokio::test]
async fn behaviour_36_patches_that_fail_are_in_the_report() {
    let mut world = World::new();
    let patches = json!({ "patches": [{ "path": "PID.0" }, { "path": "PID.5", "value": 7 }] });
    let (_, mut fake) = world.run(plain()).await;
    assert_eq!(fake.refused("editor/patchMessage", patches.clone()).await, -32003);
    let thread = world.open("thread_1", ADT).await;
    let report = fake.result("editor/patchMessage", patches).await;
    assert_eq!(
        (&report["success"], &report["patchesApplied"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(
        (&report["errors"][0]["index"], &report["errors"][0]["path"]),
        (&json!(0), &json!("PID.0"))
    );
    assert!(world.host.text(&thread).await.unwrap().0.ends_with("4711||7\r"));
    assert_eq!(
        fake.refused("editor/patchMessage", json!({ "patches": [{}] }))
            .await,
        -32602
    );
}

#[tokio::test]
async fn behaviour_41_a_text_without_format_is_hl7() {
    let mut world = World::new();
    let thread = world.open("thread_1", "").await;
    let (_, mut fake) = world.run(plain()).await;
    assert_eq!(
        fake.result("editor/setMessage", json!({ "message": ADT })).await,
        json!({ "success": true })
    );
    assert_eq!(world.host.text(&thread).await.unwrap(), (ADT.to_owned(), 1));
}

#[tokio::test]
async fn behaviour_42_what_cannot_be_read_is_an_error_and_what_is_no_message_an_answer() {
    let mut world = World::new();
    let (_, mut fake) = world.run(plain()).await;
    let without = fake
        .result("editor/setMessage", json!({ "message": ADT, "format": "hl7" }))
        .await;
    assert_eq!(without["success"], false, "{without}");
    let thread = world.open("thread_1", ADT).await;
    let unreadable = json!({ "message": "{", "format": "json" });
    assert_eq!(fake.refused("editor/setMessage", unreadable).await, -32004);
    let no_message = fake
        .result("editor/setMessage", json!({ "message": "DOE", "format": "hl7" }))
        .await;
    assert_eq!(no_message["success"], false);
    assert!(
        !no_message["error"].as_str().unwrap().contains("DOE"),
        "{no_message}"
    );
    assert_eq!(world.host.text(&thread).await.unwrap(), (ADT.to_owned(), 0));
}

#[tokio::test]
async fn behaviour_43_a_call_is_one_step_of_undo() {
    let mut world = World::new();
    let thread = world.open("thread_1", ADT).await;
    let (id, mut fake) = world.run(plain()).await;
    let patches =
        json!({ "patches": [{ "path": "NK1", "create": true }, { "path": "NK1.2.1", "value": "DOE" }] });
    fake.result("editor/patchMessage", patches).await;
    let (status, origin) = world
        .news(|news| match news {
            News::Document(status, origin) if status.version == 1 => Some((status, origin)),
            _ => None,
        })
        .await;
    assert_eq!(
        (status.undo_steps, status.dirty, origin),
        (1, true, Origin::Extension(id))
    );
    let status = world.host.change(&thread, Some(1), Change::Undo).await.unwrap();
    assert_eq!((status.version, status.dirty, status.redo_steps), (2, false, 1));
    assert_eq!(world.host.text(&thread).await.unwrap().0, ADT);
}

#[tokio::test]
async fn the_thread_of_the_last_command_is_meant_until_another_is_focused() {
    let mut world = World::new();
    let first = world.open("thread_1", "MSH|^~\\&|ONE\r").await;
    let second = world.open("thread_2", "MSH|^~\\&|TWO\r").await;
    let (_, mut fake) = world.run(with_commands(&["tea/boil"])).await;
    let read = async |name: &str, fake: &mut Fake| {
        let message = fake.result("editor/getMessage", json!({ "format": "hl7" })).await;
        assert_eq!(message["message"], format!("MSH|^~\\&|{name}\r"));
    };
    read("TWO", &mut fake).await;
    world.host.execute("tea/boil", Some(&first), None).await.unwrap();
    fake.receive_method("command/execute").await;
    read("ONE", &mut fake).await;
    world.host.focus(&second, None);
    read("TWO", &mut fake).await;
    world.host.focus(&first, None);
    world.host.execute("tea/boil", None, None).await.unwrap();
    fake.receive_method("command/execute").await;
    read("ONE", &mut fake).await;
}

#[tokio::test]
async fn behaviour_51_only_subscribers_get_events() {
    let mut world = World::new();
    let ((one, first), (two, second)) = (world.fake("one"), world.fake("two"));
    let ids = world.load(&[one, two]);
    let (mut first, mut second) = (first.started().await, second.started().await);
    first
        .greet(subscribed(&json!([{ "name": "message/changed" }])))
        .await;
    second
        .greet(subscribed(&json!([{ "name": "message/opened" }])))
        .await;
    world.reaches(&ids[1], ExtensionState::Running).await;
    if world.host.extensions()[0].state != ExtensionState::Running {
        world.reaches(&ids[0], ExtensionState::Running).await;
    }
    let thread = world.open("thread_1", ADT).await;
    second.receive_method("message/opened").await;
    world
        .host
        .change(&thread, None, Change::Set("MSH|^~\\&\r".to_owned(), Format::Hl7))
        .await
        .unwrap();
    let changed = first.receive_method("message/changed").await;
    assert_eq!(changed["params"], json!({ "hasFile": false }));
    nothing_came(&mut second).await;
}

#[tokio::test]
async fn behaviour_52_many_changes_in_a_row_are_one_event() {
    let mut world = World::new();
    let thread = world.open("thread_1", "MSH|^~\\&\r").await;
    let options = json!({ "includeContent": true });
    let (_, mut fake) = world
        .run(subscribed(
            &json!([{ "name": "message/changed", "options": options }]),
        ))
        .await;
    tokio::time::pause();
    for number in 0..10 {
        let edit = TextEdit {
            start: 8,
            end: 8,
            text: number.to_string(),
        };
        let edit = Change::Edits(vec![edit]);
        world.host.change(&thread, Some(number), edit).await.unwrap();
        tokio::time::advance(Duration::from_millis(30)).await;
    }
    tokio::time::advance(Duration::from_millis(500)).await;
    tokio::time::resume();
    let changed = fake.receive_method("message/changed").await;
    let params = json!({ "hasFile": false, "message": "MSH|^~\\&9876543210\r", "format": "hl7" });
    assert_eq!(changed["params"], params);
    nothing_came(&mut fake).await;
}

#[tokio::test]
async fn behaviour_53_the_author_of_a_change_is_notified_too() {
    let mut world = World::new();
    world.open("thread_1", ADT).await;
    let (_, mut fake) = world
        .run(subscribed(&json!([{ "name": "message/changed" }])))
        .await;
    let patch = json!({ "patches": [{ "path": "PID.1", "value": "2" }] });
    fake.result("editor/patchMessage", patch).await;
    fake.receive_method("message/changed").await;
}

#[tokio::test]
async fn behaviour_54_content_comes_in_the_wanted_format() {
    let mut world = World::new();
    let thread = world.open("thread_1", ADT).await;
    let options = json!({ "includeContent": true, "format": "json" });
    let (_, mut fake) = world
        .run(subscribed(
            &json!([{ "name": "message/changed", "options": options }]),
        ))
        .await;
    world
        .host
        .patch(&thread, None, vec![Patch::set("PID.1", "2")], Origin::Agent)
        .await
        .unwrap();
    let params = fake.receive_method("message/changed").await["params"].clone();
    let (text, version) = world
        .host
        .get(&thread, Format::Json, Shape::Segments)
        .await
        .unwrap();
    assert_eq!(
        params,
        json!({ "hasFile": false, "message": text, "format": "json" })
    );
    let edit = TextEdit {
        start: 0,
        end: 3,
        text: String::new(),
    };
    world
        .host
        .change(&thread, Some(version), Change::Edits(vec![edit]))
        .await
        .unwrap();
    let params = fake.receive_method("message/changed").await["params"].clone();
    assert_eq!(params["format"], "hl7", "it is no message now");
}

#[tokio::test]
async fn behaviour_55_opening_and_saving_are_events_at_once() {
    let mut world = World::new();
    let events = json!([{ "name": "message/opened" }, { "name": "message/saved" }]);
    let (_, mut fake) = world.run(subscribed(&events)).await;
    let thread = world.open("thread_1", ADT).await;
    assert_eq!(
        fake.receive_method("message/opened").await["params"],
        json!({ "isNew": true })
    );

    assert!(matches!(
        world.host.save(&thread, SaveTo::OwnFile).await,
        Err(DocumentError::NoFile)
    ));
    let file = world.directory.path().canonicalize().unwrap().join("a.hl7");
    let to = SaveTo::NewFile(file.clone());
    let status = world.host.save(&thread, to).await.unwrap();
    assert_eq!((status.dirty, status.file_path.as_ref()), (false, Some(&file)));
    let saved = fake.receive_method("message/saved").await;
    assert_eq!(saved["params"], json!({ "filePath": file, "saveAs": true }));
    world
        .host
        .change(&thread, None, Change::Set("MSH|^~\\&\r".to_owned(), Format::Hl7))
        .await
        .unwrap();
    world.host.save(&thread, SaveTo::OwnFile).await.unwrap();
    let saved = fake.receive_method("message/saved").await;
    assert_eq!(saved["params"], json!({ "filePath": file, "saveAs": false }));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "MSH|^~\\&\r");
    let read = fake.result("editor/getMessage", json!({ "format": "hl7" })).await;
    assert_eq!(
        (&read["hasFile"], &read["filePath"]),
        (&json!(true), &json!(file))
    );

    world.host.close(&thread, false).await.unwrap();
    world
        .host
        .open(&thread, Source::File(file.clone()), false)
        .await
        .unwrap();
    let opened = fake.receive_method("message/opened").await;
    assert_eq!(opened["params"], json!({ "isNew": false, "filePath": file }));
}

#[tokio::test]
async fn a_file_that_another_program_has_written_is_not_replaced() {
    let world = World::new();
    let (file, thread) = (world.path("a.hl7"), ThreadId::new("thread_1"));
    std::fs::write(&file, "MSH|^~\\&|ONE\r").unwrap();
    world
        .host
        .open(&thread, Source::File(file.clone()), false)
        .await
        .unwrap();
    let set = Change::Set("MSH|^~\\&|MINE\r".to_owned(), Format::Hl7);
    world.host.change(&thread, Some(0), set).await.unwrap();
    assert!(matches!(
        world.host.close(&thread, false).await,
        Err(DocumentError::Unsaved)
    ));
    let other = world.host.open(&thread, Source::Text(String::new()), false).await;
    assert!(matches!(other, Err(DocumentError::Unsaved)));
    std::fs::write(&file, "MSH|^~\\&|TWO\r").unwrap();
    for to in [SaveTo::OwnFile, SaveTo::NewFile(file.clone())] {
        let saved = world.host.save(&thread, to).await;
        assert!(matches!(saved, Err(DocumentError::ChangedOnDisk(_))), "{saved:?}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "MSH|^~\\&|TWO\r");
    let to = SaveTo::AnyFile(file.clone());
    world.host.save(&thread, to).await.unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "MSH|^~\\&|MINE\r");
    world.host.close(&thread, false).await.unwrap();
}

#[tokio::test]
async fn another_file_is_replaced_only_on_request_and_the_own_one_needs_none() {
    let world = World::new();
    let (own, other, thread) = (
        world.path("a.hl7"),
        world.path("b.hl7"),
        ThreadId::new("thread_1"),
    );
    for file in [&own, &other] {
        std::fs::write(file, "MSH|^~\\&|ONE\r").unwrap();
    }
    let source = Source::File(own.clone());
    world.host.open(&thread, source, false).await.unwrap();
    let set = Change::Set("MSH|^~\\&|MINE\r".to_owned(), Format::Hl7);
    world.host.change(&thread, Some(0), set).await.unwrap();
    let saved = world.host.save(&thread, SaveTo::NewFile(other.clone())).await;
    assert!(matches!(saved, Err(DocumentError::Exists(_))), "{saved:?}");
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "MSH|^~\\&|ONE\r");

    let saved = world
        .host
        .save(&thread, SaveTo::NewFile(own.clone()))
        .await
        .unwrap();
    assert!(!saved.dirty);
    let to = SaveTo::AnyFile(other.clone());
    let saved = world.host.save(&thread, to).await.unwrap();
    assert_eq!(saved.file_path.unwrap().file_name(), other.file_name());
    for file in [&own, &other] {
        assert_eq!(std::fs::read_to_string(file).unwrap(), "MSH|^~\\&|MINE\r");
    }
    world.host.close(&thread, false).await.unwrap();
}

#[tokio::test]
async fn a_change_on_another_version_is_refused() {
    let world = World::new();
    let thread = world.open("thread_1", ADT).await;
    let patch = || vec![Patch::set("PID.1", "2")];
    world
        .host
        .patch(&thread, Some(0), patch(), Origin::Client)
        .await
        .unwrap();
    let conflict = world.host.patch(&thread, Some(0), patch(), Origin::Client).await;
    assert!(conflict.unwrap_err().to_string().contains("is at version 1"));
    assert_eq!(world.host.open_documents().await[0].version, 1);
}

#[tokio::test]
async fn behaviour_59_the_schema_of_an_extension_ends_with_it() {
    let mut world = World::new();
    let mut about = plain();
    let field = json!({ "field": 1, "name": "Kind of tea", "required": true });
    about["schema"] = json!({ "segments": { "ZTE": { "fields": [field] } } });
    let (id, mut fake) = world.run(about).await;
    let schema = world.host.schema();
    assert_eq!(
        schema.segment("ZTE")[0].properties.name.as_deref(),
        Some("Kind of tea"),
        "{schema:?}"
    );
    let thread = world.open("thread_1", "MSH|^~\\&\rZTE|\r").await;
    let findings = world.host.validate(&thread).await.unwrap().findings;
    assert!(
        findings.iter().any(|one| one.path == "ZTE.1".parse().ok()),
        "{findings:?}"
    );
    fake.exit(0).await;
    world.reaches(&id, ExtensionState::Failed).await;
    assert!(world.host.schema().segment("ZTE").is_empty());
}

#[tokio::test]
async fn changes_that_were_answered_outlive_a_killed_server() {
    let world = World::new();
    let host = world.host.clone();
    let path = world.path("latin.hl7");
    let latin = b"MSH|^~\\&|LAB||||||||||||||||8859/1\rPID|1||4711||M\xdcLLER\r";
    std::fs::write(&path, latin).unwrap();
    let [filed, loose, clean] = ["thread_1", "thread_2", "thread_3"].map(ThreadId::new);
    for (thread, source) in [
        (&filed, Source::File(path.clone())),
        (&loose, Source::Text(ADT.to_owned())),
        (&clean, Source::File(path.clone())),
    ] {
        host.open(thread, source, false).await.unwrap();
    }
    let patch = |value: &str| vec![Patch::set("PID.3", value)];
    host.patch(&filed, None, patch("4712"), Origin::Client)
        .await
        .unwrap();
    drop(host);

    let world = world.restarted();
    let host = world.host.clone();
    let all = host.open_documents().await;
    let seen: Vec<_> = all
        .iter()
        .map(|one| (one.thread_id.as_str(), one.version, one.dirty, one.undo_steps))
        .collect();
    assert_eq!(seen, [("thread_1", 1, true, 0), ("thread_2", 0, false, 0)]);
    assert_eq!(host.text(&loose).await.unwrap().0, ADT);
    host.save(&filed, SaveTo::OwnFile).await.unwrap();
    let wanted = b"MSH|^~\\&|LAB||||||||||||||||8859/1\rPID|1||4712||M\xdcLLER\r";
    assert_eq!(std::fs::read(&path).unwrap(), wanted);

    host.patch(&filed, None, patch("4713"), Origin::Client)
        .await
        .unwrap();
    std::fs::write(&path, "another program's").unwrap();
    host.close(&loose, true).await.unwrap();
    drop(host);
    let world = world.restarted();
    assert_eq!(world.host.open_documents().await.len(), 1);
    let refused = world.host.save(&filed, SaveTo::OwnFile).await.unwrap_err();
    assert!(matches!(refused, DocumentError::ChangedOnDisk(_)), "{refused}");
    world.host.close(&filed, true).await.unwrap();
    let left = std::fs::read_dir(world.path("unsaved")).unwrap().count();
    assert_eq!(left, 0);
}
