//! A database file with damaged bytes: whatever is read of it is right, or an error; never a panic, and nothing that
//! SQLite's own check finds goes unsaid.

use std::path::Path;

use bobbin_model::{Outcome, Seq, ThreadId, TurnId, UnixMillis};
use bobbin_store::{ListFilter, Store, StoreError};
use bobbin_store_sqlite::{Options, SqliteStore};

use crate::support::{Writer, me, open, prompt};

const THREADS: [&str; 4] = ["thread_a", "thread_b", "thread_c", "thread_d"];
const PAGE: usize = 4096;

/// Everything that can be read of a store, place by place.
async fn all(store: &SqliteStore) -> Vec<Result<String, StoreError>> {
    let filter = ListFilter {
        workspace_path: "/srv/tea".into(),
        ..ListFilter::default()
    };
    let mut all = vec![store.list(filter).await.map(|list| format!("{list:?}"))];
    for id in THREADS.map(ThreadId::new) {
        all.push(store.load(&id).await.map(|loaded| format!("{loaded:?}")));
        let turns = store.turns_before(&id, TurnId(u32::MAX), 50).await;
        all.push(turns.map(|turns| format!("{turns:?}")));
        let events = store.events(&id, Seq(0), Seq(u64::MAX >> 1), 500).await;
        all.push(events.map(|events| format!("{events:?}")));
    }
    all
}

/// Makes a database of four Threads with some Turns each, closed properly.
async fn sound(dir: &Path) -> (Vec<u8>, Vec<String>) {
    let store = open(dir).await;
    for id in THREADS {
        let mut writer = Writer::start(&store, id, me()).await;
        for turn in 0..6 {
            let text = format!("{id} {turn} {}", "leaves ".repeat(60));
            let started = writer.state.decide_start_turn(prompt(&text), UnixMillis(2));
            writer.write(started.unwrap()).await.unwrap();
            let ended = writer.state.decide_end_turn(Outcome::Completed, UnixMillis(3));
            writer.write(ended).await.unwrap();
        }
    }
    let read = all(&store).await.into_iter().map(Result::unwrap).collect();
    store.close().await;
    assert!(!dir.join("test.db-wal").exists(), "everything is in the file");
    (std::fs::read(dir.join("test.db")).unwrap(), read)
}

/// What became of one damaged file.
enum Fate {
    /// It was not opened.
    Refused,
    /// Reads were right or errors; so many were errors.
    Told(usize),
    /// A read was wrong, and neither it nor the check said so.
    Unnoticed,
    /// A read was wrong, and only the check that begins with the store said so.
    CheckOnly,
}

async fn fate(dir: &Path, bytes: &[u8], right: &[String]) -> Fate {
    for name in ["test.db", "test.db-wal", "test.db-shm"] {
        drop(std::fs::remove_file(dir.join(name)));
    }
    std::fs::write(dir.join("test.db"), bytes).unwrap();
    let store = match SqliteStore::open(&dir.join("test.db"), Options::default()).await {
        Ok(store) => store,
        Err(error) => {
            let text = error.to_string();
            assert!(
                text.contains("test.db") && text.contains("bobbin doctor"),
                "{text}"
            );
            return Fate::Refused;
        }
    };
    let read = all(&store).await;
    let found = store.first_check().await;
    store.close().await;
    let wrong = read
        .iter()
        .zip(right)
        .any(|(read, right)| read.as_ref().is_ok_and(|read| read != right));
    match (wrong, found) {
        (false, _) => Fate::Told(read.iter().filter(|read| read.is_err()).count()),
        (true, faults) if faults.is_empty() => Fate::Unnoticed,
        (true, faults) => {
            println!("{faults:?}");
            Fate::CheckOnly
        }
    }
}

#[tokio::test]
async fn damaged_pages_are_told_and_never_taken_for_something_else() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, right) = sound(dir.path()).await;
    let (mut refused, mut told, mut sound_parts, mut unnoticed, mut check_only) = (0, 0, 0, 0, 0);
    for page in 0..bytes.len() / PAGE {
        // Of one page its own header, of the next its table of cells, its middle, its end.
        let places = [(0, 8), (8, 16), (PAGE / 2, 64), (PAGE - 200, 100)];
        let (at, len) = places[page % places.len()];
        {
            let mut damaged = bytes.clone();
            let start = page * PAGE + at;
            for byte in &mut damaged[start..start + len] {
                *byte ^= 0xa5;
            }
            match fate(dir.path(), &damaged, &right).await {
                Fate::Refused => refused += 1,
                Fate::Told(0) => sound_parts += 1,
                Fate::Told(_) => told += 1,
                Fate::Unnoticed => {
                    unnoticed += 1;
                    println!("unnoticed: page {page} at {at}");
                }
                Fate::CheckOnly => {
                    check_only += 1;
                    println!("only the check: page {page} at {at}");
                }
            }
        }
    }
    println!(
        "{refused} refused, {told} told, {sound_parts} harmless, {unnoticed} unnoticed, {check_only} by the check only"
    );
    assert!(refused > 0 && told > 0);
    assert_eq!(unnoticed, 0);
}

#[tokio::test]
async fn a_file_that_is_no_database_or_only_half_of_one_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, right) = sound(dir.path()).await;
    let mut headless = bytes.clone();
    headless[..16].copy_from_slice(b"not a database!!");
    assert!(matches!(fate(dir.path(), &headless, &right).await, Fate::Refused));
    let half = &bytes[..bytes.len() / 2 + 100];
    assert!(!matches!(
        fate(dir.path(), half, &right).await,
        Fate::Unnoticed | Fate::CheckOnly
    ));
}
