//! The requests that the server sends to a client for its Threads (AppServer protocol 04 §7 and §8).
//!
//! There is one for each connection that has finished its handshake. Every request has a time limit, and fails at once
//! when the connection ends. A connection serves at most [`MAX_SERVED`] Threads. With more, it stops serving the
//! oldest, which a resume starts again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::client::{
    Answered, ClientFailure, ClientToolCall, Clients, Editor, EditorCan, Service, ThreadClient,
};
use bobbin_model::{ThreadId, ThreadState, ToolAnswer};
use bobbin_native_wire::handshake::capabilities::AcpExtensions;
use bobbin_native_wire::handshake::types::EmptyResult;
use bobbin_native_wire::lenient;
use bobbin_native_wire::serving::types::{
    AcpReadTextFileParams, AcpReadTextFileResult, AcpTerminalCreateParams, AcpTerminalCreateResult,
    AcpTerminalOutputResult, AcpTerminalParams, AcpTerminalWaitParams, AcpTerminalWaitResult,
    AcpWriteTextFileParams, AcpWriteTextFileResult, ToolCallParams,
};
use bobbin_peer::{PeerHandle, Phase};
use bobbin_session::{Session, client_failure};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::dynamic;
use crate::groups::item::ITEM_TOOL_CALL;
use crate::groups::serving::{
    EXT_ACP_FS_READ_TEXT_FILE, EXT_ACP_FS_WRITE_TEXT_FILE, EXT_ACP_TERMINAL_CREATE,
    EXT_ACP_TERMINAL_GET_OUTPUT, EXT_ACP_TERMINAL_KILL, EXT_ACP_TERMINAL_RELEASE,
    EXT_ACP_TERMINAL_WAIT_FOR_EXIT,
};

/// Time that a client has to run a tool (04).
const TOOL_LIMIT: Duration = Duration::from_mins(2);
/// Longest wait until the events before a call are written.
const TELL_LIMIT: Duration = Duration::from_secs(10);
/// Time that an editor has to answer (04).
const EDITOR_LIMIT: Duration = Duration::from_secs(30);
/// Time that an editor has beyond a command's own limit.
const WAIT_MARGIN: Duration = Duration::from_secs(5);
/// Limit of Threads that one connection serves (a guess: more than a user opens in a day).
const MAX_SERVED: usize = 1024;

/// The origin of the tools of a Thread that a connection starts to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tools {
    /// This connection declared them with its request.
    Brought,
    /// They were declared before, perhaps by another client, which serves them while it is connected.
    Known,
}

/// One connection, as it serves its Threads.
pub(crate) struct Serving {
    peer: PeerHandle,
    session: Arc<Session>,
    can: EditorCan,
    served: Mutex<VecDeque<ThreadId>>,
}

impl Serving {
    pub(crate) fn new(peer: PeerHandle, session: Arc<Session>, editor: Option<&AcpExtensions>) -> Arc<Self> {
        let can = editor.map_or_else(EditorCan::default, |editor| EditorCan {
            read: editor.fs_read_text_file,
            write: editor.fs_write_text_file,
            terminals: editor.terminal_create,
        });
        Arc::new(Self {
            peer,
            session,
            can,
            served: Mutex::default(),
        })
    }

    /// Starts to serve a Thread that this connection started or resumed.
    pub(crate) fn serve(self: &Arc<Self>, clients: &Clients, thread: &ThreadState, tools_are: Tools) {
        let tools = !thread.tools.is_empty();
        let editor = self.editor().is_some();
        if !tools && !editor {
            return;
        }
        let client: Arc<dyn ThreadClient> = self.clone();
        let id = &thread.header.id;
        let dropped = {
            let mut served = self.served.lock();
            served.retain(|known| known != id);
            served.push_back(id.clone());
            if served.len() > MAX_SERVED {
                served.pop_front()
            } else {
                None
            }
        };
        if let Some(dropped) = dropped {
            tracing::debug!(thread = %dropped, "a connection serves too many threads; its oldest is given up");
            clients.unbind(&dropped, &client);
        }
        match tools_are {
            _ if !tools => {}
            Tools::Brought => clients.bind(id, Service::Tools, &client),
            Tools::Known => clients.take_over(id, Service::Tools, &client),
        }
        if editor {
            clients.bind(id, Service::Editor, &client);
        }
    }

    /// Stops serving every Thread: the connection is gone.
    pub(crate) fn leave(self: Arc<Self>, clients: &Clients) {
        let client: Arc<dyn ThreadClient> = self;
        clients.leave(&client);
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize + Send,
        limit: Duration,
    ) -> Answered<T> {
        let answer = self.peer.call_raw(method, params, Some(limit)).await;
        let answer = answer.map_err(client_failure)?;
        lenient::result(&answer).map_err(|error| ClientFailure::Unusable(error.to_string()))
    }
}

impl ThreadClient for Serving {
    fn is_there(&self) -> bool {
        self.peer.phase() == Phase::Active
    }

    fn run_tool(&self, call: ClientToolCall) -> BoxFuture<'_, Answered<ToolAnswer>> {
        async move {
            // The call's Item comes first (04 §7). A client that does not read is called all the same, and times out.
            drop(tokio::time::timeout(TELL_LIMIT, self.session.flushed(&call.thread)).await);
            let params = ToolCallParams {
                thread_id: call.thread.to_string(),
                turn_id: call.turn.to_string(),
                call_id: call.call_id,
                namespace: call.namespace,
                tool: call.tool,
                arguments: call.arguments,
            };
            let result = self.ask(ITEM_TOOL_CALL, params, TOOL_LIMIT).await?;
            dynamic::answer_in(result).map_err(ClientFailure::Unusable)
        }
        .boxed()
    }

    fn editor(&self) -> Option<&dyn Editor> {
        (self.can != EditorCan::default()).then_some(self)
    }
}

impl Editor for Serving {
    fn can(&self) -> EditorCan {
        self.can
    }

    fn read<'a>(
        &'a self,
        thread: &'a ThreadId,
        path: &'a str,
        first: Option<u64>,
        limit: Option<u64>,
    ) -> BoxFuture<'a, Answered<String>> {
        async move {
            let params = AcpReadTextFileParams {
                thread_id: thread.to_string(),
                path: path.to_owned(),
                offset: first,
                limit,
            };
            let result: AcpReadTextFileResult =
                self.ask(EXT_ACP_FS_READ_TEXT_FILE, params, EDITOR_LIMIT).await?;
            Ok(result.content)
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
            let params = AcpWriteTextFileParams {
                thread_id: thread.to_string(),
                path: path.to_owned(),
                content: content.to_owned(),
            };
            let result: AcpWriteTextFileResult =
                self.ask(EXT_ACP_FS_WRITE_TEXT_FILE, params, EDITOR_LIMIT).await?;
            if result.success {
                Ok(())
            } else {
                Err(ClientFailure::Refused("the editor did not write it".to_owned()))
            }
        }
        .boxed()
    }

    fn start<'a>(
        &'a self,
        thread: &'a ThreadId,
        command: &'a str,
        directory: &'a str,
    ) -> BoxFuture<'a, Answered<String>> {
        async move {
            let params = AcpTerminalCreateParams {
                thread_id: thread.to_string(),
                command: command.to_owned(),
                cwd: Some(directory.to_owned()),
                env: None,
            };
            let result: AcpTerminalCreateResult =
                self.ask(EXT_ACP_TERMINAL_CREATE, params, EDITOR_LIMIT).await?;
            Ok(result.terminal_id)
        }
        .boxed()
    }

    fn wait<'a>(
        &'a self,
        thread: &'a ThreadId,
        terminal: &'a str,
        limit: Duration,
    ) -> BoxFuture<'a, Answered<Option<i64>>> {
        async move {
            let seconds = limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
            let params = AcpTerminalWaitParams {
                thread_id: thread.to_string(),
                terminal_id: terminal.to_owned(),
                timeout: Some(seconds.max(1)),
            };
            let method = EXT_ACP_TERMINAL_WAIT_FOR_EXIT;
            let result: AcpTerminalWaitResult = self.ask(method, params, limit + WAIT_MARGIN).await?;
            Ok(result.exit_code)
        }
        .boxed()
    }

    fn output<'a>(
        &'a self,
        thread: &'a ThreadId,
        terminal: &'a str,
    ) -> BoxFuture<'a, Answered<(String, Option<i64>)>> {
        async move {
            let method = EXT_ACP_TERMINAL_GET_OUTPUT;
            let result: AcpTerminalOutputResult = self
                .ask(method, of_terminal(thread, terminal), EDITOR_LIMIT)
                .await?;
            Ok((result.output, result.exit_code))
        }
        .boxed()
    }

    fn kill<'a>(&'a self, thread: &'a ThreadId, terminal: &'a str) -> BoxFuture<'a, Answered<()>> {
        self.end(EXT_ACP_TERMINAL_KILL, thread, terminal).boxed()
    }

    fn release<'a>(&'a self, thread: &'a ThreadId, terminal: &'a str) -> BoxFuture<'a, Answered<()>> {
        self.end(EXT_ACP_TERMINAL_RELEASE, thread, terminal).boxed()
    }
}

impl Serving {
    async fn end(&self, method: &str, thread: &ThreadId, terminal: &str) -> Answered<()> {
        let params = of_terminal(thread, terminal);
        let _: EmptyResult = self.ask(method, params, EDITOR_LIMIT).await?;
        Ok(())
    }
}

fn of_terminal(thread: &ThreadId, terminal: &str) -> AcpTerminalParams {
    AcpTerminalParams {
        thread_id: thread.to_string(),
        terminal_id: terminal.to_owned(),
    }
}
