//! Records and output of terminals after their end: over restarts, for how long, and how much.

use bobbin_agent_api::picture::{MAX_PICTURE_BYTES, PictureError, PictureFiles as _};
use bobbin_agent_api::terminal::Terminals as _;
use bobbin_model::{Terminal, TerminalStatus};
use bobbin_terminals::{Bounds, Terminals};
use tokio::sync::oneshot;

use crate::support::{Place, thread};

async fn cleaned(terminals: &Terminals) -> Vec<Terminal> {
    let (reply, cleaned) = oneshot::channel();
    let reply = Box::new(|all| drop(reply.send(all)));
    terminals.clean(&thread("a"), reply).await;
    cleaned.await.unwrap()
}

#[tokio::test]
async fn what_ran_when_the_server_died_is_lost_and_that_is_on_record() {
    let place = Place::new();
    let terminals = place.open(Bounds::default());
    let over = place.over(&terminals, "echo over").await;
    let begun = place.leave(&terminals, "echo begun; sleep 600").await;
    // Another server on the same directory sees what a killed one would have left.
    for _ in 0..2 {
        let after = place.open(Bounds::default());
        let list = after.list(Some(&thread("a"))).await;
        let find = |id: &str| list.iter().find(|terminal| terminal.facts.id == id).unwrap();
        assert_eq!(*find(&over.facts.id), over);
        let lost = find(&begun.facts.id);
        assert_eq!(
            (lost.status, lost.output.as_str()),
            (TerminalStatus::Lost, "begun\n")
        );
        assert_eq!((lost.output_chars, lost.exit_code), (6, None));
        assert!(lost.completed_at.is_some());
        assert_eq!(after.list(Some(&thread("b"))).await, []);
        after.end().await;
    }
    terminals.end().await;
}

#[tokio::test]
async fn cleaning_removes_what_has_ended_with_its_output_and_nothing_else() {
    let place = Place::new();
    let terminals = place.open(Bounds::default());
    let runs = place.leave(&terminals, "echo begun; sleep 600").await;
    let over = place.over(&terminals, "echo over").await;
    let gone = cleaned(&terminals).await;
    assert_eq!(gone.len(), 1);
    assert_eq!(
        (&gone[0].facts.id, gone[0].output.as_str()),
        (&over.facts.id, "over\n")
    );
    assert!(!std::fs::exists(&over.facts.output_path).unwrap());
    assert!(std::fs::exists(&runs.facts.output_path).unwrap());
    assert_eq!(terminals.list(None).await.len(), 1);
    assert_eq!(cleaned(&terminals).await, []);
    terminals.end().await;
}

#[tokio::test]
async fn the_oldest_make_room() {
    let place = Place::new();
    let terminals = place.open(Bounds {
        ended: 2,
        ..Bounds::default()
    });
    let mut ids = Vec::new();
    for number in 0..4 {
        place.clock.advance(1000);
        let over = place.over(&terminals, &format!("echo {number}")).await;
        ids.push(over.facts.id.clone());
    }
    // The last terminal removes old files only after its end was reported.
    terminals.end().await;
    let left: Vec<String> = terminals
        .list(None)
        .await
        .iter()
        .map(|terminal| terminal.facts.id.clone())
        .collect();
    assert_eq!(left, ids[2..]);
    assert_eq!(place.open(Bounds::default()).list(None).await.len(), 2);
}

#[tokio::test]
async fn the_disk_takes_no_more_than_its_bound() {
    let place = Place::new();
    let bounds = Bounds {
        tail_bytes: 1 << 10,
        file_bytes: 8 << 10,
        disk_bytes: 20 << 10,
        ..Bounds::default()
    };
    let terminals = place.open(bounds.clone());
    for _ in 0..6 {
        let long = place.run(&terminals, "seq 100000").ended().await;
        assert!(long.output_path.is_some());
    }
    terminals.end().await;
    let files = std::fs::read_dir(place.path().join("terminals/thread_a"));
    let bytes: u64 = files
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(bytes <= bounds.disk_bytes, "{bytes} bytes");
}

#[tokio::test]
async fn a_picture_is_stored_once_and_within_the_room() {
    let place = Place::new();
    let terminals = place.open(Bounds {
        disk_bytes: 100,
        retention: std::time::Duration::ZERO,
        ..Bounds::default()
    });
    let png = |rest: &[u8]| [b"\x89PNG\r\n\x1a\n", rest].concat();
    let put = |bytes: Vec<u8>| terminals.put(&thread("a"), bytes);
    let first = put(png(b"tea")).await.unwrap();
    assert_eq!(first.media_type, "image/png");
    assert_eq!(std::fs::read(&first.path).unwrap(), png(b"tea"));
    assert_eq!(put(png(b"tea")).await.unwrap(), first);
    let second = put(png(&[0; 60])).await.unwrap();
    assert!(std::fs::exists(&first.path).unwrap(), "it does not age");
    assert_eq!(put(png(&[1; 60])).await.unwrap_err(), PictureError::NoRoom);
    // The cleaning before the refused picture has removed only the oldest one.
    assert!(std::fs::exists(&second.path).unwrap());
    assert_eq!(put(b"text".to_vec()).await.unwrap_err(), PictureError::Unknown);
    let large = png(&vec![0; MAX_PICTURE_BYTES]);
    assert_eq!(put(large).await.unwrap_err(), PictureError::TooLarge);
    terminals.end().await;
}

#[tokio::test]
async fn records_that_others_wrote_are_not_believed() {
    let place = Place::new();
    drop(place.open(Bounds::default()));
    let folder = place.path().join("terminals/thread_a");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("term_1.json"), "{}").unwrap();
    let other = r#"{"version":1,"facts":{"id":"term_9","thread":"thread_b","turn":"turn_001","call":"c","command":"x",
        "workingDirectory":"/","sandboxed":true,"startedAt":0,"reason":"requested","outputPath":"/etc/passwd"},
        "end":{"status":"completed","exitCode":0,"completedAt":1,"outputChars":5}}"#;
    std::fs::write(folder.join("term_2.json"), other).unwrap();
    let own = other.replace("term_9", "term_3").replace("thread_b", "thread_a");
    std::fs::write(folder.join("term_3.json"), own).unwrap();
    let list = place.open(Bounds::default()).list(None).await;
    assert_eq!(list.len(), 1);
    assert_eq!(
        list[0].facts.output_path,
        folder.join("term_3.log").to_string_lossy()
    );
}
