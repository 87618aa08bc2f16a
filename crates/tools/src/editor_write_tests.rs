//! Tests of unclear outcomes: files that an editor may have written, terminals that open too late.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::client::{Answered, ClientToolCall, Clients, Editor, EditorCan, Service, ThreadClient};
use bobbin_agent_api::tool::{Tool, ToolEnvironment};
use bobbin_model::{CommandStatus, ThreadId, ToolAnswer};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rstest::rstest;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::edit_file::EditFile;
use crate::editor::TerminalLimits;
use crate::testing::{Workspace, write_file};

/// An editor with scripted answers.
struct Far {
    /// The file's content after a write, and the answer to the write.
    left: Option<&'static str>,
    answer: Answered<()>,
    /// The editor's version of a file.
    has: &'static str,
    /// The requests that it never answers.
    silent: &'static [&'static str],
    /// A permit allows one terminal to open.
    opens: Semaphore,
    asked: Mutex<Vec<String>>,
}

impl Far {
    fn new(left: Option<&'static str>, answer: Answered<()>) -> Self {
        Self {
            left,
            answer,
            has: "old\n",
            silent: &[],
            opens: Semaphore::new(0),
            asked: Mutex::default(),
        }
    }

    fn asked(&self, what: &str, whose: &str) -> BoxFuture<'static, Answered<()>> {
        self.asked.lock().push(format!("{what} {whose}"));
        std::future::ready(Ok(())).boxed()
    }
}

impl ThreadClient for Far {
    fn is_there(&self) -> bool {
        true
    }

    fn run_tool(&self, _: ClientToolCall) -> BoxFuture<'_, Answered<ToolAnswer>> {
        std::future::ready(Err(ClientFailure::Gone)).boxed()
    }

    fn editor(&self) -> Option<&dyn Editor> {
        Some(self)
    }
}

impl Editor for Far {
    fn can(&self) -> EditorCan {
        EditorCan {
            read: true,
            write: true,
            terminals: true,
        }
    }

    fn read<'a>(
        &'a self,
        _: &'a ThreadId,
        _: &'a str,
        _: Option<u64>,
        _: Option<u64>,
    ) -> BoxFuture<'a, Answered<String>> {
        if self.silent.contains(&"read") {
            return std::future::pending().boxed();
        }
        std::future::ready(Ok(self.has.to_owned())).boxed()
    }

    fn write<'a>(&'a self, _: &'a ThreadId, path: &'a str, _: &'a str) -> BoxFuture<'a, Answered<()>> {
        if let Some(left) = self.left {
            std::fs::write(path, left).unwrap();
        }
        if self.silent.contains(&"write") {
            return std::future::pending().boxed();
        }
        std::future::ready(self.answer.clone()).boxed()
    }

    fn start<'a>(&'a self, _: &'a ThreadId, _: &'a str, _: &'a str) -> BoxFuture<'a, Answered<String>> {
        async move {
            self.asked.lock().push("start".to_owned());
            self.opens.acquire().await.unwrap().forget();
            Ok("t-1".to_owned())
        }
        .boxed()
    }

    fn wait<'a>(&'a self, _: &'a ThreadId, _: &'a str, _: Duration) -> BoxFuture<'a, Answered<Option<i64>>> {
        self.asked.lock().push("wait".to_owned());
        std::future::pending().boxed()
    }

    fn output<'a>(&'a self, _: &'a ThreadId, _: &'a str) -> BoxFuture<'a, Answered<(String, Option<i64>)>> {
        std::future::ready(Ok(("half".to_owned(), None))).boxed()
    }

    fn kill<'a>(&'a self, _: &'a ThreadId, terminal: &'a str) -> BoxFuture<'a, Answered<()>> {
        self.asked("kill", terminal)
    }

    fn release<'a>(&'a self, _: &'a ThreadId, terminal: &'a str) -> BoxFuture<'a, Answered<()>> {
        self.asked("release", terminal)
    }
}

struct Bench {
    workspace: Workspace,
    environment: ToolEnvironment,
    path: PathBuf,
    far: Arc<Far>,
}

impl Bench {
    fn new(far: Far) -> Self {
        let workspace = Workspace::new();
        workspace.write("f", "old\n");
        let (clients, thread) = (Arc::new(Clients::default()), ThreadId::new("t"));
        let far = Arc::new(far);
        let client: Arc<dyn ThreadClient> = far.clone();
        clients.bind(&thread, Service::Editor, &client);
        Self {
            environment: ToolEnvironment {
                clients: clients.of(&thread),
                ..workspace.environment()
            },
            path: workspace.root().join("f"),
            workspace,
            far,
        }
    }

    async fn call(&self, tool: &dyn Tool, arguments: serde_json::Value) -> ToolOutput {
        let prepared = tool
            .prepare(&Workspace::json(&arguments), &self.environment)
            .unwrap();
        prepared.run(Workspace::context()).await
    }
}

fn late() -> ClientFailure {
    ClientFailure::Late(Duration::from_secs(30))
}

fn unusable() -> ClientFailure {
    ClientFailure::Unusable("no".to_owned())
}

#[rstest]
#[case::written_and_not_told(Some("new\n"), late(), "new\n", "replaced f")]
#[case::written_before_it_left(Some("new\n"), ClientFailure::Gone, "new\n", "replaced f")]
#[case::it_may_still_come(None, late(), "old\n", "it is not known whether the editor wrote f")]
#[case::nothing_can_come_any_more(None, ClientFailure::Gone, "new\n", "replaced f")]
#[case::an_answer_and_no_change(None, unusable(), "new\n", "replaced f")]
#[case::it_cannot(None, ClientFailure::Refused("no".to_owned()), "new\n", "replaced f")]
#[case::somebody_changed_it(
    Some("mine\n"),
    ClientFailure::Gone,
    "mine\n",
    "neither as it was nor as it should be"
)]
#[case::half_of_it(Some("ne"), unusable(), "ne", "neither as it was nor as it should be")]
#[tokio::test]
async fn a_file_that_an_editor_may_have_written_is_looked_at_and_not_written_twice(
    #[case] left: Option<&'static str>,
    #[case] failure: ClientFailure,
    #[case] now: &str,
    #[case] said: &str,
) {
    let bench = Bench::new(Far::new(left, Err(failure.clone())));
    let output = bench
        .call(&write_file(), json!({ "path": "f", "content": "new\n" }))
        .await;
    assert!(output.text.contains(said), "{failure}: {}", output.text);
    assert_eq!(output.success, said.starts_with("replaced"));
    assert_eq!(bench.workspace.read("f"), now, "{failure}");
    let is_written_here = left.is_none() && output.success;
    let note = format!("; the editor did not write it ({failure}), so it was written on disk");
    assert_eq!(output.text.contains(&note), is_written_here, "{}", output.text);
    // The change of the file is reported all the same.
    assert_eq!(output.changed[0].path, bench.path);
    assert_eq!(output.changed[0].before.as_deref(), Some(&b"old\n"[..]));
}

#[rstest]
#[case(&["write"], None, "WriteFile", false, "the turn was cancelled): the file is as it was")]
#[case(&["write"], None, "EditFile", false, "the turn was cancelled): the file is as it was")]
#[case(&["write"], Some("new\n"), "WriteFile", true, "replaced f")]
#[case(&["read"], None, "EditFile", false, "the turn was cancelled before f was changed")]
#[tokio::test]
async fn a_cancelled_call_waits_for_no_editor(
    #[case] silent: &'static [&'static str],
    #[case] left: Option<&'static str>,
    #[case] tool: &str,
    #[case] success: bool,
    #[case] said: &str,
) {
    let bench = Bench::new(Far {
        silent,
        ..Far::new(left, Ok(()))
    });
    let (tool, arguments): (Box<dyn Tool>, _) = match tool {
        "EditFile" => (
            Box::new(EditFile::new(FileWork::new())),
            json!({ "path": "f", "oldText": "old", "newText": "new" }),
        ),
        _ => (Box::new(write_file()), json!({ "path": "f", "content": "new\n" })),
    };
    let prepared = tool
        .prepare(&Workspace::json(&arguments), &bench.environment)
        .unwrap();
    let context = Workspace::context();
    context.cancel.cancel();
    let output = prepared.run(context).await;
    assert!(output.text.contains(said), "{}", output.text);
    assert_eq!(output.success, success);
    assert_eq!(bench.workspace.read("f"), left.unwrap_or("old\n"));
}

#[tokio::test]
async fn what_an_editor_forbids_is_not_written_here() {
    let refusal = ClientFailure::Forbidden("the file is locked".to_owned());
    let bench = Bench::new(Far::new(None, Err(refusal)));
    let write = json!({ "path": "f", "content": "new\n" });
    let edit = json!({ "path": "f", "oldText": "old", "newText": "new" });
    let edit_file = EditFile::new(FileWork::new());
    for output in [
        bench.call(&write_file(), write).await,
        bench.call(&edit_file, edit).await,
    ] {
        assert_eq!(
            output.text,
            "the editor refused to write f, and nothing was written: the file is locked"
        );
        assert!(!output.success && output.changed.is_empty());
        assert_eq!(bench.workspace.read("f"), "old\n");
    }
}

#[rstest]
#[case("old\n", true, "new\n")]
// The editor may have the file with unsaved changes.
#[case("old\nunsaved\n", false, "old\n")]
#[tokio::test]
async fn an_edit_that_an_editor_has_not_made_is_made_here_where_it_means_the_same(
    #[case] has: &'static str,
    #[case] success: bool,
    #[case] now: &str,
) {
    let bench = Bench::new(Far {
        has,
        ..Far::new(None, Err(unusable()))
    });
    let arguments = json!({ "path": "f", "oldText": "old", "newText": "new" });
    let output = bench.call(&EditFile::new(FileWork::new()), arguments).await;
    assert_eq!(output.success, success, "{}", output.text);
    let note = "the editor did not write it (";
    assert_eq!(output.text.contains(note), success, "{}", output.text);
    assert_eq!(bench.workspace.read("f"), now);
}

fn limits() -> TerminalLimits {
    TerminalLimits {
        time: Duration::from_mins(2),
        captured: 100,
        for_model: 100,
    }
}

/// Waits until the editor got this request.
async fn until(far: &Far, what: &str) {
    while !far.asked.lock().iter().any(|asked| asked == what) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_terminal_that_opens_after_its_turn_is_ended_and_given_back() {
    let bench = Bench::new(Far::new(None, Ok(())));
    let editor = EditorOf::find(&bench.environment.clients, |can| can.terminals).unwrap();
    let cancel = CancellationToken::new();
    let root = bench.workspace.root();
    let running = editor.run("make", root, limits(), &cancel);
    tokio::pin!(running);
    tokio::select! {
        _ = &mut running => panic!("it has begun"),
        () = until(&bench.far, "start") => {}
    }
    cancel.cancel();
    // The Turn does not wait for it.
    let output = running.await.unwrap();
    assert_eq!(output.command.unwrap().status, CommandStatus::Cancelled);
    assert_eq!(*bench.far.asked.lock(), ["start"]);
    bench.far.opens.add_permits(1);
    until(&bench.far, "release t-1").await;
    assert_eq!(*bench.far.asked.lock(), ["start", "kill t-1", "release t-1"]);
}

#[tokio::test(start_paused = true)]
async fn a_terminal_is_given_back_when_nobody_takes_its_end() {
    let bench = Bench::new(Far::new(None, Ok(())));
    bench.far.opens.add_permits(1);
    let editor = EditorOf::find(&bench.environment.clients, |can| can.terminals).unwrap();
    let cancel = CancellationToken::new();
    let root = bench.workspace.root();
    tokio::select! {
        _ = editor.run("make", root, limits(), &cancel) => panic!("it has ended"),
        () = until(&bench.far, "wait") => {}
    }
    until(&bench.far, "release t-1").await;
    assert_eq!(
        *bench.far.asked.lock(),
        ["start", "wait", "kill t-1", "release t-1"]
    );
}
