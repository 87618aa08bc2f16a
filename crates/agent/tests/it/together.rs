//! Calls of one reply that only read, at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bobbin_agent_api::model::{Message, ModelEvent};
use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::{Event, Json, TurnStatus};
use bobbin_testkit::TestWorkspace;
use bobbin_tools::ToolSet;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{Bench, Script, Scripted, call, recorded, results, say};

/// A tool whose calls say how many of them run, wait until they are let go, and take no notice of being stopped.
struct Gate {
    spec: ToolSpec,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    open: Arc<Semaphore>,
    must_end: bool,
}

impl Gate {
    fn new(name: &str, effect: Effect) -> Self {
        Self {
            spec: ToolSpec {
                name: name.into(),
                description: "".into(),
                input_schema: Json::of(&json!({ "type": "object" })).unwrap(),
                effect,
            },
            running: Arc::default(),
            most: Arc::default(),
            open: Arc::new(Semaphore::new(0)),
            must_end: false,
        }
    }
}

impl Tool for Gate {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn must_end(&self) -> bool {
        self.must_end
    }

    fn prepare(&self, arguments: &Json, _: &ToolEnvironment) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        Ok(Box::new(Passing {
            text: arguments.get().to_owned(),
            running: self.running.clone(),
            most: self.most.clone(),
            open: self.open.clone(),
        }))
    }
}

struct Passing {
    text: String,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    open: Arc<Semaphore>,
}

impl PreparedCall for Passing {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn run(self: Box<Self>, _: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            self.open.acquire().await.unwrap().forget();
            // The first to be let go is the last to be done.
            let left = self.running.fetch_sub(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(left as u64 * 3)).await;
            ToolOutput {
                text: self.text,
                success: true,
                ..ToolOutput::default()
            }
        }
        .boxed()
    }
}

fn calls(tools: &[&str]) -> Vec<ModelEvent> {
    let calls = tools.iter().enumerate();
    calls
        .flat_map(|(number, tool)| call(&number.to_string(), tool, &json!({ "n": number })))
        .collect()
}

#[tokio::test]
async fn readers_run_together_up_to_a_bound_and_their_results_keep_the_order() {
    let workspace = TestWorkspace::default();
    let gate = Gate::new("look", Effect::Reads);
    let (running, most, open) = (gate.running.clone(), gate.most.clone(), gate.open.clone());
    let model = Scripted::new([Script::Reply(calls(&["look"; 12])), say("done")]);
    let bench = Bench::open(&workspace, model.clone(), ToolSet::new([Arc::new(gate) as _])).await;
    let mut log = bench.start("go").await;
    bench.until(|_| running.load(Ordering::SeqCst) == 8).await;
    // Each one's intent was on record before its effect.
    assert_eq!(
        bench
            .snapshot()
            .await
            .state
            .live
            .as_ref()
            .unwrap()
            .started_calls
            .len(),
        8
    );
    open.add_permits(12);
    let frames = log.end().await;
    let turn = bench.last_turn().await;
    let expected: Vec<_> = (0..12).map(|n| (format!("{{\"n\":{n}}}"), true)).collect();
    assert_eq!(results(&turn), expected);
    assert_eq!(
        (turn.status, most.load(Ordering::SeqCst)),
        (TurnStatus::Completed, 8)
    );
    let started = frames
        .iter()
        .filter(|frame| matches!(recorded(frame), Some(Event::CallStarted { .. })));
    assert_eq!(started.count(), 12);
    // The model reads them in the same order.
    let told = &model.asked()[1];
    let ids: Vec<_> = told
        .iter()
        .filter_map(|message| match message {
            Message::Result { call_id, .. } => Some(call_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        ids,
        ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]
    );
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_call_that_changes_something_waits_for_those_before_and_holds_those_behind() {
    let workspace = TestWorkspace::default();
    let (look, change) = (
        Gate::new("look", Effect::Reads),
        Gate::new("change", Effect::Writes),
    );
    let (looking, changing) = (look.running.clone(), change.running.clone());
    let (looks, changes) = (look.open.clone(), change.open.clone());
    let model = Scripted::new([
        Script::Reply(calls(&["look", "look", "change", "change", "look", "look"])),
        say("done"),
    ]);
    let tools = ToolSet::new([Arc::new(look) as _, Arc::new(change) as _]);
    let bench = Bench::open(&workspace, model, tools).await;
    bench.start("go").await;
    let count = |counter: &Arc<AtomicUsize>| counter.load(Ordering::SeqCst);
    let steps = [(2, 0), (0, 1), (0, 1), (2, 0)];
    for (readers, writers) in steps {
        bench
            .until(|_| (count(&looking), count(&changing)) == (readers, writers))
            .await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!((count(&looking), count(&changing)), (readers, writers));
        looks.add_permits(readers);
        changes.add_permits(writers);
        if writers == 1 {
            bench.until(|_| changes.available_permits() == 0).await;
        }
    }
    assert_eq!(results(&bench.last_turn().await).len(), 6);
    bench.threads.stop().await;
}

#[tokio::test]
async fn an_interrupt_ends_all_readers_even_those_that_do_not_listen() {
    let workspace = TestWorkspace::default();
    let gate = Gate::new("look", Effect::Reads);
    let running = gate.running.clone();
    let model = Scripted::new([Script::Reply(calls(&["look"; 8]))]);
    let bench = Bench::open(&workspace, model, ToolSet::new([Arc::new(gate) as _])).await;
    bench.start("go").await;
    bench.until(|_| running.load(Ordering::SeqCst) == 8).await;
    let began = std::time::Instant::now();
    bench.interrupt().await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Cancelled);
    // A hundred milliseconds, and what a busy machine takes.
    assert!(
        began.elapsed() < Duration::from_millis(600),
        "{:?}",
        began.elapsed()
    );
    bench.threads.stop().await;
}

#[tokio::test]
async fn an_interrupt_leaves_what_is_done_on_record_behind_one_that_does_not_end() {
    let workspace = TestWorkspace::default();
    let (stuck, look) = (
        Gate::new("stuck", Effect::Reads),
        Gate::new("look", Effect::Reads),
    );
    let (sticking, looking) = (stuck.running.clone(), look.running.clone());
    look.open.add_permits(2);
    let open = look.open.clone();
    let model = Scripted::new([Script::Reply(calls(&["stuck", "look", "look"]))]);
    let tools = ToolSet::new([Arc::new(stuck) as _, Arc::new(look) as _]);
    let bench = Bench::open(&workspace, model, tools).await;
    bench.start("go").await;
    let count = |counter: &Arc<AtomicUsize>| counter.load(Ordering::SeqCst);
    bench
        .until(|_| (count(&sticking), count(&looking), open.available_permits()) == (1, 0, 0))
        .await;
    bench.interrupt().await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Cancelled);
    let done: Vec<_> = results(&turn)
        .into_iter()
        .filter(|(_, success)| *success)
        .collect();
    assert_eq!(
        done,
        [("{\"n\":1}".to_owned(), true), ("{\"n\":2}".to_owned(), true)]
    );
    bench.threads.stop().await;
}

#[tokio::test]
async fn an_interrupt_waits_for_a_reader_whose_result_tells_what_it_did() {
    for many in [1, 2] {
        let workspace = TestWorkspace::default();
        let gate = Gate {
            must_end: true,
            ..Gate::new("start", Effect::Reads)
        };
        let (running, open) = (gate.running.clone(), gate.open.clone());
        let model = Scripted::new([Script::Reply(calls(&vec!["start"; many]))]);
        let bench = Bench::open(&workspace, model, ToolSet::new([Arc::new(gate) as _])).await;
        bench.start("go").await;
        bench.until(|_| running.load(Ordering::SeqCst) == many).await;
        bench.interrupt().await;
        // Longer than others have.
        tokio::time::sleep(Duration::from_millis(150)).await;
        open.add_permits(many);
        let turn = bench.last_turn().await;
        assert_eq!(turn.status, TurnStatus::Cancelled);
        let ended = results(&turn).into_iter().filter(|(_, success)| *success);
        assert_eq!(ended.count(), many);
        bench.threads.stop().await;
    }
}
