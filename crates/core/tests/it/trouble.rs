//! A store that refuses writes for a while. Nothing is acknowledged meanwhile, everything can be read, and open Turns resume
//! by themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_core::{
    Broadcasts, Command, CoreError, Limits, RandomIds, Settings, StoreError, ThreadHandle, Threads,
};
use bobbin_model::{
    Decision, Event, ItemBody, Scope, Seq, Spent, StandingAnswer, ThreadId, Turn, TurnDiff, TurnId,
    TurnStatus,
};
use bobbin_store::{
    AuditEntry, AuditRow, Closed, FoundThread, Holding, KnownRequest, Lease, ListFilter, LoadedThread,
    Receipt, SearchFilter, SearchPage, Store, StoreStats, StoredEvent, ThreadSearch, ThreadSummary,
    UsageQuery, UsageRow, UsedRow, Write,
};
use bobbin_store_sqlite::{Options, SqliteStore};
use bobbin_testkit::{ScriptEngine, TestWorkspace};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::support::{LogReader, answer, decide, kind_of, new_thread, opened, prompt, read, recorded, start};

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A store on a disk that can be full.
struct Moody {
    inner: SqliteStore,
    full: Arc<AtomicBool>,
    /// Whether it cannot be read either.
    away: Arc<AtomicBool>,
    lease: Lease,
}

impl Store for Moody {
    fn submit(&self, write: Write) -> Answer<'_, Receipt> {
        if self.full.load(Ordering::SeqCst) {
            let (done, receipt) = oneshot::channel();
            done.send(Err(StoreError::Full)).unwrap();
            return async move { Ok(Receipt::new(receipt)) }.boxed();
        }
        self.inner.submit(write)
    }
    fn load(&self, id: &ThreadId) -> Answer<'_, Option<LoadedThread>> {
        if self.away.load(Ordering::SeqCst) {
            return async { Err(StoreError::Unreachable("away".to_owned())) }.boxed();
        }
        self.inner.load(id)
    }
    fn list(&self, filter: ListFilter) -> Answer<'_, Vec<ThreadSummary>> {
        self.inner.list(filter)
    }
    fn children(&self, parent: &ThreadId, closed: Closed, limit: u32) -> Answer<'_, Vec<ThreadSummary>> {
        self.inner.children(parent, closed, limit)
    }
    fn descendants(&self, top: &ThreadId) -> Answer<'_, Vec<ThreadId>> {
        self.inner.descendants(top)
    }
    fn search(&self, filter: SearchFilter) -> Answer<'_, SearchPage> {
        self.inner.search(filter)
    }
    fn search_threads(&self, search: ThreadSearch) -> Answer<'_, Vec<FoundThread>> {
        self.inner.search_threads(search)
    }
    fn turns_before(&self, id: &ThreadId, before: TurnId, limit: u32) -> Answer<'_, Vec<Turn>> {
        self.inner.turns_before(id, before, limit)
    }
    fn turn_back(&self, id: &ThreadId, before: TurnId, count: u32) -> Answer<'_, Option<TurnId>> {
        self.inner.turn_back(id, before, count)
    }
    fn spent(&self, id: &ThreadId, before: TurnId) -> Answer<'_, Spent> {
        self.inner.spent(id, before)
    }

    fn usage(&self, query: UsageQuery) -> Answer<'_, (Vec<UsageRow>, Vec<UsedRow>)> {
        self.inner.usage(query)
    }

    fn turns_from(&self, id: &ThreadId, first: TurnId) -> Answer<'_, u32> {
        self.inner.turns_from(id, first)
    }
    fn turn(&self, id: &ThreadId, turn: TurnId) -> Answer<'_, Option<Turn>> {
        self.inner.turn(id, turn)
    }
    fn diff(&self, id: &ThreadId, turn: TurnId) -> Answer<'_, Option<TurnDiff>> {
        self.inner.diff(id, turn)
    }
    fn events(&self, id: &ThreadId, after: Seq, up_to: Seq, limit: u32) -> Answer<'_, Vec<StoredEvent>> {
        self.inner.events(id, after, up_to, limit)
    }
    fn recent_events(&self, id: &ThreadId, up_to: Seq, limit: u32) -> Answer<'_, Vec<StoredEvent>> {
        self.inner.recent_events(id, up_to, limit)
    }
    fn threads_with_open_turns(&self) -> Answer<'_, Vec<ThreadId>> {
        self.inner.threads_with_open_turns()
    }
    fn is_remembered(&self, scope: &Scope) -> Answer<'_, bool> {
        self.inner.is_remembered(scope)
    }
    fn standing_answers(&self, limit: u32) -> Answer<'_, Vec<StandingAnswer>> {
        self.inner.standing_answers(limit)
    }
    fn forget_answers(&self, answers: Option<Vec<StandingAnswer>>) -> Answer<'_, ()> {
        self.inner.forget_answers(answers)
    }
    fn record(&self, entries: Vec<AuditEntry>, cut: Option<u64>) -> Answer<'_, ()> {
        self.inner.record(entries, cut)
    }
    fn audit(&self, after: u64, limit: u32) -> Answer<'_, Vec<AuditRow>> {
        self.inner.audit(after, limit)
    }
    fn request(&self, about: Option<&ThreadId>, id: &str) -> Answer<'_, Option<KnownRequest>> {
        self.inner.request(about, id)
    }
    fn lease(&self) -> Option<Lease> {
        Some(self.lease.clone())
    }
    fn stats(&self) -> StoreStats {
        self.inner.stats()
    }
    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }
}

struct Place {
    threads: Arc<Threads>,
    engine: ScriptEngine,
    full: Arc<AtomicBool>,
    away: Arc<AtomicBool>,
    lease: watch::Sender<Holding>,
    _workspace: TestWorkspace,
}

impl Place {
    async fn open() -> Self {
        let workspace = TestWorkspace::default();
        let (full, away) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let inner = SqliteStore::open(&workspace.database(), Options::default())
            .await
            .unwrap();
        let (lease, states) = watch::channel(Holding::Until(Instant::now()));
        let store = Moody {
            inner,
            lease: Lease::new(states),
            full: full.clone(),
            away: away.clone(),
        };
        let engine = ScriptEngine::default();
        let threads = Threads::new(
            Settings::new(workspace.path().canonicalize().unwrap()),
            Arc::new(store),
            Arc::new(engine.clone()),
            Broadcasts::new(Limits::default(), workspace.clock.clone()),
            Arc::new(RandomIds::default()),
        );
        Self {
            threads,
            engine,
            full,
            away,
            lease,
            _workspace: workspace,
        }
    }

    fn fill(&self) {
        self.full.store(true, Ordering::SeqCst);
    }

    fn make_room(&self) {
        self.full.store(false, Ordering::SeqCst);
    }
}

async fn rename(thread: &ThreadHandle, name: &str) -> Result<(), CoreError> {
    answer(thread, |reply| Command::Rename {
        display_name: name.to_owned(),
        reply,
    })
    .await
}

fn is_full(error: &CoreError) -> bool {
    matches!(error, CoreError::Store(source) if matches!(**source, StoreError::Full))
}

#[tokio::test]
async fn a_change_that_is_not_stored_is_refused_and_the_same_owner_goes_on() {
    let place = Place::open().await;
    let thread = new_thread(&place.threads).await;
    place.fill();
    for name in ["one", "two"] {
        let refused = rename(&thread, name).await.unwrap_err();
        assert!(is_full(&refused), "{refused}");
        // Reading works, and shows what is stored.
        let shown = read(&thread).await;
        assert_eq!(shown.state.header.display_name.as_deref(), Some("test"));
    }
    let request = prompt("call boil");
    let refused = answer(&thread, |reply| Command::StartTurn { request, reply })
        .await
        .unwrap_err();
    assert!(is_full(&refused), "{refused}");
    assert_eq!(read(&thread).await.state.live, None);
    place.make_room();
    rename(&thread, "three").await.unwrap();
    assert_eq!(thread.ended(), None, "no reader is cut off");
    assert_eq!(place.engine.effects(), Vec::<String>::new());
    place.threads.stop().await;
}

#[tokio::test]
async fn who_reads_behind_a_change_that_fails_is_told_how_things_stand() {
    let place = Place::open().await;
    let thread = new_thread(&place.threads).await;
    place.fill();
    for _ in 0..20 {
        let (renamed, shown) = tokio::join!(rename(&thread, "lost"), async { read(&thread).await });
        assert!(is_full(&renamed.unwrap_err()));
        assert_eq!(shown.state.header.display_name.as_deref(), Some("test"));
    }
    place.threads.stop().await;
}

#[tokio::test]
async fn a_thread_that_could_not_be_stored_was_not_started() {
    let place = Place::open().await;
    place.fill();
    let (tell, told) = oneshot::channel();
    let request = bobbin_model::state::NewThread {
        id: place.threads.fresh_thread_id(),
        identity: bobbin_model::Identity {
            channel_name: "test".into(),
            ..bobbin_model::Identity::default()
        },
        config: None,
        history_mode: bobbin_model::HistoryMode::Server,
        display_name: None,
    };
    let id = request.id.clone();
    place
        .threads
        .start_thread(request, Box::new(move |done| drop(tell.send(done))));
    assert!(is_full(&told.await.unwrap().unwrap_err()));
    place.make_room();
    // The answer comes a little before its owner is gone.
    while place.threads.thread(&id).await.is_ok() {
        tokio::task::yield_now().await;
    }
    place.threads.stop().await;
}

#[tokio::test]
async fn a_turn_goes_on_by_itself_after_its_thread_could_be_neither_stored_nor_read() {
    let place = Place::open().await;
    let thread = new_thread(&place.threads).await;
    let id = thread.id().clone();
    let started = start(&thread, "call boil\nwait\nsay done").await;
    let mut reader = LogReader::at(&thread, started.seq);
    reader
        .until(|frame| {
            matches!(recorded(frame), Some(Event::ItemAdded { item, .. })
                if matches!(item.body, ItemBody::ToolResult { .. }))
        })
        .await;
    place.fill();
    place.away.store(true, Ordering::SeqCst);
    let lost = rename(&thread, "lost").await.unwrap_err();
    assert!(is_full(&lost), "{lost}");
    while thread.ended().is_none() {
        tokio::task::yield_now().await;
    }
    drop(thread);
    place.make_room();
    place.away.store(false, Ordering::SeqCst);
    // No client asks for it.
    while place.threads.with_turn().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let thread = place.threads.thread(&id).await.unwrap();
    let mut reader = LogReader::at(&thread, started.seq);
    reader.next = thread.log().first();
    let frames = reader
        .until(|frame| matches!(recorded(frame), Some(Event::TurnRecovered { .. })))
        .await;
    let recovered = frames.iter().find_map(|frame| match recorded(frame) {
        Some(Event::TurnRecovered { crashed, .. }) => Some(*crashed),
        _ => None,
    });
    assert_eq!(recovered, Some(false), "the process did not end");
    place.engine.release();
    reader
        .until(|frame| matches!(recorded(frame), Some(Event::TurnEnded { .. })))
        .await;
    assert_eq!(place.engine.effects().len(), 1, "the call is not repeated");
    place.threads.stop().await;
}

#[tokio::test]
async fn a_turn_whose_record_fails_waits_and_goes_on_without_repeating_its_call() {
    let place = Place::open().await;
    let thread = new_thread(&place.threads).await;
    let begun = start(&thread, "call boil\nwait\nsay done").await;
    let mut reader = LogReader::at(&thread, begun.seq);
    reader
        .until(|frame| {
            matches!(recorded(frame), Some(Event::ItemAdded { item, .. })
                if matches!(item.body, ItemBody::ToolResult { .. }))
        })
        .await;
    place.fill();
    place.engine.release();
    // Waits until the engine has streamed text that could not be stored.
    let seen = thread.log().visible();
    while thread.log().appended() < Seq(seen.0 + 1000) {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let shown = read(&thread).await;
    assert_eq!(
        shown.state.live_turn(),
        Some(TurnId(1)),
        "it is open, and can be read"
    );
    place.make_room();
    reader.next = thread.log().first();
    // The Turn waits again for the same release.
    reader.until_event("turnRecovered").await;
    place.engine.release();
    reader.until_event("turnEnded").await;
    let (turns, _) = place
        .threads
        .turns_of(&read(&thread).await, None, 9, usize::MAX)
        .await
        .unwrap();
    assert_eq!(turns[0].status, TurnStatus::Completed);
    assert_eq!(place.engine.effects(), ["boil"]);
    place.threads.stop().await;
}

#[tokio::test]
async fn an_answer_that_is_not_stored_was_not_given_and_nothing_runs_on_it() {
    let place = Place::open().await;
    let thread = new_thread(&place.threads).await;
    let begun = start(&thread, "ask boil").await;
    let mut reader = LogReader::at(&thread, begun.seq);
    let approval = opened(&reader.until_event("approvalOpened").await);
    place.fill();
    let given = bobbin_core::engine::Answer {
        approval: approval.id.clone(),
        decision: Decision::Accept,
        client: "test".into(),
        actor: bobbin_model::Actor::Owner,
    };
    let refused = answer(&thread, |reply| Command::Answer { answer: given, reply })
        .await
        .unwrap_err();
    assert!(is_full(&refused), "{refused}");
    assert_eq!(read(&thread).await.state.approvals().len(), 1, "it is open still");
    assert_eq!(place.engine.effects(), Vec::<String>::new());
    place.make_room();
    reader.next = thread.log().first();
    decide(&thread, &approval, Decision::Accept).await;
    let frames = reader.until_event("turnEnded").await;
    assert!(frames.iter().any(|frame| kind_of(frame) == "approvalResolved"));
    assert_eq!(place.engine.effects(), ["boil"]);
    place.threads.stop().await;
}

#[tokio::test]
async fn an_interrupted_turn_stops_at_once_and_is_recorded_when_there_is_room() {
    let place = Place::open().await;
    let thread = new_thread(&place.threads).await;
    let begun = start(&thread, "call boil\nwait\ncall pour").await;
    let mut reader = LogReader::at(&thread, begun.seq);
    reader
        .until(|frame| {
            matches!(recorded(frame), Some(Event::ItemAdded { item, .. })
                if matches!(item.body, ItemBody::ToolResult { .. }))
        })
        .await;
    place.fill();
    let interrupt = || {
        answer(&thread, |reply| Command::Interrupt {
            turn: String::new(),
            reply,
        })
    };
    let error = interrupt().await.unwrap_err();
    assert!(matches!(error, CoreError::StoppedNotStored(_)), "{error:?}");
    // The Turn waits for a record, and a second request does not change that.
    assert!(matches!(interrupt().await, Err(CoreError::StoppedNotStored(_))));
    place.engine.release();
    place.make_room();
    reader.next = thread.log().first();
    let frames = reader.until_event("turnEnded").await;
    assert!(frames.iter().all(|frame| kind_of(frame) != "turnRecovered"));
    let (turns, _) = place
        .threads
        .turns_of(&read(&thread).await, None, 9, usize::MAX)
        .await
        .unwrap();
    assert_eq!(turns[0].status, TurnStatus::Cancelled);
    assert_eq!(place.engine.effects(), ["boil"]);
    place.threads.stop().await;
}

#[tokio::test]
async fn a_server_ends_in_time_while_nothing_can_be_stored() {
    let place = Place::open().await;
    let thread = new_thread(&place.threads).await;
    let begun = start(&thread, "hang").await;
    LogReader::at(&thread, begun.seq).until_event("turnStarted").await;
    place.fill();
    rename(&thread, "x").await.unwrap_err();
    let ended = tokio::time::timeout(std::time::Duration::from_secs(5), place.threads.stop()).await;
    assert!(ended.is_ok());
}

#[tokio::test]
async fn nothing_is_shown_or_goes_on_while_another_process_may_be_the_holder() {
    let place = Place::open().await;
    let (working, idle) = (new_thread(&place.threads).await, new_thread(&place.threads).await);
    let id = working.id().clone();
    let started = start(&working, "call boil\nwait\nsay done").await;
    let mut reader = LogReader::at(&working, started.seq);
    reader
        .until(|frame| {
            matches!(recorded(frame), Some(Event::ItemAdded { item, .. })
                if matches!(item.body, ItemBody::ToolResult { .. }))
        })
        .await;
    place.lease.send_replace(Holding::Unsure);
    for thread in [&working, &idle] {
        while thread.ended().is_none() {
            tokio::task::yield_now().await;
        }
    }
    let refused = place.threads.thread(&id).await.err().unwrap();
    assert!(matches!(&refused, CoreError::Store(source) if matches!(**source, StoreError::NotHeld)));
    place.engine.release();
    place.lease.send_replace(Holding::Until(Instant::now()));
    let ended = async {
        loop {
            let thread = place.threads.thread(&id).await.unwrap();
            if read(&thread).await.state.live.is_none() {
                break thread;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    let thread = tokio::time::timeout(std::time::Duration::from_mins(3), ended)
        .await
        .unwrap();
    let turns = place
        .threads
        .turns_before(thread.id(), TurnId(u32::MAX), 9)
        .await
        .unwrap();
    assert_eq!(turns[0].status, TurnStatus::Completed);
    assert_eq!(place.engine.effects(), ["boil"]);
    place.threads.stop().await;
}
