//! Commands that agents left in the background (20.6, 21.5).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bobbin_agent_api::Once;
use bobbin_agent_api::terminal::{TerminalError, TerminalNews, TerminalReply, Terminals, Wait};
use bobbin_core::Threads;
use bobbin_model::{
    BackgroundReason, Terminal, TerminalChange, TerminalFacts, TerminalStatus, ThreadId, TurnId, UnixMillis,
};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use serde_json::{Value, json};

use crate::support::{Server, prompt};

/// Terminals with one command.
struct Hob {
    threads: Arc<Threads>,
    terminal: Mutex<Terminal>,
}

impl Hob {
    fn found(&self, id: &str) -> Result<Terminal, TerminalError> {
        let terminal = self.terminal.lock().unwrap().clone();
        (id == terminal.facts.id)
            .then_some(terminal)
            .ok_or_else(|| TerminalError::NotFound(id.to_owned()))
    }
}

impl Terminals for Hob {
    fn list(&self, _: Option<&ThreadId>) -> BoxFuture<'static, Vec<Terminal>> {
        ready(vec![self.terminal.lock().unwrap().clone()]).boxed()
    }

    fn read(
        &self,
        id: &str,
        _: Wait,
        _: Option<usize>,
    ) -> BoxFuture<'static, Result<Terminal, TerminalError>> {
        ready(self.found(id)).boxed()
    }

    fn write(
        &self,
        id: &str,
        _: String,
        _: Duration,
        _: Option<usize>,
        _: Option<Once>,
    ) -> BoxFuture<'static, Result<Terminal, TerminalError>> {
        ready(self.found(id)).boxed()
    }

    fn stop(&self, id: &str, reply: TerminalReply<Result<Terminal, TerminalError>>) {
        if let Err(error) = self.found(id) {
            return reply(Err(error));
        }
        let mut terminal = self.terminal.lock().unwrap();
        terminal.status = TerminalStatus::Killed;
        reply(Ok(terminal.clone()));
        let (change, terminal) = (TerminalChange::Completed, terminal.clone());
        self.threads
            .broadcasts()
            .send(TerminalNews { change, terminal }, 0);
    }

    fn clean(&self, _: &ThreadId, reply: TerminalReply<Vec<Terminal>>) -> BoxFuture<'static, ()> {
        reply(Vec::new());
        ready(()).boxed()
    }
}

#[tokio::test]
async fn jobs_are_listed_read_killed_and_sent_when_they_change() {
    let mut server = Server::start().await;
    let mut client = server.editor().await;
    prompt(&mut client, json!({ "chatId": "c", "message": "say one" })).await;
    client
        .call("chat/update", json!({ "chatId": "c", "title": "Tea" }))
        .await;
    let chats = server.threads.list(bobbin_core::ListFilter {
        workspace_path: server.root().to_string_lossy().into_owned(),
        channel_context: Some("eca:c".to_owned()),
        ..bobbin_core::ListFilter::default()
    });
    let thread = chats.await.unwrap()[0].header.id.clone();
    let facts = TerminalFacts {
        id: "term_1".to_owned(),
        thread,
        turn: TurnId(1),
        call: "call".to_owned(),
        command: "npm run dev\nmore".to_owned(),
        working_directory: "/".to_owned(),
        sandboxed: true,
        started_at: UnixMillis(0),
        reason: BackgroundReason::Requested,
        output_path: String::new(),
    };
    let terminal = Terminal {
        facts: Arc::new(facts),
        status: TerminalStatus::Running,
        exit_code: None,
        completed_at: None,
        wall_time_ms: 65_000,
        output: "one\ntwo\n".to_owned(),
        output_chars: 8,
        truncated: false,
    };
    server.terminals = Some(Arc::new(Hob {
        threads: server.threads.clone(),
        terminal: Mutex::new(terminal),
    }));
    let mut client = server.editor().await;
    let jobs = client.call("jobs/list", json!(null)).await;
    assert_eq!(
        jobs["jobs"][0],
        json!({ "id": "term_1", "type": "shell", "status": "running", "label": "npm run dev…",
            "startedAt": "1970-01-01T00:00:00Z", "elapsed": "1m5s", "chatId": "c", "chatLabel": "Tea" })
    );
    let output = client.call("jobs/readOutput", json!({ "jobId": "term_1" })).await;
    assert_eq!(output["lines"][1], json!({ "text": "two", "stream": "stdout" }));
    client.error("jobs/readOutput", json!({ "jobId": "none" })).await;
    let killed = |result: Value| result["killed"].clone();
    assert_eq!(
        killed(client.call("jobs/kill", json!({ "jobId": "none" })).await),
        false
    );
    assert_eq!(
        killed(client.call("jobs/kill", json!({ "jobId": "term_1" })).await),
        true
    );
    assert_eq!(
        killed(client.call("jobs/kill", json!({ "jobId": "term_1" })).await),
        false
    );
    let updated = client.wait_for("jobs/updated").await;
    assert_eq!(updated["params"]["jobs"][0]["status"], "killed");
}
