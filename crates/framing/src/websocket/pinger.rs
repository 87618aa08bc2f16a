//! When to send a ping, and when its answer is missing. Holds times and numbers; touches no socket.
//!
//! A slow connection is not a dead one: the wait for an answer begins when the ping has left, begins anew as long as bytes
//! move either way (where they only leave, for two minutes: the system takes what nobody fetches), and is longer after large messages, which may still stand between the ping and the other side.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::options::KeepAlive;

/// Bytes that pass in a second on the slowest connection worth keeping; a guess. What has been written and not been seen to
/// arrive prolongs the wait by as many seconds.
const SLOWEST: u64 = 16 << 10;
/// Most seconds a wait is prolonged by. Past two minutes the operating system's own buffers hold no more.
const LONGEST: u64 = 120;

/// Bytes moved by a connection so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) read: u64,
    pub(super) written: u64,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// A ping is to be sent.
    Ping,
    /// The ping is to be flushed; [`Pinger::flushed`] tells when it is.
    Flush,
    /// The other side is to be given up.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The timer says when the next ping is due.
    Idle,
    /// A ping has been handed to the stream when this had been moved, and has not left.
    Queued(Option<Moved>),
    /// A ping has left when this had been moved; the timer says when its answer is missing.
    Waiting(Moved),
}

/// The clockwork of one connection's pings.
pub(super) struct Pinger {
    keep_alive: KeepAlive,
    stage: Stage,
    /// Boxed: a timer cannot be moved once armed.
    timer: Pin<Box<Sleep>>,
    /// When the other side is given up although something still leaves, or could: the system takes what nobody fetches.
    at_last: Instant,
    /// What had been written when a ping left, and what of it is known to have arrived.
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

    /// How long an answer may take, as configured.
    pub(super) fn timeout(&self) -> Duration {
        self.keep_alive.timeout
    }

    fn restart(&mut self, after: Duration) {
        let now = Instant::now();
        // An interval past the end of time never comes; the timer stays where it is, far off.
        if let Some(at) = now.checked_add(after) {
            self.timer.as_mut().reset(at);
        }
    }

    /// Anything that arrives shows life, a pong only most plainly: a pong can be stuck behind a large message.
    pub(super) fn saw_life(&mut self) {
        // One that is thought to be queued may have left, between a large message's fragments.
        if self.stage != Stage::Idle {
            self.stage = Stage::Idle;
            self.restart(self.keep_alive.interval);
        }
    }

    /// A pong has arrived, and so everything written before its ping has.
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

    /// Puts off giving up: the other side may still be there.
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

    /// What is to be done; pending when nothing is, until the timer goes off. To be asked again after doing it. `moved` is
    /// looked at when an answer is missing only.
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
                    // How long a write may stand still is for the writing half to say, as long as it writes.
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
        // As long as it has not left, nothing is missing.
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
        // What an answer has confirmed is on its way no longer.
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

    /// Returns after how many seconds it is given up, 1,000 at most.
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
