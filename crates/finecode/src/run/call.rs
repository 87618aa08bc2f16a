//! One call of a runner that runs handlers: tokens, partial results, progress, cancellation.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bobbin_finecode_wire::Json;
use bobbin_peer::{CallError, code};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Delivery, RunEvent};
use crate::conn::{Conn, check, explained};
use crate::error::RunError;
use crate::host::Inner;
use crate::wire::{
    Format, Options, RunAnswer, RunParams, SegmentParams, Unusable, options, read_answer, read_partial,
    read_progress,
};

/// How long a runner may take to merge results, which need no handler.
const MERGE: Duration = Duration::from_mins(2);
/// The silence after which users are notified which runner the run waits for.
const NOTICE: Duration = Duration::from_secs(10);
/// Most bytes of partial results that are stored to be merged.
const MAX_PARTIALS: usize = 64 << 20;

/// An action or a segment that a runner is to run.
pub(crate) struct Call<'a> {
    pub(crate) conn: &'a Arc<Conn>,
    pub(crate) action: &'a str,
    pub(crate) payload: &'a RawValue,
    pub(crate) formats: &'a [Format],
    /// For `actions/runHandlers`.
    pub(crate) segment: Option<SegmentCall<'a>>,
    /// Whether the caller's progress is that of this call.
    pub(crate) progress: bool,
}

/// A segment's handlers, with the result and context of the segment before.
#[derive(Default)]
pub(crate) struct SegmentCall<'a> {
    pub(crate) handlers: &'a [String],
    pub(crate) previous: Option<&'a RawValue>,
    pub(crate) context: Option<&'a RawValue>,
}

/// Ends what belongs to a call. If it has no answer yet, its runner must show that it still answers.
struct Open<'a> {
    inner: &'a Inner,
    conn: &'a Arc<Conn>,
    number: u64,
    tokens: Vec<u64>,
    answered: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        for token in &self.tokens {
            self.conn.unroute(*token);
        }
        self.conn.leave(self.number);
        // Without a runtime the server is gone, and its runners with it.
        if !self.answered
            && self.conn.is_usable()
            && !self.conn.checking.swap(true, Ordering::Relaxed)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            self.inner.tasks.spawn_on(check(self.conn.clone()), &runtime);
        }
    }
}

impl Inner {
    /// Makes one call. Returns its answer, and its partial results if it is a segment.
    pub(crate) async fn call(
        &self,
        delivery: &Delivery<'_>,
        call: Call<'_>,
    ) -> Result<(RunAnswer, Vec<Json>), RunError> {
        let Call { conn, segment, .. } = call;
        let context = delivery.context;
        let mut open = Open {
            inner: self,
            conn,
            number: self.next(),
            tokens: Vec::new(),
            answered: false,
        };
        conn.enter(open.number, context.cancel.clone(), context.client);
        let stored = Arc::new(StoredPartials::default());
        let partial_token = context.partial_results.then(|| self.next());
        if let (Some(token), Some(sink)) = (partial_token, &context.sink) {
            open.tokens.push(token);
            let (sink, any, project) = (sink.clone(), delivery.any.clone(), delivery.project.clone());
            let stored = segment.is_some().then(|| stored.clone());
            let route = move |value: &str| {
                let Some(partial) = read_partial(value) else {
                    tracing::debug!("a partial result cannot be read");
                    return;
                };
                if let (Some(stored), Some(json)) = (&stored, &partial.json) {
                    stored.push(json);
                }
                any.store(true, Ordering::Relaxed);
                sink(RunEvent::Partial {
                    project: project.clone(),
                    json: partial.json,
                    text: partial.text,
                });
            };
            conn.route(token, Arc::new(route));
        }
        let progress_token = (call.progress && context.sink.is_some()).then(|| self.next());
        if let (Some(token), Some(sink)) = (progress_token, &context.sink) {
            open.tokens.push(token);
            let (sink, part, progress) = (sink.clone(), context.progress.part(), context.progress.clone());
            let route = move |value: &str| {
                if let Some(event) = read_progress(value) {
                    progress.take(part, event, |event| sink(RunEvent::Progress(event)));
                }
            };
            conn.route(token, Arc::new(route));
        }
        let options = Options {
            trigger: context.trigger,
            dev_env: context.dev_env,
            depth: context.depth,
            formats: call.formats,
            run_id: &context.id,
            partial_token,
            progress_token,
            caller_kwargs: context.caller_kwargs.as_deref().filter(|_| segment.is_none()),
            traceparent: context.traceparent.as_deref(),
        };
        let method = match segment {
            Some(_) => "actions/runHandlers",
            None => "actions/run",
        };
        let params = RunParams {
            action_name: call.action,
            params: call.payload,
            segment: segment.map(|segment| SegmentParams {
                handler_names: segment.handlers,
                previous_result: segment.previous,
                previous_context: segment.context,
                caller_kwargs: context.caller_kwargs.as_deref(),
            }),
            options: options_of(&options, conn),
        };
        let asked = conn.peer.call_raw(method, &params, None);
        let answer = self.unless_silent(conn, call.action, asked).await?;
        open.answered = true;
        let answer = answer.map_err(|error| failed(conn, error))?;
        let answer = read_answer(&answer).map_err(|unusable| match unusable {
            Unusable::Failed(text) => RunError::Action(text),
            Unusable::Protocol(problem) => protocol(conn, problem),
        })?;
        drop(open);
        let partials = stored.take().ok_or_else(|| {
            protocol(
                conn,
                format!("its partial results have more than {} MiB", MAX_PARTIALS >> 20),
            )
        })?;
        Ok((answer, partials))
    }

    /// Waits for the end of a run for as long as its runner gives signs of life. Users are notified once.
    async fn unless_silent<T>(
        &self,
        conn: &Conn,
        action: &str,
        run: impl Future<Output = T>,
    ) -> Result<T, RunError> {
        let Some(limit) = conn.longest_silence else {
            return Ok(run.await);
        };
        let notice = NOTICE.min(limit / 2);
        let mut run = pin!(run);
        let mut next = notice;
        loop {
            let silence = conn.silence();
            if silence >= limit {
                // The run would occupy this runner for ever, so the next run gets a new runner.
                conn.give_up();
                return Err(RunError::Silent {
                    project: conn.project_name.clone(),
                    env: conn.env.clone(),
                    action: action.to_owned(),
                    silence: limit,
                    log: conn.log(),
                });
            }
            if silence >= next {
                next = limit;
                let text = format!(
                    "{action} has given no sign for {} s; Bobbin ends it after {} s of silence",
                    silence.as_secs(),
                    limit.as_secs()
                );
                conn.note(self, text);
            }
            tokio::select! {
                biased;
                done = &mut run => return Ok(done),
                () = tokio::time::sleep(next.saturating_sub(silence)) => {}
            }
        }
    }

    /// Has a runner merge results.
    pub(crate) async fn merge(&self, conn: &Conn, action: &str, results: &[Json]) -> Result<Json, RunError> {
        #[derive(Deserialize)]
        struct Merged {
            merged: Option<Json>,
            error: Option<String>,
        }
        if let [one] = results {
            return Ok(one.clone());
        }
        let params = MergeParams {
            action_name: action,
            results,
        };
        let answer = conn
            .peer
            .call_with_timeout::<Merged>("actions/mergeResults", params, MERGE);
        match answer.await.map_err(|error| failed(conn, error))? {
            Merged {
                error: Some(error), ..
            } => Err(RunError::Action(error)),
            Merged {
                merged: Some(merged), ..
            } => Ok(merged),
            Merged { .. } => Err(protocol(conn, "it merged results and returned none".to_owned())),
        }
    }
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct MergeParams<'a> {
    action_name: &'a str,
    results: &'a [Json],
}

fn options_of(all: &Options<'_>, conn: &Conn) -> serde_json::Value {
    options(all, conn.speech.dialect)
}

/// Partial results that are stored to be merged. `None` once they are too large.
struct StoredPartials(Mutex<Option<Vec<Json>>>, AtomicUsize);

impl Default for StoredPartials {
    fn default() -> Self {
        Self(Mutex::new(Some(Vec::new())), AtomicUsize::new(0))
    }
}

impl StoredPartials {
    fn push(&self, json: &RawValue) {
        let bytes = self.1.fetch_add(json.get().len(), Ordering::Relaxed);
        let mut stored = self.0.lock();
        if bytes + json.get().len() > MAX_PARTIALS {
            *stored = None;
        }
        if let Some(stored) = stored.as_mut() {
            stored.push(json.to_owned());
        }
    }

    fn take(&self) -> Option<Vec<Json>> {
        self.0.lock().take()
    }
}

pub(crate) fn protocol(conn: &Conn, problem: String) -> RunError {
    RunError::Protocol {
        project: conn.project_name.clone(),
        env: conn.env.clone(),
        problem,
    }
}

/// Returns why a call has no answer.
pub(crate) fn failed(conn: &Conn, error: CallError) -> RunError {
    let (project, env) = (conn.project_name.clone(), conn.env.clone());
    match error {
        CallError::Remote(error) if error.code == code::CANCELLED => RunError::Cancelled,
        CallError::Remote(error) => RunError::Rpc {
            project,
            env,
            code: error.code,
            message: error.message.into_owned(),
        },
        CallError::ShutDown => RunError::Stopped {
            project,
            env,
            log: conn.log(),
        },
        CallError::TimedOut(limit) => RunError::NoAnswer {
            project,
            env,
            limit,
            log: conn.log(),
        },
        error @ (CallError::Send(_) | CallError::Decode(_)) => protocol(conn, explained(&error)),
    }
}
