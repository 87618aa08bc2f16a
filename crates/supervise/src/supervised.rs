//! One service as its callers see it: its handle, what is requested of it, waiting for it.
//!
//! Its task writes the handle, callers write requests. One short mutex, locked while [`Service::changed`] runs so that
//! changes arrive in order, and none after the removal.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::run::STABLE;
use crate::service::pause_after;
use crate::{Failure, Service, Status};

/// The time at which a group starts a new service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Starts it.
    Now,
    /// Waits until its start is requested.
    OnRequest,
}

/// A request to a service. Another number is another request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    number: u64,
    pub(crate) wanted: Wanted,
}

/// The state that is requested of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// To run.
    Run,
    /// Not to run.
    Stop,
    /// Not to run, and its task ends.
    Remove,
}

/// How a service can be reached.
#[derive(Debug, Clone)]
enum Link<H> {
    /// Not now, and not by waiting; with the failure that ended it.
    Off(Option<Failure>),
    /// Not now; it is being started.
    Starting,
    /// Not now; it failed, and it is being started again or will be.
    Restarting,
    /// Now.
    Up(H),
}

/// A service of a group.
pub struct Supervised<S: Service> {
    service: S,
    link: watch::Sender<Link<S::Handle>>,
    request: watch::Sender<Request>,
    state: Mutex<SupervisedState>,
}

struct SupervisedState {
    removed: bool,
    requested_at: Instant,
    /// Passing failures since it last ran for long or was started on request.
    failures: u32,
    running_since: Option<Instant>,
    /// Before it, [`Supervised::demand`] fails.
    not_before: Option<Instant>,
}

impl<S: Service> Supervised<S> {
    pub(crate) fn new(service: S, start: Start) -> Self {
        let (link, wanted) = match start {
            Start::Now => (Link::Starting, Wanted::Run),
            Start::OnRequest => (Link::Off(None), Wanted::Stop),
        };
        service.changed(Status::Added);
        Self {
            service,
            link: watch::Sender::new(link),
            request: watch::Sender::new(Request { number: 0, wanted }),
            state: Mutex::new(SupervisedState {
                removed: false,
                requested_at: Instant::now(),
                failures: 0,
                running_since: None,
                not_before: None,
            }),
        }
    }

    /// Returns the service.
    pub fn service(&self) -> &S {
        &self.service
    }

    /// Requests that it runs. Nothing happens where it runs or is being started.
    pub fn start(&self) {
        let mut state = self.state.lock();
        if matches!(*self.link.borrow(), Link::Off(_)) || self.request.borrow().wanted != Wanted::Run {
            self.request(Wanted::Run);
        }
        state.requested_at = Instant::now();
        state.forget_failures();
        drop(state);
    }

    /// Requests that it ends, if it runs, and starts.
    pub fn restart(&self) {
        let mut state = self.state.lock();
        if state.removed {
            return;
        }
        self.request(Wanted::Run);
        // Its task may not have seen the request yet; callers must not get the handle that ends.
        self.link.send_replace(Link::Starting);
        state.requested_at = Instant::now();
        state.forget_failures();
        drop(state);
    }

    /// Requests that it does not run.
    pub fn stop(&self) {
        let mut state = self.state.lock();
        if self.request.borrow().wanted == Wanted::Run {
            self.request(Wanted::Stop);
            self.link.send_replace(Link::Off(None));
        }
        state.forget_failures();
        drop(state);
    }

    fn request(&self, wanted: Wanted) {
        self.request.send_if_modified(|request| {
            let change = request.wanted != Wanted::Remove;
            if change {
                let number = request.number + 1;
                *request = Request { number, wanted };
            }
            change
        });
    }

    /// Returns its handle, and starts it first if it does not run: for a service with [`Restart::Never`](crate::Restart::Never) that starts
    /// when it is used. Several callers share one start.
    ///
    /// The first start after a failure is immediate. After more failures in a row there is a pause before each, which
    /// doubles up to 30 s. A lasting failure costs no pause.
    ///
    /// # Errors
    /// Why the start failed. In a pause, the last failure at once.
    ///
    /// # Cancel safety
    /// Cancel safe: the start goes on for other callers.
    pub async fn demand(&self, usable: impl Fn(&S::Handle) -> bool) -> Result<S::Handle, Failure> {
        let mut link = self.link.subscribe();
        // A service that was just lost is started anew once its task has seen that.
        let lost = link.wait_for(|link| !matches!(link, Link::Up(handle) if !usable(handle)));
        drop(lost.await);
        {
            let mut state = self.state.lock();
            let off = match &*self.link.borrow() {
                Link::Off(failure) => Some(failure.clone()),
                Link::Starting | Link::Restarting | Link::Up(_) => None,
            };
            if let Some(failure) = off {
                if state.removed {
                    return Err(Failure::lasting("it was removed"));
                }
                let now = Instant::now();
                if let Some(not_before) = state.not_before.filter(|&then| now < then)
                    && let Some(Failure { problem, lasting }) = failure
                {
                    let seconds = (not_before - now).as_millis().div_ceil(1000);
                    let problem = format!(
                        "{problem}; it failed repeatedly, and the next start is possible in {seconds} s"
                    );
                    return Err(Failure { problem, lasting });
                }
                // The task has not seen the request yet; callers must already wait.
                self.link.send_replace(Link::Starting);
                state.requested_at = now;
                self.request(Wanted::Run);
            }
        }
        let found = link.wait_for(|link| match link {
            Link::Off(_) => true,
            Link::Starting | Link::Restarting => false,
            Link::Up(handle) => usable(handle),
        });
        let found = found.await;
        match found.as_deref() {
            Ok(Link::Up(handle)) => Ok(handle.clone()),
            Ok(Link::Off(Some(failure))) => Err(failure.clone()),
            Ok(Link::Starting | Link::Restarting | Link::Off(None)) | Err(_) => {
                Err(Failure::passing("it was stopped"))
            }
        }
    }

    /// Returns its handle if it runs.
    pub fn handle(&self) -> Option<S::Handle> {
        match &*self.link.borrow() {
            Link::Up(handle) => Some(handle.clone()),
            Link::Off(_) | Link::Starting | Link::Restarting => None,
        }
    }

    /// Whether the start that was requested last has no outcome yet. Restarts do not count.
    pub fn is_starting(&self) -> bool {
        matches!(*self.link.borrow(), Link::Starting)
    }

    /// Returns its handle once it runs and the handle is `usable`: its task may not have seen yet that a connection
    /// was lost. `None` when the service is neither running nor being started.
    pub async fn ready(&self, usable: impl Fn(&S::Handle) -> bool) -> Option<S::Handle> {
        let mut link = self.link.subscribe();
        let found = link.wait_for(|link| match link {
            Link::Off(_) => true,
            Link::Starting | Link::Restarting => false,
            Link::Up(handle) => usable(handle),
        });
        let found = found.await;
        match found.as_deref() {
            Ok(Link::Up(handle)) => Some(handle.clone()),
            Ok(Link::Starting | Link::Restarting | Link::Off(_)) | Err(_) => None,
        }
    }

    /// Returns once the start that was requested last has an outcome, or was requested `limit` ago. Restarts are not
    /// waited for.
    pub async fn settled(&self, limit: Duration) {
        let deadline = self.state.lock().requested_at + limit;
        let mut link = self.link.subscribe();
        let outcome = link.wait_for(|link| !matches!(link, Link::Starting));
        // Either way the wait is over.
        drop(timeout_at(deadline, outcome).await);
    }

    /// Follows what is requested of it.
    pub(crate) fn requests(&self) -> watch::Receiver<Request> {
        self.request.subscribe()
    }

    /// Ends its task. Nothing is reported after the `last` status.
    pub(crate) fn remove(&self, last: Option<Status<'_, S::Handle>>) {
        let mut state = self.state.lock();
        state.removed = true;
        self.link.send_replace(Link::Off(None));
        self.request(Wanted::Remove);
        if let Some(last) = last {
            self.service.changed(last);
        }
        drop(state);
    }

    pub(crate) fn starting(&self, failures: u32) {
        let link = if failures == 0 {
            Link::Starting
        } else {
            Link::Restarting
        };
        self.change(link, Status::Starting);
    }

    pub(crate) fn running(&self, handle: &S::Handle) {
        self.state.lock().running_since.get_or_insert_with(Instant::now);
        self.change(Link::Up(handle.clone()), Status::Running(handle));
    }

    pub(crate) fn waiting(&self, problem: String, pause: Duration) {
        self.change(Link::Restarting, Status::Waiting { problem, pause });
    }

    pub(crate) fn failed(&self, failure: Failure) {
        self.state.lock().count_failure(failure.lasting);
        let problem = failure.problem.clone();
        self.change(Link::Off(Some(failure)), Status::Failed(problem));
    }

    pub(crate) fn stopped(&self) {
        self.state.lock().running_since = None;
        self.change(Link::Off(None), Status::Stopped);
    }

    fn change(&self, link: Link<S::Handle>, status: Status<'_, S::Handle>) {
        let state = self.state.lock();
        if !state.removed {
            self.service.changed(status);
            self.link.send_replace(link);
        }
        drop(state);
    }
}

impl SupervisedState {
    fn forget_failures(&mut self) {
        self.failures = 0;
        self.not_before = None;
    }

    fn count_failure(&mut self, lasting: bool) {
        let now = Instant::now();
        let since = self.running_since.take();
        if since.is_some_and(|since| now - since >= STABLE) || lasting {
            self.forget_failures();
        }
        if !lasting {
            self.not_before = (self.failures > 0).then(|| now + pause_after(self.failures));
            self.failures = self.failures.saturating_add(1);
        }
    }
}
