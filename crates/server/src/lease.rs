//! Acts on the lease of the workspace, where the database is elsewhere and other machines may serve the same folder.
//!
//! While it is not certain that this server is the holder, nothing that it started runs: the owners of Threads end by
//! themselves, and children are killed here. A server that is frozen can do none of that, so the kernel kills it before
//! the lease ends, and its children with it.

use std::time::Duration;

use bobbin_children::Children;
use bobbin_core::Threads;
use bobbin_store::{Holding, Lease};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a server that has lost its workspace may take to end.
const END: Duration = Duration::from_secs(5);

/// Follows the lease until the server stops. Cancels `lost` once another machine has it.
pub(crate) fn follow(threads: &Threads, mut lease: Lease, children: Children, lost: CancellationToken) {
    let stopping = threads.stopping().clone();
    let guard = Guard::start();
    threads.own(async move {
        let mut holding = lease.now();
        loop {
            match holding {
                Holding::Until(end) => {
                    children.allow();
                    guard.kill_after(Some(end.saturating_duration_since(Instant::now()) * 5 / 6));
                }
                Holding::Unsure => {
                    tracing::error!(
                        "the database was away for so long that another machine may serve this workspace: commands are ended, \
                         and turns go on when it is back"
                    );
                    children.stop_all();
                    guard.kill_after(None);
                }
                Holding::Lost => {
                    children.stop_all();
                    guard.kill_after(Some(END));
                    lost.cancel();
                    return;
                }
            }
            tokio::select! {
                () = stopping.cancelled() => return,
                changed = lease.changed() => holding = changed,
            }
        }
    });
}

/// Orders that wait for the timer's thread; it takes one within microseconds.
#[cfg(target_os = "linux")]
const ORDERS: usize = 16;

/// Has the kernel kill this process at a time, even if the process is stopped then.
#[cfg(target_os = "linux")]
struct Guard(std::sync::mpsc::SyncSender<Option<Duration>>);

#[cfg(target_os = "linux")]
impl Guard {
    /// Starts the thread that has the timer, which may not leave its thread.
    fn start() -> Self {
        use nix::sys::signal::{SigEvent, SigevNotify, Signal};
        use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
        use nix::time::ClockId;

        let (sender, orders) = std::sync::mpsc::sync_channel::<Option<Duration>>(ORDERS);
        let run = move || {
            let event = SigEvent::new(SigevNotify::SigevSignal {
                signal: Signal::SIGKILL,
                si_value: 0,
            });
            // A clock that stands still while the machine sleeps: what runs here sleeps with it.
            let mut timer = Timer::new(ClockId::CLOCK_MONOTONIC, event)?;
            // Ends with its sender.
            for order in orders {
                // Zero disarms.
                let after = order.map_or(Duration::ZERO, |after| after.max(Duration::from_millis(1)));
                timer.set(Expiration::OneShot(after.into()), TimerSetTimeFlags::empty())?;
            }
            Ok::<_, nix::Error>(())
        };
        let started = std::thread::Builder::new()
            .name("lease".to_owned())
            .spawn(move || {
                if let Err(error) = run() {
                    tracing::error!(%error, "this server would not be ended if it were frozen");
                }
            });
        if let Err(error) = started {
            tracing::error!(%error, "this server would not be ended if it were frozen");
        }
        Self(sender)
    }

    fn kill_after(&self, time: Option<Duration>) {
        // Only a thread that has ended takes none, and it has said so.
        let _ = self.0.try_send(time);
    }
}

/// Elsewhere nothing ends a frozen process; the database refuses what it writes later.
#[cfg(not(target_os = "linux"))]
struct Guard;

#[cfg(not(target_os = "linux"))]
impl Guard {
    fn start() -> Self {
        Self
    }

    fn kill_after(&self, _: Option<Duration>) {}
}
