//! A byte stream that counts what it takes.
//!
//! A WebSocket tells when it has taken a whole frame and when a flush is over, and nothing in between. Below it, every write
//! counts, which is how a slow connection is told from one that stands still. One number; knows nothing of frames.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A byte stream with a count of the bytes written to it.
#[derive(Debug)]
pub struct Counted<S> {
    inner: S,
    written: Arc<AtomicU64>,
}

impl<S> Counted<S> {
    /// Counts from here on.
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            written: Arc::default(),
        }
    }

    /// The count, which grows on.
    pub(crate) fn written(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }

    fn count(&self, taken: usize) -> usize {
        // A number by itself: nothing else is read because of it.
        self.written.fetch_add(taken as u64, Ordering::Relaxed);
        taken
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let taken = ready!(Pin::new(&mut self.inner).poll_write(cx, bytes))?;
        Poll::Ready(Ok(self.count(taken)))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let taken = ready!(Pin::new(&mut self.inner).poll_write_vectored(cx, slices))?;
        Poll::Ready(Ok(self.count(taken)))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
