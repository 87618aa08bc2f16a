//! How fast a child may write: its output is read at a bounded rate, and a child that floods all the same is given up
//! or, where its caller says so, loses lines.
//!
//! Not reading slows a child down: its pipe fills up. Costs a few counters a stream.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::SetOnce;
use tokio::time::{Instant, Sleep, sleep_until};

/// Bytes that are read of one stream in a microsecond (guess: several times what a useful service sends).
const BYTES_PER_MICROSECOND: u64 = 8;
/// The cost of a line besides its bytes: a thousand a second are read.
const LINE: Duration = Duration::from_millis(1);
/// How far ahead of that rate a child may be: 32 MB, or 4000 lines.
const BURST: Duration = Duration::from_secs(4);
/// How long a child may exceed the rate before it is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// The stream of a child that flooded; set once.
pub(crate) type Flooded = Arc<SetOnce<&'static str>>;

/// A child exceeds the rate for longer than [`PATIENCE`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flood;

/// The rate of one stream.
#[derive(Debug)]
pub(crate) struct Pace {
    /// When what was read would have arrived at the rate.
    due: Instant,
    over_since: Option<Instant>,
    /// The cost of a line.
    line: Duration,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self {
            due: Instant::now(),
            over_since: None,
            line: LINE,
        }
    }

    /// Counts bytes that were read. Returns until when to read nothing more, if not at once.
    ///
    /// # Errors
    /// [`Flood`].
    pub(crate) fn read(&mut self, now: Instant, bytes: &[u8]) -> Result<Option<Instant>, Flood> {
        let lines = memchr::memchr_iter(b'\n', bytes).count();
        let cost = self.cost(bytes.len(), lines);
        if self.due < now + BURST / 2 {
            self.over_since = None;
        }
        self.due = self.due.max(now) + cost;
        if self.due <= now + BURST {
            return Ok(None);
        }
        let since = *self.over_since.get_or_insert(now);
        if now - since >= PATIENCE {
            return Err(Flood);
        }
        // However much one read took: who still writes after its patience is given up then, not later.
        Ok(Some((self.due - BURST).min(since + PATIENCE)))
    }

    /// Returns whether a line is within the rate, and counts it if so.
    pub(crate) fn takes(&mut self, now: Instant, line: &str) -> bool {
        let due = self.due.max(now) + self.cost(line.len(), 1);
        let takes = due <= now + BURST;
        if takes {
            self.due = due;
        }
        takes
    }

    /// Returns how long bytes with so many lines take at the rate.
    fn cost(&self, bytes: usize, lines: usize) -> Duration {
        let lines = u32::try_from(lines).unwrap_or(u32::MAX);
        Duration::from_micros(bytes as u64 / BYTES_PER_MICROSECOND) + self.line * lines
    }
}

/// The output of a child, read at a bounded rate.
pub struct Paced<R> {
    from: R,
    pace: Pace,
    rest: Option<Pin<Box<Sleep>>>,
    /// Set when the child is given up. Without it, a child that floods is slowed down and nothing else.
    flooded: Option<Flooded>,
}

impl<R> Paced<R> {
    pub(crate) fn new(from: R, flooded: Option<Flooded>) -> Self {
        Self {
            from,
            pace: Pace::new(),
            rest: None,
            flooded,
        }
    }

    /// Lets lines cost nothing but their bytes from now on: nobody looks at them any more.
    pub fn drain(&mut self) {
        self.pace.line = Duration::ZERO;
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Paced<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Some(rest) = &mut this.rest {
            ready!(rest.as_mut().poll(context));
            this.rest = None;
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.from).poll_read(context, buffer))?;
        let now = Instant::now();
        let pause = match (this.pace.read(now, &buffer.filled()[before..]), &this.flooded) {
            (Ok(pause), _) => pause,
            (Err(Flood), None) => Some(this.pace.due - BURST),
            (Err(Flood), Some(flooded)) => {
                // The first stream that floods is named.
                drop(flooded.set("standard output"));
                return Poll::Ready(Err(io::Error::other("the service floods")));
            }
        };
        this.rest = pause.map(|until| Box::pin(sleep_until(until)));
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_read_at_once_and_a_flood_is_slowed_and_then_given_up() {
        let (mut pace, started) = (Pace::new(), Instant::now());
        let (mut now, lines) = (started, vec![b'\n'; 1000]);
        for _ in 0..3 {
            assert_eq!(pace.read(now, &lines), Ok(None));
        }
        let mut read = 0;
        while let Ok(until) = pace.read(now, &lines) {
            now = until.unwrap_or(now);
            read += 1;
        }
        // A thousand a second.
        assert!((5..9).contains(&read), "{read}");
        assert!(now - started < Duration::from_secs(9));
    }

    #[test]
    fn a_full_pipe_of_short_lines_does_not_put_off_giving_up() {
        let (mut pace, started) = (Pace::new(), Instant::now());
        // Half a minute at the rate.
        let until = pace.read(started, &b"x\n".repeat(32 << 10)).unwrap().unwrap();
        assert!(until - started <= PATIENCE);
        assert_eq!(pace.read(until, b"x\n"), Err(Flood));
    }

    #[tokio::test(start_paused = true)]
    async fn lines_that_nobody_looks_at_do_not_slow_a_child_down() {
        let lines = b"x\n".repeat(1 << 20);
        for (drains, seconds) in [(true, 0), (false, 900)] {
            let started = Instant::now();
            let mut output = Paced::new(&lines[..], None);
            if drains {
                output.drain();
            }
            tokio::io::copy(&mut output, &mut tokio::io::sink())
                .await
                .unwrap();
            assert!(
                (seconds..=seconds + 200).contains(&started.elapsed().as_secs()),
                "{:?}",
                started.elapsed()
            );
        }
    }

    #[test]
    fn a_service_that_pauses_is_never_given_up() {
        let mut pace = Pace::new();
        let (mut now, large) = (Instant::now(), vec![b'x'; 60 << 20]);
        for _ in 0..20 {
            let until = pace.read(now, &large).unwrap();
            assert!(until.is_none_or(|until| until - now < Duration::from_secs(4)));
            now += Duration::from_secs(8);
        }
    }
}
