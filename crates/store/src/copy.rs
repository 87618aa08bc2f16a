//! Copies the conversations of one store into another, of whatever kind each is.
//!
//! A Thread is its events: the other store makes its rows of them, as it does with a server's own writes. Event numbers stay,
//! so cursors of clients stay good. What the other store has of a Thread already is not written again: a copy that was
//! interrupted goes on, and a later copy brings what is new.

use std::sync::Arc;

use bobbin_model::state::LiveTurn;
use bobbin_model::{ItemStatus, Scope, Seq, StandingAnswer, ThreadId, ThreadState};

use crate::{
    ListFilter, ScheduleChange, ScheduleStore, Store, StoreError, StoredEvent, Summary, TextPart, Write,
    decoded,
};

/// Events, and Threads of a list, that are read at a time.
const PAGE: u32 = 256;
/// Most answers for ever that are copied; users give each of them by hand.
const MAX_ANSWERS: u32 = 10_000;

/// The result of a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// Threads of which the other store got something.
    pub copied: u32,
    /// Threads that it had already.
    pub known: u32,
    /// Threads that went on in both stores. They were left as they are.
    pub different: Vec<ThreadId>,
    /// Answers for ever that were copied.
    pub answers: usize,
    /// Entries of the schedule that were copied.
    pub scheduled: usize,
    /// Entries of the audit that were copied; `None` if the audits of both stores went on apart.
    pub audited: Option<usize>,
}

/// Copies all Threads, answers for ever, the schedule and the audit. No server may use either store meanwhile. Requests that clients
/// have named are not copied.
///
/// # Errors
/// One of the stores fails. Threads that were copied before stay.
pub async fn copy<A, B>(from: &A, to: &B) -> Result<Copied, StoreError>
where
    A: Store + ScheduleStore + ?Sized,
    B: Store + ScheduleStore + ?Sized,
{
    let mut done = Copied {
        audited: audit(from, to).await?,
        ..Copied::default()
    };
    let mut filter = ListFilter {
        everything: true,
        limit: Some(PAGE),
        ..ListFilter::default()
    };
    let mut last = None;
    loop {
        let page = from.list(filter.clone()).await?;
        let Some(end) = page.last() else { break };
        filter.after = Some((end.header.last_active_at, end.header.id.clone()));
        for summary in page {
            let id = summary.header.id;
            match thread(from, to, &id).await? {
                Outcome::Copied(state) => {
                    done.copied += 1;
                    last = Some(*state);
                }
                Outcome::Known(state) => {
                    done.known += 1;
                    last = Some(*state);
                }
                Outcome::Different => done.different.push(id),
                Outcome::Gone => {}
            }
        }
    }
    let answers = from.standing_answers(MAX_ANSWERS).await?;
    if let Some(state) = last {
        done.answers = answers.len();
        for answer in answers {
            let remember = Some(scope(answer));
            submit(
                to,
                Write {
                    remember,
                    ..write(&state, Vec::new(), Seq(0))
                },
            )
            .await?;
        }
    }
    let entries = from.schedule().await?;
    done.scheduled = entries.len();
    let changes = entries.into_iter().map(ScheduleChange::Put).collect();
    to.change_schedule(changes).await?;
    Ok(done)
}

/// How the copy of a Thread has ended.
enum Outcome {
    Copied(Box<ThreadState>),
    Known(Box<ThreadState>),
    Different,
    Gone,
}

async fn thread<A, B>(from: &A, to: &B, id: &ThreadId) -> Result<Outcome, StoreError>
where
    A: Store + ?Sized,
    B: Store + ?Sized,
{
    let Some(source) = from.load(id).await? else {
        return Ok(Outcome::Gone);
    };
    let there = to.load(id).await?;
    let mut known = Seq(0);
    if let Some(there) = &there
        && let Some(newest) = to.recent_events(id, there.head_seq, 1).await?.pop()
    {
        known = newest.seq;
        let before = Seq(known.0.saturating_sub(1));
        if from.events(id, before, known, 1).await?.pop() != Some(newest) {
            return Ok(Outcome::Different);
        }
    }
    let mut state = ThreadState::new(source.state.header.clone());
    let mut after = Seq(0);
    loop {
        let page = from.events(id, after, source.head_seq, PAGE).await?;
        let Some(newest) = page.last().map(|stored| stored.seq) else {
            break;
        };
        after = newest;
        for stored in &page {
            state.apply(&stored.event, stored.at);
        }
        let new: Vec<_> = page.into_iter().filter(|stored| stored.seq > known).collect();
        if !new.is_empty() {
            submit(to, write(&state, new, newest)).await?;
        }
    }
    let has_text = there.as_ref().is_some_and(|there| there.state.live.is_some());
    let text = source.state.live.as_ref().filter(|_| !has_text).map(streamed);
    let text = text.unwrap_or_default();
    let is_known = after == known && text.is_empty();
    if !is_known || there.is_some_and(|there| there.head_seq < source.head_seq) {
        submit(
            to,
            Write {
                text,
                ..write(&state, Vec::new(), source.head_seq)
            },
        )
        .await?;
    }
    let state = Box::new(state);
    Ok(if is_known {
        Outcome::Known(state)
    } else {
        Outcome::Copied(state)
    })
}

/// Returns the text of an open Turn's Items, which no event has.
fn streamed(live: &LiveTurn) -> Vec<TextPart> {
    let open = live
        .turn
        .items
        .iter()
        .filter(|item| item.status != ItemStatus::Completed);
    let parts = open.filter_map(|item| {
        let text = match live.arguments.get(&item.id) {
            Some(arguments) => arguments,
            None => item.body.text()?,
        };
        (!text.is_empty()).then(|| TextPart {
            turn: live.turn.id,
            item: item.id,
            text: Arc::from(text),
        })
    });
    parts.collect()
}

/// Returns the scope that is remembered as an answer.
fn scope(answer: StandingAnswer) -> Scope {
    Scope {
        conditions: answer.conditions,
        ..Scope::new(answer.kind, answer.operation, answer.target)
    }
}

fn write(state: &ThreadState, events: Vec<StoredEvent>, head_seq: Seq) -> Write {
    Write {
        thread: state.header.id.clone(),
        owner: 0,
        state: Summary::of(state, &events),
        events,
        head_seq,
        text: Vec::new(),
        remember: None,
        request: None,
        audit: Vec::new(),
    }
}

/// Copies the entries of the audit that the other store does not have yet. Returns their number; `None` if the audits went
/// on in both stores, so that one chain cannot have both.
async fn audit<A, B>(from: &A, to: &B) -> Result<Option<usize>, StoreError>
where
    A: Store + ?Sized,
    B: Store + ?Sized,
{
    let mut after = 0;
    loop {
        let (ours, theirs) = (from.audit(after, PAGE).await?, to.audit(after, PAGE).await?);
        let common = ours.len().min(theirs.len());
        if ours[..common] != theirs[..common] {
            return Ok(None);
        }
        if common < theirs.len() {
            return Ok(Some(0));
        }
        after += theirs.len() as u64;
        if theirs.len() < PAGE as usize {
            break;
        }
    }
    let mut copied = 0;
    loop {
        let rows = from.audit(after, PAGE).await?;
        let Some(last) = rows.last() else {
            return Ok(Some(copied));
        };
        after = last.seq;
        copied += rows.len();
        to.record(rows.iter().filter_map(decoded).collect(), None).await?;
    }
}

async fn submit<S: Store + ?Sized>(to: &S, write: Write) -> Result<(), StoreError> {
    to.submit(write).await?.await
}
