//! The logs of extensions.

use std::io;
use std::sync::Arc;

use bobbin_hermes::{Change, ExtensionState, Level, SaveTo};
use bobbin_hl7::Format;
use parking_lot::Mutex;
use serde_json::json;

use crate::fake::frame;
use crate::support::{World, plain, with_commands};

#[tokio::test]
async fn behaviour_60_lines_of_standard_error_have_levels() {
    let mut world = World::new();
    let (id, mut fake) = world.run(plain()).await;
    fake.print_error("[WARN] hot\n\nerror: no tea\nplain\n").await;
    world.logs("plain").await;
    let records = world.host.logs(id.as_str(), None, 100).unwrap();
    let last: Vec<_> = records[records.len() - 3..]
        .iter()
        .map(|record| (record.level, record.message.as_str()))
        .collect();
    assert_eq!(
        last,
        [
            (Level::Warn, "hot"),
            (Level::Error, "no tea"),
            (Level::Info, "plain")
        ]
    );
    assert!(records.iter().any(|record| record.message == "started"));
    assert!(world.host.logs("ext-none", None, 1).is_err());
}

#[tokio::test]
async fn behaviour_61_long_lines_are_cut_and_bytes_that_are_no_text_replaced() {
    let mut world = World::new();
    let (id, mut fake) = world.run(plain()).await;
    fake.print_error(&format!("{}end\u{1b}[31m\n", "x".repeat(9000)))
        .await;
    fake.print_error("next\u{1b}[31m\n").await;
    let next = world.logs("next").await;
    assert_eq!(next.message, "next\\u{1b}[31m");
    let records = world.host.logs(id.as_str(), Some(next.number - 2), 1).unwrap();
    assert_eq!(records[0].message.len(), 8 << 10);
}

#[tokio::test]
async fn behaviour_62_a_flood_of_lines_stalls_neither_the_extension_nor_the_host() {
    let mut world = World::new();
    let (id, mut fake) = world.run(plain()).await;
    fake.flood().await;
    // The host serves it once the flood is written.
    fake.result("editor/getMessage", json!({ "format": "hl7" })).await;
    fake.print_error("the last\n").await;
    fake.exit(0).await;
    world.logs("are lost").await;
    world.logs("the last").await;
    assert_eq!(world.host.logs(id.as_str(), None, 9999).unwrap().len(), 1000);
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_value_of_a_message_is_in_the_log_of_the_server() {
    const VALUES: [&str; 4] = ["Quillfeather", "Ottoline", "558213", "Marrowgate"];
    let written = Written::default();
    let writer = written.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone());
    subscriber.init();

    let mut world = World::new();
    let text = "MSH|^~\\&|LAB\rPID|1||558213||Quillfeather^Ottoline||||||Marrowgate 7\r";
    let thread = world.open("thread_1", text).await;
    let (id, mut fake) = world.run(with_commands(&["tea/boil"])).await;
    for format in ["hl7", "json", "yaml", "toml", "Ottoline"] {
        fake.ask("editor/getMessage", json!({ "format": format })).await;
    }
    let patch = |path: &str| json!({ "path": path, "value": "Quillfeather" });
    let patches = [
        patch("PID.5"),
        patch("Ottoline"),
        patch("PID.0"),
        json!(["558213"]),
    ];
    for patch in patches {
        fake.ask("editor/patchMessage", json!({ "patches": [patch] }))
            .await;
    }
    for (message, format) in [
        (text, "json"),
        ("Ottoline", "hl7"),
        ("{\"Ottoline\": [", "yaml"),
        (text, "hl7"),
    ] {
        fake.ask(
            "editor/setMessage",
            json!({ "message": message, "format": format }),
        )
        .await;
    }
    fake.ask("ui/showMessage", json!({ "message": "Ottoline of Marrowgate" }))
        .await;
    fake.ask(
        "ui/openWindow",
        json!({ "url": "http://127.0.0.1:1/?id=558213", "title": "Ottoline" }),
    )
    .await;
    fake.ask("tea/none", json!({ "name": "Ottoline" })).await;
    fake.print_error("ERROR: no bed for Quillfeather^Ottoline\n")
        .await;
    fake.print("PID|1||558213\n").await;
    fake.print(frame("{\"Ottoline\": 558213")).await;
    fake.print(frame("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":\"Ottoline\"}"))
        .await;
    let set = Change::Set("Ottoline".to_owned(), Format::Hl7);
    world.host.change(&thread, None, set).await.unwrap_err();
    let file = world.path("a.hl7");
    let to = SaveTo::NewFile(file.clone());
    world.host.save(&thread, to).await.unwrap();
    world.host.change(&thread, None, Change::Undo).await.unwrap();
    std::fs::write(&file, "MSH|^~\\&|OTHER\r").unwrap();
    world.host.save(&thread, SaveTo::OwnFile).await.unwrap_err();
    world.host.validate(&thread).await.unwrap();
    world.host.execute("tea/boil", Some(&thread), None).await.unwrap();
    fake.receive_method("command/execute").await;
    fake.exit(9).await;
    world.reaches(&id, ExtensionState::Failed).await;
    world.host.end().await;

    let log = String::from_utf8(written.0.lock().clone()).unwrap();
    assert!(log.contains("service started"), "the log is empty: {log}");
    for value in VALUES {
        let found: Vec<_> = log.lines().filter(|line| line.contains(value)).collect();
        assert!(found.is_empty(), "{value}: {found:#?}");
    }
}
