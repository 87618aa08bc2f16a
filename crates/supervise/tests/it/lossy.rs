//! A child that writes faster than anything needs to read.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{Children, Environment, ProcessSpec};
use bobbin_supervise::{Child, Line, Streams};
use parking_lot::Mutex;
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_mins(1);
/// Lines of the flood, of 100 bytes each.
const LINES: u64 = 1_000_000;

/// Writes 100 MB to standard error, and a word to standard output once that was taken.
pub(crate) fn write_much() {
    let mut errors = std::io::stderr().lock();
    let line = [b'x'; 99];
    let thousand = [&line[..], b"\n"].concat().repeat(1000);
    for _ in 0..LINES / 1000 {
        errors.write_all(&thousand).unwrap();
    }
    errors.write_all(b"\xff the last word").unwrap();
    println!("done");
}

#[tokio::test]
async fn a_flood_costs_lines_and_neither_the_child_nor_the_reader() {
    let directory = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let arguments = ["torrent", "--exact", "--ignored", "--nocapture"];
    let process = ProcessSpec::new(program, directory.path(), Environment::empty()).args(arguments);
    let seen = Arc::new(Mutex::new((0_u64, 0_u64, String::new())));
    let sink = {
        let seen = seen.clone();
        Box::new(move |line: Line<'_>| {
            let mut seen = seen.lock();
            match line {
                Line::Text(text) => {
                    seen.0 += 1;
                    text.clone_into(&mut seen.2);
                }
                Line::Lost(lost) => seen.1 += lost,
            }
        })
    };
    let started = Child::start_lossy(&Children::new(None), process, sink).await;
    let (mut child, Streams { mut output, .. }) = started.unwrap();
    let mut words = String::new();
    timeout(PATIENCE, output.read_to_string(&mut words))
        .await
        .unwrap()
        .unwrap();
    assert!(words.contains("done"), "{words}");
    timeout(PATIENCE, child.lost()).await.unwrap();
    let ended = child.end(PATIENCE).await;
    assert_eq!(ended.errors.last().unwrap(), "\u{fffd} the last word");
    let (lines, lost, last) = seen.lock().clone();
    assert_eq!(
        (lines + lost, last.as_str()),
        (LINES + 1, "\u{fffd} the last word")
    );
    assert!(lost > 0, "all lines were taken");
}
