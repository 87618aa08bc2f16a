//! A byte stream that ends for both sides when its client may no longer be connected.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A byte stream that fails from the moment on that its token is cancelled.
pub(crate) struct Cut<S> {
    inner: S,
    until: CancellationToken,
    /// Wakes the reader, who always waits.
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<S> Cut<S> {
    pub(crate) fn new(inner: S, until: CancellationToken) -> Self {
        let cancelled = Box::pin(until.clone().cancelled_owned());
        Self {
            inner,
            until,
            cancelled,
        }
    }

    fn check(&self) -> io::Result<()> {
        if self.until.is_cancelled() {
            return Err(cut());
        }
        Ok(())
    }
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the client was revoked")
}

impl<S: AsyncRead + Unpin> AsyncRead for Cut<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.cancelled.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(cut()));
        }
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Cut<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_reader_that_waits_and_a_writer_are_ended_at_once() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let until = CancellationToken::new();
        let (mut reader, mut writer) = tokio::io::split(Cut::new(ours, until.clone()));
        theirs.write_all(b"a").await.unwrap();
        assert_eq!(reader.read_u8().await.unwrap(), b'a');
        let reading = tokio::spawn(async move { reader.read_u8().await });
        tokio::task::yield_now().await;
        writer.write_all(b"b").await.unwrap();
        until.cancel();
        let error = reading.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
        assert!(writer.write_all(b"c").await.is_err());
        drop(writer);
        let mut rest = Vec::new();
        theirs.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"b");
    }
}
