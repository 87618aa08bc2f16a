//! Files as the client's editor has them: `fs/read_text_file` and `fs/write_text_file`.
//!
//! A connection is the editor of the Threads that it has open, in memory only. Tools use it for text files in the
//! workspace, and their own file system where it fails. A write that it refuses is not done elsewhere. Commands never run in the client's terminals: they run in our
//! sandbox.

use std::sync::Arc;
use std::time::Duration;

use bobbin_acp_wire::{ReadTextFileParams, ReadTextFileResult, WriteTextFileParams, method};
use bobbin_agent_api::client::{
    Answered, ClientFailure, ClientToolCall, Clients, Editor, EditorCan, Service, ThreadClient,
};
use bobbin_model::{ThreadId, ToolAnswer};
use bobbin_peer::{CallError, ErrorObject, PeerHandle, Phase, code};
use bobbin_session::client_failure;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::dialect::Acp;

/// Time that an editor has to answer.
const LIMIT: Duration = Duration::from_secs(10);

/// The editor of one connection.
pub(crate) struct Files {
    peer: PeerHandle,
    acp: Arc<Acp>,
}

impl Files {
    pub(crate) fn new(peer: PeerHandle, acp: Arc<Acp>) -> Arc<Self> {
        Arc::new(Self { peer, acp })
    }

    /// Makes the connection the editor of a Thread, if it can read or write files.
    pub(crate) fn serve(self: &Arc<Self>, clients: &Clients, thread: &ThreadId) {
        if self.can() != EditorCan::default() {
            let client: Arc<dyn ThreadClient> = self.clone();
            clients.bind(thread, Service::Editor, &client);
        }
    }

    /// Ends the work for a Thread.
    pub(crate) fn close(self: &Arc<Self>, clients: &Clients, thread: &ThreadId) {
        let client: Arc<dyn ThreadClient> = self.clone();
        clients.unbind(thread, &client);
    }

    /// Ends the work for every Thread: the connection is gone.
    pub(crate) fn leave(self: Arc<Self>, clients: &Clients) {
        let client: Arc<dyn ThreadClient> = self;
        clients.leave(&client);
    }

    async fn ask(&self, method: &str, params: impl Serialize + Send) -> Result<Box<RawValue>, CallError> {
        self.peer.call_raw(method, params, Some(LIMIT)).await
    }
}

impl ThreadClient for Files {
    fn is_there(&self) -> bool {
        self.peer.phase() == Phase::Active
    }

    fn run_tool(&self, _: ClientToolCall) -> BoxFuture<'_, Answered<ToolAnswer>> {
        ready(Err(ClientFailure::Refused("the client runs no tools".to_owned()))).boxed()
    }

    fn editor(&self) -> Option<&dyn Editor> {
        (self.can() != EditorCan::default()).then_some(self)
    }
}

/// Returns the reason why a file was not written. An editor that knows the method and answers with an error refuses.
fn not_written(error: CallError) -> ClientFailure {
    let error = match error {
        CallError::Remote(error) if error.code != code::METHOD_NOT_FOUND => error,
        error => return client_failure(error),
    };
    let said = ErrorObject::new(error.code, with_details(&error));
    match client_failure(CallError::Remote(said)) {
        ClientFailure::Refused(why) => ClientFailure::Forbidden(why),
        failure => failure,
    }
}

/// Returns the text of an error, with the `details` of its data: some programs have only a general message.
fn with_details(error: &ErrorObject) -> String {
    #[derive(Deserialize)]
    struct Data {
        details: String,
    }
    let data = error.data.as_ref();
    let data = data.and_then(|data| serde_json::from_str(data.get()).ok());
    match data {
        Some(Data { details }) => format!("{}: {details}", error.message),
        None => error.message.to_string(),
    }
}

/// The answer to everything about terminals.
fn no_terminals<T>() -> Answered<T> {
    Err(ClientFailure::Refused("commands run in the sandbox".to_owned()))
}

impl Editor for Files {
    fn can(&self) -> EditorCan {
        let fs = self.acp.capabilities.lock().fs;
        EditorCan {
            read: fs.read_text_file,
            write: fs.write_text_file,
            terminals: false,
        }
    }

    fn read<'a>(
        &'a self,
        thread: &'a ThreadId,
        path: &'a str,
        first: Option<u64>,
        limit: Option<u64>,
    ) -> BoxFuture<'a, Answered<String>> {
        let number = |number: Option<u64>| number.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        async move {
            let params = ReadTextFileParams {
                session_id: thread.to_string(),
                path: path.to_owned(),
                line: number(first),
                limit: number(limit),
            };
            let answer = self.ask(method::FS_READ_TEXT_FILE, params).await;
            let answer = answer.map_err(client_failure)?;
            let read: Result<ReadTextFileResult, _> = serde_json::from_str(answer.get());
            read.map(|read| read.content)
                .map_err(|error| ClientFailure::Unusable(error.to_string()))
        }
        .boxed()
    }

    fn write<'a>(
        &'a self,
        thread: &'a ThreadId,
        path: &'a str,
        content: &'a str,
    ) -> BoxFuture<'a, Answered<()>> {
        async move {
            let params = WriteTextFileParams {
                session_id: thread.to_string(),
                path: path.to_owned(),
                content: content.to_owned(),
            };
            let answer = self.ask(method::FS_WRITE_TEXT_FILE, params).await;
            // Some clients answer with an object, some with null.
            answer.map(drop).map_err(not_written)
        }
        .boxed()
    }

    fn start<'a>(&'a self, _: &'a ThreadId, _: &'a str, _: &'a str) -> BoxFuture<'a, Answered<String>> {
        ready(no_terminals()).boxed()
    }

    fn wait<'a>(&'a self, _: &'a ThreadId, _: &'a str, _: Duration) -> BoxFuture<'a, Answered<Option<i64>>> {
        ready(no_terminals()).boxed()
    }

    fn output<'a>(&'a self, _: &'a ThreadId, _: &'a str) -> BoxFuture<'a, Answered<(String, Option<i64>)>> {
        ready(no_terminals()).boxed()
    }

    fn kill<'a>(&'a self, _: &'a ThreadId, _: &'a str) -> BoxFuture<'a, Answered<()>> {
        ready(no_terminals()).boxed()
    }

    fn release<'a>(&'a self, _: &'a ThreadId, _: &'a str) -> BoxFuture<'a, Answered<()>> {
        ready(no_terminals()).boxed()
    }
}
