//! Watching the process that started us.

use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// How often the parent is looked for (a guess: an orphan may live that long).
const INTERVAL: Duration = Duration::from_millis(500);

/// Returns once the process is gone; at once for a number that can be no process.
pub async fn gone(process_id: i64) {
    let Some(pid) = i32::try_from(process_id).ok().filter(|pid| *pid > 0) else {
        return;
    };
    loop {
        // A process that we may not signal is there all the same.
        if kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH) {
            return;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
