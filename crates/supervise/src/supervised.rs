//! One service as its callers see it: its handle, what is requested of it, waiting for it.
//!
//! Its task writes the handle, callers write requests. One short mutex, held while [`Service::changed`] runs so that
//! changes arrive in order, and none after the removal.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::{Service, Status};

/// What a group does with a service that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Starts it.
    Now,
    /// Waits until its start is requested.
    OnRequest,
}

/// What is requested of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// That it runs; another number requests a fresh start.
    Run(u64),
    /// That it does not run.
    Stop,
    /// That it does not run, and its task ends.
    Remove,
}

/// How a service can be reached.
#[derive(Debug, Clone)]
enum Link<H> {
    /// Not now, and not by waiting.
    Off,
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
    state: Mutex<State>,
}

struct State {
    removed: bool,
    requested_at: Instant,
}

impl<S: Service> Supervised<S> {
    pub(crate) fn new(service: S, start: Start) -> Self {
        let (link, request) = match start {
            Start::Now => (Link::Starting, Request::Run(0)),
            Start::OnRequest => (Link::Off, Request::Stop),
        };
        service.changed(Status::Added);
        Self {
            service,
            link: watch::Sender::new(link),
            request: watch::Sender::new(request),
            state: Mutex::new(State {
                removed: false,
                requested_at: Instant::now(),
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
        self.request.send_if_modified(|request| {
            let next = match *request {
                Request::Run(_) if !matches!(*self.link.borrow(), Link::Off) => return false,
                Request::Remove => return false,
                Request::Run(number) => number + 1,
                Request::Stop => 0,
            };
            *request = Request::Run(next);
            true
        });
        state.requested_at = Instant::now();
        drop(state);
    }

    /// Requests that it does not run.
    pub fn stop(&self) {
        self.request.send_if_modified(|request| {
            let change = matches!(request, Request::Run(_));
            if change {
                *request = Request::Stop;
            }
            change
        });
    }

    /// Returns its handle if it runs.
    pub fn handle(&self) -> Option<S::Handle> {
        match &*self.link.borrow() {
            Link::Up(handle) => Some(handle.clone()),
            Link::Off | Link::Starting | Link::Restarting => None,
        }
    }

    /// Returns its handle once it runs and the handle is `usable`: its task may not have seen yet that a connection
    /// was lost. `None` when the service is neither running nor being started.
    pub async fn ready(&self, usable: impl Fn(&S::Handle) -> bool) -> Option<S::Handle> {
        let mut link = self.link.subscribe();
        let found = link.wait_for(|link| match link {
            Link::Off => true,
            Link::Starting | Link::Restarting => false,
            Link::Up(handle) => usable(handle),
        });
        let found = found.await;
        match found.as_deref() {
            Ok(Link::Up(handle)) => Some(handle.clone()),
            Ok(Link::Starting | Link::Restarting | Link::Off) | Err(_) => None,
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
        self.link.send_replace(Link::Off);
        self.request.send_replace(Request::Remove);
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
        self.change(Link::Up(handle.clone()), Status::Running(handle));
    }

    pub(crate) fn waiting(&self, problem: String, pause: Duration) {
        self.change(Link::Restarting, Status::Waiting { problem, pause });
    }

    pub(crate) fn failed(&self, problem: String) {
        self.change(Link::Off, Status::Failed(problem));
    }

    pub(crate) fn stopped(&self) {
        self.change(Link::Off, Status::Stopped);
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
