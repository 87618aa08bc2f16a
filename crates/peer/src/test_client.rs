//! A scripted other side for tests, which writes any bytes and reads when the test says so. Public, so that tests
//! of protocols on top can use it too.

use std::future::poll_fn;

use bobbin_framing::{
    ContentLengthDecoder, ContentLengthEncoder, ContentType, Encode, FrameReader, FramingError, Limits,
    LineDecoder, LineEncoder, StreamReader, Transport,
};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};

use crate::error::ConfigError;
use crate::handle::PeerHandle;
use crate::handlers::Handlers;
use crate::options::PeerOptions;
use crate::peer::Peer;

/// Framings of a byte stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFraming {
    /// One message per line.
    Lines,
    /// Header block plus body.
    ContentLength,
}

/// The other end of a peer's byte stream, controlled by a script. Dropping it breaks the stream in both directions;
/// not reading stalls the peer's writes.
pub struct TestClient {
    reader: Box<dyn FrameReader>,
    output: WriteHalf<DuplexStream>,
    framing: StreamFraming,
}

impl std::fmt::Debug for TestClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestClient")
            .field("framing", &self.framing)
            .finish_non_exhaustive()
    }
}

impl TestClient {
    fn new(stream: DuplexStream, framing: StreamFraming) -> Self {
        let (input, output) = split(stream);
        Self {
            reader: frames(input, framing),
            output,
            framing,
        }
    }

    /// Writes bytes unchanged.
    ///
    /// # Errors
    ///
    /// Fails when the peer has closed its input.
    pub async fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.output.write_all(bytes).await
    }

    /// Writes one message, framed.
    ///
    /// # Errors
    ///
    /// Fails when the peer has closed its input.
    pub async fn send(&mut self, message: &str) -> std::io::Result<()> {
        let mut out = BytesMut::new();
        match self.framing {
            StreamFraming::Lines => LineEncoder.encode(message.as_bytes(), &mut out),
            StreamFraming::ContentLength => {
                ContentLengthEncoder::new(ContentType::Omit).encode(message.as_bytes(), &mut out);
            }
        }
        self.write(&out).await
    }

    /// Reads the peer's next message; `None` once the peer has closed its output.
    ///
    /// # Errors
    ///
    /// [`FramingError`] when the peer's output is not framed correctly; that is a bug in the peer.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn recv(&mut self) -> Option<Result<Bytes, FramingError>> {
        poll_fn(|cx| self.reader.poll_frame(cx)).await
    }

    /// Ends the peer's input; its output can still be read.
    ///
    /// # Errors
    ///
    /// Fails when the stream is broken already.
    pub async fn end_input(&mut self) -> std::io::Result<()> {
        self.output.shutdown().await
    }
}

fn frames(input: ReadHalf<DuplexStream>, framing: StreamFraming) -> Box<dyn FrameReader> {
    let limits = Limits::default();
    match framing {
        StreamFraming::Lines => Box::new(StreamReader::new(input, LineDecoder::new(limits))),
        StreamFraming::ContentLength => Box::new(StreamReader::new(input, ContentLengthDecoder::new(limits))),
    }
}

impl Peer {
    /// Starts one peer whose other end a script plays, over a pipe with room for `pipe_bytes` each way.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn pair_raw(
        framing: StreamFraming,
        pipe_bytes: usize,
        options: PeerOptions,
        configure: impl FnOnce(PeerHandle) -> Handlers,
    ) -> Result<(Self, TestClient), ConfigError> {
        let (near, far) = duplex(pipe_bytes);
        let (read, write) = split(near);
        let transport = match framing {
            StreamFraming::Lines => Transport::lines(read, write, Limits::default()),
            StreamFraming::ContentLength => Transport::content_length(read, write, Limits::default()),
        };
        let peer = Self::start(transport, options, configure)?;
        Ok((peer, TestClient::new(far, framing)))
    }
}
