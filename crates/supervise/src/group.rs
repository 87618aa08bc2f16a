//! Services by name, their tasks, and their common end.
//!
//! Owns the tasks and joins them. The mutex is locked for look-ups and for [`Service::changed`] of a new or removed
//! service only.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::run::run;
use crate::{Service, Start, Status, Supervised};

/// A group has as many services as it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there are {0} of them already")]
pub struct Full(pub usize);

/// Services by name.
pub struct Group<S: Service> {
    max: usize,
    members: Mutex<Members<S>>,
    tasks: TaskTracker,
}

struct Members<S: Service> {
    by_name: BTreeMap<String, Member<S>>,
    ended: bool,
}

struct Member<S: Service> {
    service: Arc<Supervised<S>>,
    task: JoinHandle<()>,
}

impl<S: Service> Group<S> {
    /// Returns an empty group that takes up to `max` services.
    pub fn new(max: usize) -> Self {
        let members = Members {
            by_name: BTreeMap::new(),
            ended: false,
        };
        Self {
            max,
            members: Mutex::new(members),
            tasks: TaskTracker::new(),
        }
    }

    /// Adds a service. It replaces the one of that name and starts once that one has ended. Returns at once, and does
    /// nothing after [`Group::end`].
    ///
    /// # Errors
    /// [`Full`].
    pub fn set(&self, name: &str, service: S, start: Start) -> Result<(), Full> {
        let mut members = self.members.lock();
        if members.ended {
            return Ok(());
        }
        if members.by_name.len() >= self.max && !members.by_name.contains_key(name) {
            return Err(Full(self.max));
        }
        let before = members.by_name.remove(name).map(|old| {
            old.service.remove(None);
            old.task
        });
        let service = Arc::new(Supervised::new(service, start));
        let task = self.tasks.spawn(run(service.clone(), before));
        members.by_name.insert(name.to_owned(), Member { service, task });
        Ok(())
    }

    /// Removes a service, which ends in the background. Returns whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        let removed = self.members.lock().by_name.remove(name);
        let removed = removed.map(|member| member.service.remove(Some(Status::Removed)));
        removed.is_some()
    }

    /// Returns a service.
    pub fn get(&self, name: &str) -> Option<Arc<Supervised<S>>> {
        let members = self.members.lock();
        Some(members.by_name.get(name)?.service.clone())
    }

    /// Returns all services, by name.
    pub fn all(&self) -> Vec<Arc<Supervised<S>>> {
        let members = self.members.lock();
        let services = members.by_name.values().map(|member| member.service.clone());
        services.collect()
    }

    /// Ends all services at the same time and returns once they are gone. Nothing is started afterwards.
    pub async fn end(&self) {
        let members = {
            let mut members = self.members.lock();
            members.ended = true;
            std::mem::take(&mut members.by_name)
        };
        for member in members.values() {
            member.service.remove(None);
        }
        self.tasks.close();
        self.tasks.wait().await;
    }
}
