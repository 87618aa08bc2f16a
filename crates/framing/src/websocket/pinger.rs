//! Decides when to send a ping, and when its answer is missing. Has times and numbers only; touches no socket.
//!
//! A slow connection is not a dead one. The wait for an answer starts when the ping was sent and restarts whenever
//! bytes move in either direction. If bytes only leave, it restarts for two minutes at most: the system buffers
//! bytes that the other side never reads. After large messages it is longer, because they may delay the ping.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::options::KeepAlive;

/// Bytes per second of the slowest supported connection (a guess). The wait is extended by the time that written
/// bytes without confirmed arrival take at this speed.
const SLOWEST: u64 = 16 << 10;
/// Most seconds by which a wait is extended. The operating system's buffers hold no more than two minutes' worth.
const LONGEST: u64 = 120;

/// Bytes moved by a connection so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) read: u64,
    pub(super) written: u64,
}

/// The action that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Send a ping.
    Ping,
    /// Flush the ping; call [`Pinger::flushed`] afterwards.
    Flush,
    /// Give up on the other side.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The timer says when the next ping is due.
    Idle,
    /// A ping has been passed to the stream but not sent; the counts at that moment.
    Queued(Option<Moved>),
    /// A ping has been sent; the counts at that moment. The timer says when its answer is missing.
    Waiting(Moved),
}

/// The ping schedule of one connection.
pub(super) struct Pinger {
    keep_alive: KeepAlive,
    stage: Stage,
    /// Boxed: a timer cannot be moved once armed.
    timer: Pin<Box<Sleep>>,
    /// When to give up even if bytes still leave: the system buffers bytes that the other side never reads.
    at_last: Instant,
    /// Bytes written when a ping was sent, and how many of them are known to have arrived.
    sent: u64,
    arrived: u64,
}

impl Pinger {
    pub(super) fn new(keep_alive: KeepAlive) -> Self {
        Self {
            keep_alive,
            stage: Stage::Idle,
            timer: Box::pin(sleep(keep_alive.interval)),
            at_last: Instant::now(),
            sent: 0,
            arrived: 0,
        }
    }

    /// Returns the configured time limit for an answer.
    pub(super) fn timeout(&self) -> Duration {
        self.keep_alive.timeout
    }

    fn restart(&mut self, after: Duration) {
        let now = Instant::now();
        // An interval beyond the clock's range never ends; the timer stays far in the future.
        if let Some(at) = now.checked_add(after) {
            self.timer.as_mut().reset(at);
        }
    }

    /// Any received bytes show life, because a pong can be delayed behind a large message.
    pub(super) fn saw_life(&mut self) {
        // A ping that counts as queued may have been sent between fragments of a large message.
        if self.stage != Stage::Idle {
            self.stage = Stage::Idle;
            self.restart(self.keep_alive.interval);
        }
    }

    /// Notes a pong: everything written before its ping has arrived.
    pub(super) fn saw_pong(&mut self) {
        self.arrived = self.sent;
        self.saw_life();
    }

    /// The ping has left.
    pub(super) fn flushed(&mut self, moved: Moved) {
        if matches!(self.stage, Stage::Queued(_)) {
            self.sent = moved.written;
            self.hope();
            self.await_answer(moved);
        }
    }

    /// Postpones giving up: the other side may still be alive.
    fn hope(&mut self) {
        let longest = self
            .keep_alive
            .timeout
            .saturating_add(Duration::from_secs(LONGEST));
        let now = Instant::now();
        self.at_last = now.checked_add(longest).unwrap_or(now);
    }

    fn await_answer(&mut self, moved: Moved) {
        self.stage = Stage::Waiting(moved);
        let on_the_way = moved.written.saturating_sub(self.arrived) / SLOWEST;
        let longer = Duration::from_secs(on_the_way.min(LONGEST));
        self.restart(self.keep_alive.timeout.saturating_add(longer));
    }

    /// Returns the action that is due; pending until the timer ends if there is none. Call it again after the
    /// action. `moved` is called only when an answer is missing.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, moved: impl Fn() -> Moved) -> Poll<Due> {
        loop {
            let rings = self.timer.as_mut().poll(cx).is_ready();
            match self.stage {
                Stage::Idle if rings => {
                    self.stage = Stage::Queued(None);
                    self.hope();
                    self.restart(self.keep_alive.timeout);
                    return Poll::Ready(Due::Ping);
                }
                Stage::Queued(before) => {
                    if !rings {
                        return Poll::Ready(Due::Flush);
                    }
                    // While it writes, the writing half decides how long a write may stall.
                    let moved = moved();
                    if before != Some(moved) {
                        self.stage = Stage::Queued(Some(moved));
                        self.hope();
                    } else if Instant::now() >= self.at_last {
                        return Poll::Ready(Due::End);
                    }
                    self.restart(self.keep_alive.timeout);
                }
                Stage::Waiting(before) if rings => {
                    let moved = moved();
                    if moved.read != before.read {
                        self.hope();
                    } else if moved == before || Instant::now() >= self.at_last {
                        return Poll::Ready(Due::End);
                    }
                    self.await_answer(moved);
                }
                Stage::Idle | Stage::Waiting(_) => return Poll::Pending,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    const NOTHING: Moved = Moved { read: 0, written: 0 };

    fn poll(pinger: &mut Pinger, moved: Moved) -> Poll<Due> {
        pinger.poll(&mut Context::from_waker(Waker::noop()), || moved)
    }

    async fn queued() -> Pinger {
        let mut pinger = Pinger::new(KeepAlive::default());
        assert!(poll(&mut pinger, NOTHING).is_pending());
        tokio::time::sleep(Duration::from_secs(31)).await;
        assert_eq!(poll(&mut pinger, NOTHING), Poll::Ready(Due::Ping));
        assert_eq!(poll(&mut pinger, NOTHING), Poll::Ready(Due::Flush));
        pinger
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_to_a_ping_whose_flush_is_not_over_is_an_answer() {
        let mut pinger = queued().await;
        pinger.saw_pong();
        pinger.flushed(NOTHING);
        for _ in 0..29 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(poll(&mut pinger, NOTHING).is_pending());
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(poll(&mut pinger, NOTHING), Poll::Ready(Due::Ping));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_still_on_its_way_and_what_moves_prolong_the_wait() {
        let mut pinger = queued().await;
        // Until the ping has been sent, no answer is missing.
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(poll(&mut pinger, NOTHING), Poll::Ready(Due::Flush));
        let written = 20 * SLOWEST;
        let sent = Moved { written, ..NOTHING };
        pinger.flushed(sent);
        tokio::time::sleep(Duration::from_secs(29)).await;
        assert!(poll(&mut pinger, sent).is_pending());
        let moved = Moved { read: 1, written };
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(poll(&mut pinger, moved).is_pending());
        tokio::time::sleep(Duration::from_secs(31)).await;
        assert_eq!(poll(&mut pinger, moved), Poll::Ready(Due::End));
        // Bytes confirmed by an answer are no longer on their way.
        let mut pinger = queued().await;
        pinger.flushed(sent);
        assert!(poll(&mut pinger, sent).is_pending());
        pinger.saw_pong();
        tokio::time::sleep(Duration::from_secs(31)).await;
        assert_eq!(poll(&mut pinger, sent), Poll::Ready(Due::Ping));
        pinger.flushed(sent);
        tokio::time::sleep(Duration::from_secs(11)).await;
        assert_eq!(poll(&mut pinger, sent), Poll::Ready(Due::End));
    }

    /// Returns after how many seconds the connection is given up, 1,000 at most.
    async fn seconds_of(pinger: &mut Pinger, moved: impl Fn(u64) -> Moved) -> u64 {
        for second in 1..1000 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if poll(pinger, moved(second)) == Poll::Ready(Due::End) {
                return second;
            }
        }
        1000
    }

    #[tokio::test(start_paused = true)]
    async fn what_only_leaves_and_what_never_leaves_ends_at_last() {
        let mut pinger = queued().await;
        let never = seconds_of(&mut pinger, |_| NOTHING).await;
        assert!((130..200).contains(&never), "{never}");
        let mut pinger = queued().await;
        pinger.flushed(NOTHING);
        let leaves = seconds_of(&mut pinger, |second| Moved {
            read: 0,
            written: second,
        })
        .await;
        assert!((130..200).contains(&leaves), "{leaves}");
        let mut pinger = queued().await;
        pinger.flushed(NOTHING);
        assert_eq!(
            seconds_of(&mut pinger, |second| Moved {
                read: second,
                written: 0
            })
            .await,
            1000
        );
    }
}
