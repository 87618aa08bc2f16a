//! The trait of a service that a supervisor runs, and the values of the trait.

use std::time::Duration;

/// A service that a supervisor runs.
///
/// The supervisor calls the methods from the one task of the service. It drops a future when something else is
/// requested, so dropping a [`Connection`](Service::Connection) must release everything behind it.
pub trait Service: Sized + Send + Sync + 'static {
    /// The value that callers use while the service runs.
    type Handle: Clone + Send + Sync + 'static;
    /// The value that the task owns while the service runs: its process, its connection.
    type Connection: Send;

    /// Returns the name for the log.
    fn name(&self) -> &str;

    /// Returns whether the service is started again after a failure.
    fn restart(&self) -> Restart {
        Restart::Automatic
    }

    /// Starts the service and greets it. The implementation limits the time.
    fn start(&self) -> impl Future<Output = Result<(Self::Handle, Self::Connection), Failure>> + Send;

    /// Watches the service, and returns once it is lost or unhealthy. `publish` replaces the handle.
    fn serve(
        &self,
        connection: &mut Self::Connection,
        publish: &(dyn Fn(Self::Handle) + Sync),
    ) -> impl Future<Output = ()> + Send;

    /// Asks the service to end and waits for it. Returns why it was lost, for the case that nobody asked it to end.
    /// After 20 seconds the future is dropped.
    fn end(&self, connection: Self::Connection) -> impl Future<Output = Failure> + Send;

    /// Receives each change, in order and under a short lock. Must not wait.
    fn changed(&self, status: Status<'_, Self::Handle>);
}

/// Longest time that [`Service::end`] may take.
pub(crate) const LONGEST_END: Duration = Duration::from_secs(20);

/// How a service is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status<'a, H> {
    /// It is in its group, and nothing has happened yet.
    Added,
    /// It is being started.
    Starting,
    /// It runs.
    Running(&'a H),
    /// It failed and is started again after `pause`.
    Waiting {
        /// Why it failed: a sentence for the user.
        problem: String,
        /// Until the next start.
        pause: Duration,
    },
    /// It failed and is not started again by itself, for this reason: a sentence for the user.
    Failed(String),
    /// It was stopped.
    Stopped,
    /// It was removed from its group. Nothing follows.
    Removed,
}

/// Why a service could not be started, or was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// A sentence for the user, without secrets.
    pub problem: String,
    /// Whether another attempt is of no use.
    pub lasting: bool,
}

impl Failure {
    /// Returns a failure that another attempt does not mend.
    pub fn lasting(problem: impl Into<String>) -> Self {
        let problem = problem.into();
        Self {
            problem,
            lasting: true,
        }
    }

    /// Returns a failure that another attempt may mend.
    pub fn passing(problem: impl Into<String>) -> Self {
        let problem = problem.into();
        Self {
            problem,
            lasting: false,
        }
    }
}

/// Whether a service that fails is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// After pauses of 1 s that double up to 30 s, until it has failed too often in a row.
    Automatic,
    /// Only on request, or by [`Supervised::demand`](crate::Supervised::demand).
    Never,
}

/// Pause after the first failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Restarts in a row after which a service is given up: half a minute of pauses.
const MAX_RESTARTS: u32 = 5;

impl Restart {
    /// Returns the pause after so many failures in a row. `None` where no restart follows.
    pub(crate) fn pause(self, failures: u32) -> Option<Duration> {
        let restarts = self == Self::Automatic && failures <= MAX_RESTARTS;
        restarts.then(|| pause_after(failures))
    }
}

/// Returns the pause after so many failures in a row.
pub(crate) fn pause_after(failures: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
    FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE)
}
