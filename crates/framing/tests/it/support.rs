//! Feeding decoders and reading items without a runtime.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bobbin_framing::{Decode, FramingError};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, ReadBuf};

pub(crate) type Item = Result<Bytes, FramingError>;

/// Everything a decoder makes of `chunks` followed by end of input; stops at a fatal error.
pub(crate) fn decode(mut decoder: impl Decode, chunks: &[&[u8]]) -> Vec<Item> {
    let mut buf = BytesMut::new();
    let mut items = Vec::new();
    for chunk in chunks {
        buf.extend_from_slice(chunk);
        while let Some(item) = decoder.decode(&mut buf) {
            let fatal = item.as_ref().is_err_and(FramingError::is_fatal);
            items.push(item);
            if fatal {
                return items;
            }
        }
    }
    while let Some(item) = decoder.finish(&mut buf) {
        items.push(item);
    }
    items
}

/// The good messages as text.
pub(crate) fn good(items: &[Item]) -> Vec<String> {
    items
        .iter()
        .flatten()
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .collect()
}

pub(crate) fn errors(items: &[Item]) -> Vec<String> {
    items
        .iter()
        .filter_map(|item| item.as_ref().err().map(ToString::to_string))
        .collect()
}

/// One step of a scripted reader.
#[derive(Debug)]
pub(crate) enum Step {
    Bytes(Vec<u8>),
    Fail(io::ErrorKind),
    /// Not ready, but will be at once.
    Wait,
}

/// A byte stream that does what it is told, then ends.
#[derive(Debug)]
pub(crate) struct Script(pub(crate) VecDeque<Step>);

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl AsyncRead for Script {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.0.pop_front() {
            None => Poll::Ready(Ok(())),
            Some(Step::Wait) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Fail(kind)) => Poll::Ready(Err(kind.into())),
            Some(Step::Bytes(mut bytes)) => {
                let count = bytes.len().min(buf.remaining());
                buf.put_slice(&bytes[..count]);
                if count < bytes.len() {
                    bytes.drain(..count);
                    self.0.push_front(Step::Bytes(bytes));
                }
                Poll::Ready(Ok(()))
            }
        }
    }
}
