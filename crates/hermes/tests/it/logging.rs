//! The logs of extensions.

use bobbin_hermes::Level;
use serde_json::json;

use crate::support::{World, plain};

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
    // It is served once the flood is written.
    fake.result("editor/getMessage", json!({ "format": "hl7" })).await;
    fake.print_error("the last\n").await;
    fake.exit(0).await;
    world.logs("are lost").await;
    world.logs("the last").await;
    assert_eq!(world.host.logs(id.as_str(), None, 9999).unwrap().len(), 1000);
}
