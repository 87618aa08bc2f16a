//! A byte stream that counts the bytes read and written.
//!
//! A WebSocket reports only whole frames. This stream under the WebSocket counts every read and write, which
//! distinguishes a slow connection from a stalled one. Two numbers; it knows nothing of frames.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes moved so far. The numbers order no other memory accesses.
#[derive(Debug, Default)]
pub struct Counts {
    read: AtomicU64,
    written: AtomicU64,
}

impl Counts {
    /// Returns the bytes read.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Returns the bytes written.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
}

/// A byte stream with a count of the bytes read from it and written to it.
#[derive(Debug)]
pub struct Counted<S> {
    inner: S,
    counts: Arc<Counts>,
}

impl<S> Counted<S> {
    /// Starts counting at zero.
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            counts: Arc::default(),
        }
    }

    /// Returns the stream.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns the live counts.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    fn count(&self, taken: usize) -> usize {
        self.counts.written.fetch_add(taken as u64, Ordering::Relaxed);
        taken
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        let read = buf.filled().len().saturating_sub(before);
        self.counts.read.fetch_add(read as u64, Ordering::Relaxed);
        Poll::Ready(Ok(()))
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
