//! One connection as a client sees it: texts out, texts in.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::process::Process;

/// How long one message may take before a scenario gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// A connection to a server.
pub(crate) enum Link {
    WebSocket(Box<WebSocketStream<TcpStream>>),
    Lines(BufReader<ChildStdout>, ChildStdin),
}

impl Link {
    /// Connects to an address such as `ws://127.0.0.1:9100/ws`.
    pub(crate) async fn web_socket(address: &str) -> anyhow::Result<Self> {
        let host = address
            .strip_prefix("ws://")
            .and_then(|rest| rest.split('/').next())
            .with_context(|| format!("{address} is no WebSocket address"))?;
        let stream = TcpStream::connect(host)
            .await
            .with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        let (socket, _) = tokio_tungstenite::client_async(address, stream).await?;
        Ok(Self::WebSocket(Box::new(socket)))
    }

    /// Starts a program and speaks lines with it.
    pub(crate) fn lines(mut command: Command, state: std::path::PathBuf) -> anyhow::Result<(Process, Self)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::start(command, state)?;
        let (stdin, stdout) = process.pipes().context("a child without pipes")?;
        Ok((process, Self::Lines(BufReader::new(stdout), stdin)))
    }

    pub(crate) async fn send(&mut self, text: String) -> anyhow::Result<()> {
        match self {
            Self::WebSocket(socket) => socket.send(Message::text(text)).await?,
            Self::Lines(_, stdin) => {
                stdin.write_all(format!("{text}\n").as_bytes()).await?;
                stdin.flush().await?;
            }
        }
        Ok(())
    }

    /// Returns the next text.
    pub(crate) async fn next(&mut self) -> anyhow::Result<String> {
        tokio::time::timeout(PATIENCE, self.next_whenever())
            .await
            .context("the server says nothing")?
    }

    async fn next_whenever(&mut self) -> anyhow::Result<String> {
        match self {
            Self::WebSocket(socket) => loop {
                match socket.next().await {
                    Some(Ok(Message::Text(text))) => return Ok(text.as_str().to_owned()),
                    Some(Ok(Message::Close(frame))) => bail!("the server closed the connection: {frame:?}"),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(error.into()),
                    None => bail!("the connection ended"),
                }
            },
            Self::Lines(stdout, _) => {
                let mut line = String::new();
                if stdout.read_line(&mut line).await? == 0 {
                    bail!("the server's output ended");
                }
                Ok(line)
            }
        }
    }

    /// Gives up the framing: what follows is read as bytes.
    pub(crate) fn into_stream(self) -> anyhow::Result<TcpStream> {
        match self {
            Self::WebSocket(socket) => Ok(socket.into_inner()),
            Self::Lines(..) => bail!("only a WebSocket is read as bytes"),
        }
    }
}
