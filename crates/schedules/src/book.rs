//! All jobs of the workspace. Each decision returns the changes it needs and modifies nothing.
//!
//! The owner task stores the changes and then applies them. [`MAX_JOBS`] and [`MAX_TEMPLATES`] bound the book.

use std::collections::BTreeMap;
use std::sync::Arc;

use bobbin_model::{ThreadId, UnixMillis};

use crate::due::{LeftOut, Verdict};
use crate::job::{Job, Key, Kind, MAX_JOBS, MAX_RUNNING, Run, RunEnd};
use crate::template::{MAX_TEMPLATES, Template};

/// Reason why a request about a job was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// No job has this id.
    #[error("there is no job '{0}'")]
    Unknown(String),
    /// Another job already has this id.
    #[error("there is a job '{0}' already")]
    Exists(String),
    /// The Thread that a task is bound to does not exist or accepts no Turns.
    #[error("thread '{0}' is not there or is archived")]
    Binding(String),
    /// A value of the request is invalid; the text is a sentence.
    #[error("{0}")]
    Invalid(String),
    /// The job has changed since the client read it.
    #[error("the job '{0}' has changed; read it again")]
    Changed(String),
    /// The job's present state does not allow it; the text is a sentence.
    #[error("{0}")]
    NotNow(String),
}

/// One change.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Put(Box<Job>),
    Remove(Key),
    PutTemplate(Box<Template>),
    RemoveTemplate(String),
}

/// Changes, and the answer that is sent once they are stored.
pub(crate) type Decided<R> = Result<(Vec<Change>, R), Refused>;

/// All jobs and templates.
#[derive(Debug, Default)]
pub(crate) struct Book {
    jobs: BTreeMap<Key, Arc<Job>>,
    templates: BTreeMap<String, Arc<Template>>,
}

impl Book {
    /// Applies a change. Returns the job that was there before.
    pub(crate) fn apply(&mut self, change: Change) -> Option<Arc<Job>> {
        match change {
            Change::Put(job) => self.jobs.insert(job.key(), Arc::new(*job)),
            Change::Remove(key) => self.jobs.remove(&key),
            Change::PutTemplate(template) => {
                self.templates.insert(template.id.clone(), Arc::new(*template));
                None
            }
            Change::RemoveTemplate(id) => {
                self.templates.remove(&id);
                None
            }
        }
    }

    pub(crate) fn job(&self, kind: Kind, id: &str) -> Result<&Arc<Job>, Refused> {
        self.jobs
            .get(&Key::new(kind, id))
            .ok_or_else(|| Refused::Unknown(id.to_owned()))
    }

    /// Returns the jobs of a kind, oldest first.
    pub(crate) fn jobs(&self, kind: Kind) -> Vec<Arc<Job>> {
        let of_kind = self.jobs.values().filter(|job| job.kind == kind);
        let mut jobs: Vec<Arc<Job>> = of_kind.cloned().collect();
        jobs.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        jobs
    }

    /// Finds an automation: a task, or a cron job.
    pub(crate) fn automation(&self, id: &str) -> Result<&Arc<Job>, Refused> {
        self.job(Kind::Task, id).or_else(|_| self.job(Kind::Cron, id))
    }

    /// Notes that a job's user has read of runs, or has not. Returns the job.
    pub(crate) fn note_read(
        &self,
        id: &str,
        runs: &[String],
        read_at: Option<UnixMillis>,
    ) -> Decided<Arc<Job>> {
        let mut job = (**self.automation(id)?).clone();
        let ids: Vec<String> = job
            .state
            .runs
            .iter()
            .map(|past| job.run_id(past.run.number))
            .collect();
        if let Some(unknown) = runs.iter().find(|run| !ids.contains(run)) {
            return Err(Refused::Invalid(format!("There is no ended run '{unknown}'.")));
        }
        for (past, id) in job.state.runs.iter_mut().zip(&ids) {
            if runs.contains(id) {
                past.read_at = read_at;
            }
        }
        Ok(put(job))
    }

    /// Notes whether a chat has the result of a run. A job that runs once may be gone.
    pub(crate) fn note_delivery(&self, key: &Key, number: u32, delivered: bool) -> Vec<Change> {
        let Ok(job) = self.job(key.kind, &key.id) else {
            return Vec::new();
        };
        let mut job = (**job).clone();
        let mut runs = job.state.runs.iter_mut();
        if let Some(past) = runs.find(|past| past.run.number == number) {
            past.delivered = Some(delivered);
        }
        vec![Change::Put(Box::new(job))]
    }

    /// Returns what the end of the last process changes: interrupted runs go on, and results on their way to a chat count as
    /// lost.
    pub(crate) fn after_restart(&self) -> Vec<Change> {
        let changed = self.jobs.values().filter_map(|job| {
            let mut after = (**job).clone();
            if after.state.run.is_some() {
                let note = "The server ended during the run, which went on after the restart.";
                after.state.note = Some(note.to_owned());
            }
            let runs = after.state.runs.iter_mut();
            for past in runs.filter(|past| job.deliver.is_some() && past.delivered.is_none()) {
                past.delivered = Some(false);
            }
            (after != **job).then(|| Change::Put(Box::new(after)))
        });
        changed.collect()
    }

    /// Returns the jobs that are running.
    pub(crate) fn running(&self) -> Vec<Arc<Job>> {
        let running = self.jobs.values().filter(|job| job.state.run.is_some());
        running.cloned().collect()
    }

    pub(crate) fn templates(&self) -> Vec<Arc<Template>> {
        self.templates.values().cloned().collect()
    }

    pub(crate) fn template(&self, id: &str) -> Option<&Arc<Template>> {
        self.templates.get(id)
    }

    pub(crate) fn put_template(&self, template: Template) -> Decided<Arc<Template>> {
        if !self.templates.contains_key(&template.id) && self.templates.len() >= MAX_TEMPLATES {
            return Err(Refused::Invalid(format!(
                "There are {MAX_TEMPLATES} templates, which is as many as there may be; delete one first."
            )));
        }
        let answer = Arc::new(template.clone());
        Ok((vec![Change::PutTemplate(Box::new(template))], answer))
    }

    pub(crate) fn add(&self, job: Job) -> Decided<Arc<Job>> {
        if self.jobs.contains_key(&job.key()) {
            return Err(Refused::Exists(job.id));
        }
        if self.jobs.len() >= MAX_JOBS {
            return Err(Refused::Invalid(format!(
                "There are {MAX_JOBS} jobs, which is as many as there may be; remove one first."
            )));
        }
        Ok(put(job))
    }

    /// Adds a job whose id was made of its name and the second. A number distinguishes jobs of the same second.
    pub(crate) fn add_numbered(&self, mut job: Job) -> Decided<Arc<Job>> {
        let id = job.id.clone();
        let mut number = 1;
        while self.jobs.contains_key(&job.key()) {
            number += 1;
            job.id = format!("{id}-{number}");
        }
        self.add(job)
    }

    /// Changes an existing job.
    pub(crate) fn edit(
        &self,
        key: &Key,
        now: UnixMillis,
        change: impl FnOnce(&mut Job) -> Result<(), Refused>,
    ) -> Decided<Arc<Job>> {
        let mut job = (**self.job(key.kind, &key.id)?).clone();
        change(&mut job)?;
        job.updated_at = now;
        job.changes += 1;
        Ok(put(job))
    }

    pub(crate) fn remove(&self, key: Key) -> Decided<()> {
        self.job(key.kind, &key.id)?;
        Ok((vec![Change::Remove(key)], ()))
    }

    pub(crate) fn enable(&self, id: &str, enabled: bool, now: UnixMillis) -> Decided<Arc<Job>> {
        self.edit(&Key::new(Kind::Cron, id), now, |job| {
            if enabled {
                return switch_on(job, now);
            }
            job.enabled = false;
            Ok(())
        })
    }

    /// Requests a run as soon as there is room. Returns the job, and `false` if it is running already. A task that was
    /// switched off is switched on, since clients have no other way to do so.
    pub(crate) fn run_now(&self, key: &Key, now: UnixMillis) -> Decided<(Arc<Job>, bool)> {
        let known = self.job(key.kind, &key.id)?;
        if known.state.run.is_some() {
            return Ok((Vec::new(), (known.clone(), false)));
        }
        let mut job = (**known).clone();
        if job.kind == Kind::Task && !job.enabled {
            switch_on(&mut job, now)?;
        }
        job.state.wanted_now = true;
        job.state.wanted_at.get_or_insert(now);
        let (changes, job) = put(job);
        Ok((changes, (job, true)))
    }

    /// Requests a run as soon as there is room, also of a job that is switched off: it stays off.
    pub(crate) fn run_once(&self, key: &Key, now: UnixMillis) -> Decided<(Arc<Job>, bool)> {
        let known = self.job(key.kind, &key.id)?;
        if known.state.run.is_some() || known.state.wanted_now {
            return Ok((Vec::new(), (known.clone(), false)));
        }
        let mut job = (**known).clone();
        job.state.wanted_now = true;
        job.state.wanted_at = Some(now);
        let (changes, job) = put(job);
        Ok((changes, (job, true)))
    }

    /// Checks every job and returns the changes: due jobs start as far as there is room.
    pub(crate) fn look(&self, now: UnixMillis) -> Vec<Change> {
        let mut room = MAX_RUNNING.saturating_sub(self.running().len());
        let mut first: Vec<&Arc<Job>> = self.jobs.values().collect();
        first.sort_by_key(|job| (!job.state.wanted_now, job.state.due));
        let mut changes = Vec::new();
        for job in first {
            let verdict = job.times().map_or(Verdict::Wait, |times| times.look(now));
            let wanted = job.state.wanted_now && job.state.run.is_none();
            let starts = wanted || matches!(verdict, Verdict::Run { .. });
            if verdict == Verdict::Wait && !starts || starts && room == 0 {
                continue;
            }
            let mut job = (**job).clone();
            if let Some(times) = job.times()
                && verdict != Verdict::Wait
            {
                match times.next(verdict, now) {
                    Ok(due) => job.state.due = due,
                    Err(bad) => {
                        job.enabled = false;
                        job.state.note = Some(format!("Switched off: {bad}"));
                    }
                }
                job.state.set_at = now;
            }
            match verdict {
                _ if starts => {
                    room -= 1;
                    let late_ms = match verdict {
                        Verdict::Run { late_ms } => late_ms,
                        Verdict::Wait | Verdict::LeaveOut(_) | Verdict::Correct => None,
                    };
                    job.state.wanted_now = false;
                    job.state.note = None;
                    let wanted_at = job.state.wanted_at.take();
                    job.state.run_count += 1;
                    job.state.run = Some(Run {
                        started_at: now,
                        number: job.state.run_count,
                        created_at: wanted_at.unwrap_or(now),
                        changes: job.changes,
                        by_clock: wanted_at.is_none(),
                        late_ms,
                        thread: None,
                    });
                }
                Verdict::LeaveOut(LeftOut::StillRunning) => {
                    job.state.note = Some("Left out: its last run was still going on.".to_owned());
                }
                Verdict::LeaveOut(LeftOut::Missed) => {
                    job.state.note = Some("Left out: its time passed while nothing ran here.".to_owned());
                }
                Verdict::Wait | Verdict::Run { .. } | Verdict::Correct => {}
            }
            changes.push(Change::Put(Box::new(job)));
        }
        changes
    }

    /// Returns when the next job is due.
    pub(crate) fn next_due(&self) -> Option<UnixMillis> {
        let enabled = self.jobs.values().filter_map(|job| job.times());
        enabled.map(|times| times.due).min()
    }

    /// Records the Thread of a run, before its Turn starts.
    pub(crate) fn note_thread(&self, key: &Key, thread: ThreadId) -> Decided<()> {
        let mut job = (**self.job(key.kind, &key.id)?).clone();
        if let Some(run) = &mut job.state.run {
            run.thread = Some(thread);
        }
        Ok((vec![Change::Put(Box::new(job))], ()))
    }

    /// Records that a run has ended. Returns the job, or `None` if it was removed meanwhile.
    pub(crate) fn ended(&self, key: &Key, end: &RunEnd, now: UnixMillis) -> (Vec<Change>, Option<Arc<Job>>) {
        let Ok(known) = self.job(key.kind, &key.id) else {
            return (Vec::new(), None);
        };
        let mut job = (**known).clone();
        if job.ended(end, now) {
            let answer = Some(Arc::new(job));
            return (vec![Change::Remove(key.clone())], answer);
        }
        let (changes, job) = put(job);
        (changes, Some(job))
    }
}

/// Switches a job on again and resets its failures.
pub(crate) fn switch_on(job: &mut Job, now: UnixMillis) -> Result<(), Refused> {
    job.enabled = true;
    job.state.failures = 0;
    job.state.note = None;
    if job.state.due.is_none_or(|due| due <= now) {
        let schedule = job.schedule.as_ref();
        let first = schedule.map(|schedule| schedule.first(now)).transpose();
        job.state.due = first.map_err(|bad| Refused::Invalid(bad.0))?;
        job.state.set_at = now;
    }
    Ok(())
}

fn put(job: Job) -> (Vec<Change>, Arc<Job>) {
    let answer = Arc::new(job.clone());
    (vec![Change::Put(Box::new(job))], answer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_on_their_way_to_a_chat_are_lost_with_the_process() {
        let past = |number: u32, delivered: Option<bool>| {
            let run = json!({ "number": number, "createdAt": 1, "startedAt": 1 });
            json!({ "run": run, "completedAt": 2, "outcome": "succeeded", "delivered": delivered })
        };
        let job = |id: &str, chat: serde_json::Value| -> Job {
            let runs = [past(3, None), past(2, Some(true)), past(1, Some(false))];
            serde_json::from_value(json!({
                "kind": "cron", "id": id, "name": "Tea", "prompt": "Make tea.", "enabled": true, "createdAt": 1,
                "updatedAt": 1, "rights": { "config": {}, "approvals": "default" }, "deliver": chat,
                "state": { "runs": runs },
            }))
            .unwrap()
        };
        let mut book = Book::default();
        for job in [
            job("chat", json!({ "channel": "pigeon", "target": "roof" })),
            job("none", json!(null)),
        ] {
            book.apply(Change::Put(Box::new(job)));
        }
        let changes = book.after_restart();
        let [Change::Put(changed)] = &changes[..] else {
            panic!("{changes:?}");
        };
        let delivered: Vec<_> = changed.state.runs.iter().map(|past| past.delivered).collect();
        assert_eq!(delivered, [Some(false), Some(true), Some(false)]);
        for change in changes {
            book.apply(change);
        }
        assert!(book.after_restart().is_empty(), "once");
    }
}
