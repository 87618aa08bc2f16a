//! The server as the binary wires it, with one thing more: a model that streams by the clock.
//!
//! A prompt `stream COUNT GAP BYTES` makes it say so many pieces ([`crate::stamp`]), a gap in microseconds apart;
//! everything else is the offline model's. Core, store, agent loop, dialect and listener are the server's own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent::AgentEngine;
use bobbin_agent_api::model::{
    Message, Model, ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink, Stop,
};
use bobbin_agent_api::{Services, SystemClock};
use bobbin_children::{Children, Environment, Shell};
use bobbin_core::{Broadcasts, RandomIds, Settings, Threads};
use bobbin_model::InputPart;
use bobbin_native::group::Groups;
use bobbin_native::{Endpoint as NativeEndpoint, Server, serve as serve_native};
use bobbin_offline::Offline;
use bobbin_peer::Transport;
use bobbin_store_sqlite::{Options, SqliteStore};
use bobbin_subagents::WithSubAgents;
use bobbin_tools::ToolSet;
use bobbin_transport::{Access, Admission, Connections, Listener, Router, web_socket};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::stamp;

/// Longest message a client may send, as in the server.
const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// Where clients come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// One client, on this process's stdio.
    Stdio,
    /// A free loopback port, told in `.craft/appserver.lock`.
    WebSocket,
}

/// Serves a workspace until its input ends or it is killed.
///
/// # Errors
/// The database cannot be opened, or there is no port.
pub async fn serve(workspace: &Path, endpoint: Endpoint) -> anyhow::Result<()> {
    let root = workspace.canonicalize()?;
    let craft = root.join(".craft");
    std::fs::create_dir_all(&craft)?;
    let store = SqliteStore::open(&craft.join("bobbin.db"), Options::default()).await?;
    let tools = ToolSet::built_in(
        // No command is run for a benchmark that could outlive it: none needs a parent.
        Children::new(None),
        Environment::from_base(std::env::vars_os()),
        Shell::Posix,
    );
    let settings = Settings::new(root);
    let engine = Arc::new(AgentEngine::new(Arc::new(Clocked), tools));
    let engine = WithSubAgents::new(engine, settings.sub_agents);
    let broadcasts = Broadcasts::new(settings.log, Arc::new(SystemClock));
    let threads = Threads::new(
        settings,
        Arc::new(store),
        engine,
        broadcasts,
        Arc::new(RandomIds::default()),
    );
    threads.recover().await?;
    let services = Services {
        version: env!("CARGO_PKG_VERSION"),
        ..Services::default()
    };
    let native = Arc::new(Native(Arc::new(Server::new(
        threads.clone(),
        services,
        Groups::of(&[bobbin_native::GROUPS]),
    ))));
    match endpoint {
        Endpoint::Stdio => {
            native
                .through(bobbin_transport::stdio()?, NativeEndpoint::Stdio)
                .await;
        }
        Endpoint::WebSocket => {
            let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await?;
            let access = Access::new(listener.address(), Admission::default())?;
            let address = format!("ws://{}/ws", listener.address());
            crate::bare::announce(&craft.join("appserver.lock"), &address)?;
            let router = Router::new().route("/ws", web_socket(MAX_MESSAGE_BYTES, native));
            let is_ready = Arc::new(|| std::future::ready(true).boxed());
            listener
                .run(access, router, is_ready, CancellationToken::new())
                .await;
        }
    }
    threads.stop().await;
    Ok(())
}

struct Native(Arc<Server>);

impl Native {
    fn through(&self, transport: Transport, endpoint: NativeEndpoint) -> BoxFuture<'static, ()> {
        serve_native(transport, endpoint, self.0.clone()).boxed()
    }
}

impl Connections for Native {
    fn serve(&self, transport: Transport) -> BoxFuture<'static, ()> {
        self.through(transport, NativeEndpoint::WebSocket)
    }
}

/// What a prompt asks to be streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) count: usize,
    pub(crate) gap: Duration,
    pub(crate) bytes: usize,
}

impl Stream {
    /// Returns the prompt for it.
    pub(crate) fn prompt(self) -> String {
        format!("stream {} {} {}", self.count, self.gap.as_micros(), self.bytes)
    }

    /// Reads a prompt.
    pub(crate) fn read(prompt: &str) -> Option<Self> {
        let mut numbers = prompt.strip_prefix("stream ")?.split(' ').map(str::parse::<u32>);
        let mut next = || numbers.next()?.ok();
        let (count, gap, bytes) = (next()?, next()?, next()?);
        Some(Self {
            count: usize::try_from(count).ok()?,
            gap: Duration::from_micros(u64::from(gap)),
            bytes: usize::try_from(bytes).ok()?,
        })
    }

    /// Waits until a piece is due; a stream without gaps never waits.
    pub(crate) async fn due(self, began: Instant, number: usize) {
        if !self.gap.is_zero() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            tokio::time::sleep_until(began + self.gap * number).await;
        }
    }
}

struct Clocked;

impl Model for Clocked {
    fn history_turns(&self, _: Option<&str>) -> u32 {
        0
    }

    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        match asked(request.messages) {
            Some(stream) => say(stream, sink).boxed(),
            None => Offline.respond(request, sink),
        }
    }
}

fn asked(messages: &[Message]) -> Option<Stream> {
    match messages.last()? {
        Message::User { parts } => {
            let prompt: String = parts.iter().map(InputPart::display).collect();
            Stream::read(prompt.trim())
        }
        Message::Agent { .. } | Message::Result { .. } => None,
    }
}

async fn say(stream: Stream, sink: &mut dyn ModelSink) -> Result<ModelReply, ModelError> {
    let began = Instant::now();
    for number in 0..stream.count {
        stream.due(began, number).await;
        sink.event(ModelEvent::Text(stamp::piece(number, stream.bytes)))
            .await?;
    }
    Ok(ModelReply {
        stop: Stop::Done,
        usage: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_says_what_is_streamed() {
        let stream = Stream {
            count: 3,
            gap: Duration::from_millis(1),
            bytes: 40,
        };
        assert_eq!(Stream::read(&stream.prompt()), Some(stream));
        for other in ["stream", "stream 1 2", "stream 1 2 x", "say hello"] {
            assert_eq!(Stream::read(other), None, "{other}");
        }
    }
}
