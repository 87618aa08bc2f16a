//! What a call gets ready while people are asked about it, and what becomes of that.

use std::sync::Arc;
use std::time::Duration;

use bobbin_core::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_engine::ToolSet;
use bobbin_model::{ApprovalKind, Decision, Json, Scope};
use bobbin_testkit::TestWorkspace;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;

use crate::support::{Bench, Script, Scripted, call, say};

/// What has become of a call, in order.
type Notes = Arc<Mutex<Vec<&'static str>>>;

/// A tool whose calls note what is done with them.
struct Kettle {
    spec: ToolSpec,
    permission: Permission,
    notes: Notes,
}

impl Tool for Kettle {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, _: &Json, _: &ToolEnvironment) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        Ok(Box::new(Boil(self.permission.clone(), self.notes.clone())))
    }
}

struct Boil(Permission, Notes);

impl PreparedCall for Boil {
    fn permission(&self) -> Permission {
        self.0.clone()
    }

    fn get_ready(&mut self) -> BoxFuture<'_, ()> {
        self.1.lock().push("ready");
        std::future::ready(()).boxed()
    }

    fn let_go(&mut self) {
        self.1.lock().push("let go");
    }

    fn run(self: Box<Self>, _: CallContext) -> BoxFuture<'static, ToolOutput> {
        self.1.lock().push("run");
        std::future::ready(ToolOutput::default()).boxed()
    }
}

impl Drop for Boil {
    fn drop(&mut self) {
        self.1.lock().push("gone");
    }
}

/// Opens a core with a model that calls the tool once, and returns what becomes of the call.
async fn open(workspace: &TestWorkspace, permission: Permission) -> (Bench, Notes) {
    let notes = Notes::default();
    let kettle = Kettle {
        spec: ToolSpec {
            name: "kettle".into(),
            description: "".into(),
            input_schema: Json::of(&json!({ "type": "object" })).unwrap(),
            effect: Effect::Writes,
        },
        permission,
        notes: notes.clone(),
    };
    let model = Scripted::new([Script::Reply(call("1", "kettle", &json!({}))), say("Done.")]);
    let bench = Bench::open(workspace, model, ToolSet::new([Arc::new(kettle) as _])).await;
    (bench, notes)
}

fn ask() -> Permission {
    Permission::Ask {
        scope: Scope::new(ApprovalKind::Shell, "boil", "pot"),
        reason: "It gets hot.".into(),
    }
}

async fn until(notes: &Notes, wanted: &[&str]) {
    let reached = async {
        while *notes.lock() != wanted {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let reached = tokio::time::timeout(Duration::from_secs(20), reached).await;
    assert!(reached.is_ok(), "{:?}", notes.lock());
}

#[tokio::test]
async fn a_call_that_nobody_is_asked_about_gets_ready_and_runs() {
    let workspace = TestWorkspace::default();
    let (bench, notes) = open(&workspace, Permission::Free).await;
    bench.run("go").await;
    assert_eq!(*notes.lock(), ["ready", "run", "gone"]);
    bench.hub.stop().await;
}

#[tokio::test]
async fn what_is_ready_while_people_think_is_looked_at_again_or_taken_back() {
    for (decision, after) in [
        (Decision::Accept, &["ready", "ready", "run", "gone"][..]),
        (Decision::Decline, &["ready", "gone"]),
        (Decision::Cancel, &["ready", "gone"]),
    ] {
        let workspace = TestWorkspace::default();
        let (bench, notes) = open(&workspace, ask()).await;
        let mut log = bench.start("go").await;
        let approval = log.until_asked().await;
        until(&notes, &["ready"]).await;
        bench.decide(&approval, decision).await;
        log.end().await;
        until(&notes, after).await;
        bench.hub.stop().await;
    }
}

#[tokio::test]
async fn an_interrupt_takes_back_what_is_ready() {
    let workspace = TestWorkspace::default();
    let (bench, notes) = open(&workspace, ask()).await;
    let mut log = bench.start("go").await;
    log.until_asked().await;
    until(&notes, &["ready"]).await;
    bench.interrupt().await;
    log.end().await;
    until(&notes, &["ready", "gone"]).await;
    bench.hub.stop().await;
}

#[tokio::test]
async fn nothing_stays_ready_for_somebody_who_is_not_there() {
    let workspace = TestWorkspace::default();
    let (bench, notes) = open(&workspace, ask()).await;
    let mut log = bench.start("go").await;
    let approval = log.until_asked().await;
    until(&notes, &["ready"]).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_mins(5)).await;
    tokio::time::resume();
    until(&notes, &["ready", "let go"]).await;
    bench.decide(&approval, Decision::Accept).await;
    log.end().await;
    until(&notes, &["ready", "let go", "ready", "run", "gone"]).await;
    bench.hub.stop().await;
}
