//! A stopped Turn does not go on, whatever happens before its end.

use std::sync::Arc;

use bobbin_agent_api::Once;
use bobbin_agent_api::TurnGone;
use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use bobbin_core::{Command, Threads};
use bobbin_model::state::NewThread;
use bobbin_model::{
    Event, HistoryMode, Identity, Seq, ThreadId, ThreadState, TurnId, TurnStatus, UnixMillis,
};
use bobbin_store::{Store, StoredEvent, Summary, Write};
use bobbin_store_sqlite::{Options, SqliteStore};
use bobbin_testkit::{ScriptEngine, TestWorkspace};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::support::{LogReader, answer, new_thread, prompt, read, start};

/// Writes a Thread with an open Turn as a killed server leaves it, plus the decisions of `more`.
async fn leave_behind(
    workspace: &TestWorkspace,
    more: impl FnOnce(&ThreadState, UnixMillis) -> Vec<Event>,
) -> ThreadId {
    let store = SqliteStore::open(&workspace.database(), Options::default())
        .await
        .unwrap();
    let (id, now) = (
        ThreadId::new("thread_20270104_abcdef"),
        UnixMillis(1_800_000_000_000),
    );
    let request = NewThread {
        id: id.clone(),
        identity: Identity {
            channel_name: "test".into(),
            ..Identity::default()
        },
        config: None,
        history_mode: HistoryMode::Server,
        display_name: None,
    };
    let started = request.decide("/srv", now).unwrap();
    let Event::ThreadStarted { thread } = &started else {
        panic!("it starts a thread");
    };
    let mut state = ThreadState::new((**thread).clone());
    let mut events = vec![started.clone()];
    for event in state.decide_start_turn(prompt("call brew"), now).unwrap() {
        state.apply(&event, now);
        events.push(event);
    }
    for event in more(&state, now) {
        state.apply(&event, now);
        events.push(event);
    }
    let stored: Vec<_> = (1..)
        .zip(events)
        .map(|(seq, event)| StoredEvent {
            seq: Seq(seq),
            at: now,
            event: Arc::new(event),
        })
        .collect();
    let write = Write {
        thread: id.clone(),
        owner: 1,
        state: Summary::of(&state, &stored),
        head_seq: Seq(stored.len() as u64),
        events: stored,
        text: vec![],
        remember: None,
        request: None,
        audit: Vec::new(),
    };
    store.submit(write).await.unwrap().await.unwrap();
    store.close().await;
    id
}

async fn ended(threads: &Arc<Threads>, id: &ThreadId) -> TurnStatus {
    let thread = threads.thread(id).await.unwrap();
    loop {
        let snapshot = read(&thread).await;
        if snapshot.state.live.is_none() {
            return threads
                .turns_of(&snapshot, None, usize::MAX, usize::MAX)
                .await
                .unwrap()
                .0[0]
                .status;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_stop_that_was_acknowledged_outlives_a_crash() {
    let workspace = TestWorkspace::default();
    let id = leave_behind(&workspace, |state, now| state.decide_cancel("enough", now)).await;
    let engine = ScriptEngine::default();
    let threads = workspace.open(Arc::new(engine.clone())).await;
    assert_eq!(ended(&threads, &id).await, TurnStatus::Cancelled);
    assert_eq!(engine.effects(), Vec::<String>::new());
    threads.stop().await;
}

#[tokio::test]
async fn a_turn_without_a_stop_on_record_goes_on_after_a_crash() {
    let workspace = TestWorkspace::default();
    let id = leave_behind(&workspace, |_, _| Vec::new()).await;
    let engine = ScriptEngine::default();
    let threads = workspace.open(Arc::new(engine.clone())).await;
    assert_eq!(ended(&threads, &id).await, TurnStatus::Completed);
    assert_eq!(engine.effects(), ["brew"]);
    threads.stop().await;
}

/// Notices the stop, and tries to start a call anyway.
struct Late(mpsc::Sender<Result<(), TurnGone>>);

impl Engine for Late {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        let tell = self.0.clone();
        async move {
            turn.cancelled().cancelled().await;
            tell.send(turn.start_call("late").await).await.ok();
            Ok(())
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_call_cannot_begin_once_the_turn_is_being_stopped() {
    let workspace = TestWorkspace::default();
    let (tell, mut told) = mpsc::channel(1);
    let threads = workspace.open(Arc::new(Late(tell))).await;
    let thread = new_thread(&threads).await;
    let begun = start(&thread, "anything").await;
    let turn = String::new();
    answer(&thread, |reply| Command::Interrupt { turn, reply })
        .await
        .unwrap();
    assert_eq!(told.recv().await, Some(Err(TurnGone)));
    let seen = LogReader::at(&thread, begun.seq).until_event("turnEnded").await;
    let kinds: Vec<_> = seen.iter().map(|frame| crate::support::kind_of(frame)).collect();
    assert!(kinds.contains(&"turnCancelling"), "{kinds:?}");
    assert!(!kinds.contains(&"callStarted"), "{kinds:?}");
    let snapshot = read(&thread).await;
    assert_eq!(snapshot.state.last_turn, TurnId(1));
    threads.stop().await;
}

/// Runs until the test releases it, and ignores the stop.
struct Deaf(Arc<tokio::sync::Semaphore>);

impl Engine for Deaf {
    fn run(&self, _turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        let gate = self.0.clone();
        async move {
            if let Ok(permit) = gate.acquire().await {
                permit.forget();
            }
            Ok(())
        }
        .boxed()
    }
}

/// A server that dies between both must find the Thread, and the deletion must not be recorded.
#[tokio::test]
async fn a_named_deletion_counts_as_done_when_the_thread_is_gone_and_no_sooner() {
    let workspace = TestWorkspace::default();
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let threads = workspace.open(Arc::new(Deaf(gate.clone()))).await;
    let thread = new_thread(&threads).await;
    let begun = start(&thread, "anything").await;
    let once = || Once::new("d", "thread/delete", "{}");
    let named = |reply| Command::Once {
        once: once(),
        command: Box::new(Command::Delete { reply }),
    };
    let deleting = answer(&thread, named);
    let meanwhile = async {
        LogReader::at(&thread, begun.seq)
            .until_event("turnCancelling")
            .await;
        let known = threads.carried_out(Some(thread.id()), &once()).await.unwrap();
        gate.add_permits(1);
        known
    };
    // Repeated while the first is being executed.
    let again = answer(&thread, named);
    let (done, known, again) = tokio::join!(deleting, meanwhile, again);
    assert_eq!((done.unwrap(), known), ((), None));
    again.unwrap();
    let known = threads.carried_out(Some(thread.id()), &once()).await.unwrap();
    assert_eq!(known.as_ref(), Some(thread.id()));
    threads.stop().await;
}
