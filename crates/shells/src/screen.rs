//! The newest output of a shell, for clients that read it at their own pace.
//!
//! A reader has a position in the output. One that is more than [`BYTES`] behind has missed
//! output: it is notified, and attaches again. So neither the shell nor other clients wait for a slow one, which costs no memory.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::watch;

/// Bytes of output that are there for readers.
pub(crate) const BYTES: usize = 256 << 10;
/// Most bytes of a part.
pub(crate) const PART: usize = 32 << 10;
/// Bytes in which a copy of the output that lacks its beginning looks for the beginning of a line.
const LINE: usize = 4 << 10;

#[derive(Debug)]
pub(crate) struct Screen {
    written: Mutex<Written>,
    news: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Written {
    newest: VecDeque<u8>,
    /// Bytes written so far.
    total: u64,
    end: Option<End>,
}

/// The end of a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// The exit code, if no signal has ended it.
    pub(crate) code: Option<i32>,
}

/// The next thing for a reader.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// These bytes.
    Part(Vec<u8>),
    /// Bytes that are not there any more.
    Lost,
    /// The end of the shell.
    End(End),
}

impl Screen {
    pub(crate) fn new() -> Self {
        Self {
            written: Mutex::default(),
            news: watch::Sender::new(()),
        }
    }

    /// Adds output.
    pub(crate) fn add(&self, bytes: &[u8]) {
        {
            let mut written = self.written.lock();
            written.newest.extend(bytes);
            written.total += bytes.len() as u64;
            let over = written.newest.len().saturating_sub(BYTES);
            written.newest.drain(..over);
        }
        self.news.send_replace(());
    }

    /// Says that the shell has ended.
    pub(crate) fn end(&self, code: Option<i32>) {
        self.written.lock().end = Some(End { code });
        self.news.send_replace(());
    }

    /// Returns the output that is there, and the position after it. Output without its start starts with a whole line.
    pub(crate) fn copy(&self) -> (Vec<u8>, u64) {
        let written = self.written.lock();
        let is_whole = written.newest.len() as u64 == written.total;
        let line = written.newest.iter().take(LINE).position(|&byte| byte == b'\n');
        let start = line.filter(|_| !is_whole).map_or(0, |line| line + 1);
        (written.newest.range(start..).copied().collect(), written.total)
    }

    /// Waits for what comes after a position.
    pub(crate) async fn after(&self, position: u64) -> Next {
        let mut news = self.news.subscribe();
        loop {
            if let Some(next) = self.written.lock().after(position) {
                return next;
            }
            // The sender is in `self`.
            drop(news.changed().await);
        }
    }

    /// Waits for the end of the shell.
    pub(crate) async fn ended(&self) {
        let mut news = self.news.subscribe();
        while self.written.lock().end.is_none() {
            drop(news.changed().await);
        }
    }
}

impl Written {
    fn after(&self, position: u64) -> Option<Next> {
        let behind = usize::try_from(self.total - position).unwrap_or(usize::MAX);
        if behind == 0 {
            return self.end.map(Next::End);
        }
        let Some(start) = self.newest.len().checked_sub(behind) else {
            return Some(Next::Lost);
        };
        let part = self.newest.range(start..).take(PART).copied().collect();
        Some(Next::Part(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_gets_all_in_parts_and_then_the_end() {
        let screen = Screen::new();
        let text: Vec<u8> = (0..PART + 10).map(|at| b"green tea\n"[at % 10]).collect();
        screen.add(&text);
        screen.end(Some(3));
        let (mut read, mut ended) = (Vec::new(), None);
        while ended.is_none() {
            match screen.after(read.len() as u64).await {
                Next::Part(part) => {
                    assert!(part.len() <= PART);
                    read.extend(part);
                }
                next => ended = Some(next),
            }
        }
        assert_eq!((read, ended), (text, Some(Next::End(End { code: Some(3) }))));
    }

    #[tokio::test]
    async fn a_reader_waits_for_output() {
        let screen = Screen::new();
        let (next, ()) = tokio::join!(screen.after(0), async { screen.add(b"a") });
        assert_eq!(next, Next::Part(b"a".to_vec()));
        let ((), ()) = tokio::join!(screen.ended(), async { screen.end(None) });
    }

    #[tokio::test]
    async fn more_than_fits_is_lost_from_the_beginning() {
        let screen = Screen::new();
        screen.add(b"1\n2");
        assert_eq!(screen.copy(), (b"1\n2".to_vec(), 3));
        screen.add(&vec![b'x'; BYTES - 3]);
        assert_eq!(
            screen.after(0).await,
            Next::Part([b"1\n2", &vec![b'x'; PART - 3][..]].concat())
        );
        screen.add(b"y");
        assert_eq!(screen.after(0).await, Next::Lost);
        let (copy, position) = screen.copy();
        // From the beginning of a line.
        assert_eq!(
            (copy.len(), copy[0], position),
            (BYTES - 1, b'2', BYTES as u64 + 1)
        );
        assert_eq!(screen.written.lock().newest.len(), BYTES);
    }
}
