//! Decides which work may start now, and which work waits for other work. Plain data.
//!
//! A lane runs one job at a time, in arrival order. A barrier delays everything that arrives later until it has
//! ended. Nothing here runs jobs: callers get the jobs to start. Rules: peer spec 8.

use std::collections::VecDeque;

use crate::job::{Job, Slot};

/// How a job is scheduled, with its lane by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Track {
    Concurrent,
    Lane(usize),
    Barrier,
}

#[derive(Debug, Default)]
struct Lane {
    busy: bool,
    queue: VecDeque<Job>,
}

#[derive(Debug)]
pub(crate) struct Lanes {
    all: Vec<Lane>,
    barrier: Option<Slot>,
    /// Jobs that arrived after the barrier.
    waiting: VecDeque<Job>,
}

impl Lanes {
    pub(crate) fn new(lanes: usize) -> Self {
        Self {
            all: (0..lanes).map(|_| Lane::default()).collect(),
            barrier: None,
            waiting: VecDeque::new(),
        }
    }

    /// Adds a job; returns it if it may start at once.
    pub(crate) fn admit(&mut self, job: Job) -> Option<Job> {
        if self.barrier.is_some() {
            self.waiting.push_back(job);
            return None;
        }
        self.route(job)
    }

    fn route(&mut self, job: Job) -> Option<Job> {
        match job.track() {
            Track::Concurrent => Some(job),
            Track::Barrier => {
                self.barrier = Some(job.slot());
                Some(job)
            }
            Track::Lane(lane) => {
                let lane = &mut self.all[lane];
                if lane.busy {
                    lane.queue.push_back(job);
                    return None;
                }
                lane.busy = true;
                Some(job)
            }
        }
    }

    /// Notes that a job's future has ended; passes the jobs that may now start to `start`.
    pub(crate) fn release(&mut self, slot: Slot, track: Track, mut start: impl FnMut(Job)) {
        match track {
            Track::Lane(lane) => {
                let lane = &mut self.all[lane];
                match lane.queue.pop_front() {
                    Some(job) => start(job),
                    None => lane.busy = false,
                }
            }
            Track::Barrier if self.barrier == Some(slot) => {
                self.barrier = None;
                while self.barrier.is_none() {
                    let Some(job) = self.waiting.pop_front() else {
                        break;
                    };
                    if let Some(job) = self.route(job) {
                        start(job);
                    }
                }
            }
            Track::Concurrent | Track::Barrier => {}
        }
    }

    /// Removes a waiting job.
    pub(crate) fn remove(&mut self, slot: Slot, track: Track) -> Option<Job> {
        let take = |queue: &mut VecDeque<Job>| {
            let at = queue.iter().position(|job| job.slot() == slot)?;
            queue.remove(at)
        };
        let waiting = match track {
            Track::Lane(lane) => take(&mut self.all[lane].queue),
            Track::Concurrent | Track::Barrier => None,
        };
        waiting.or_else(|| take(&mut self.waiting))
    }

    /// Removes the oldest waiting notification that may be dropped, if there is one.
    pub(crate) fn remove_droppable(&mut self) -> Option<Job> {
        let oldest = |queue: &VecDeque<Job>| {
            let at = queue.iter().position(Job::is_droppable)?;
            Some((queue[at].slot(), at))
        };
        let in_lanes = self
            .all
            .iter()
            .enumerate()
            .filter_map(|(lane, entry)| oldest(&entry.queue).map(|(slot, at)| (slot, Some(lane), at)));
        let behind_barrier = oldest(&self.waiting).map(|(slot, at)| (slot, None, at));
        let (_, lane, at) = in_lanes.chain(behind_barrier).min_by_key(|&(slot, _, _)| slot)?;
        match lane {
            Some(lane) => self.all[lane].queue.remove(at),
            None => self.waiting.remove(at),
        }
    }

    /// Removes every waiting job, oldest first.
    pub(crate) fn drain(&mut self) -> Vec<Job> {
        let mut all: Vec<Job> = self.waiting.drain(..).collect();
        for lane in &mut self.all {
            all.extend(lane.queue.drain(..));
        }
        all.sort_unstable_by_key(Job::slot);
        all
    }
}
