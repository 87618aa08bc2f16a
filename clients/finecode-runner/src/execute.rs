//! Runs handlers of one action: one after the other, or side by side.

use std::sync::Arc;

use bobbin_peer::PeerHandle;
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Json;
use crate::action::{Done, Entry, Failure, RawHandler};
use crate::answer::{Format, Shape, formats};
use crate::call::{RawCall, Run, notify_progress};
use crate::wal::Wal;

/// A handler with its name and its configuration.
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) handler: RawHandler,
    pub(crate) config: Value,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Success,
    Streamed,
    Stopped,
}

impl Status {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Streamed => "streamed",
            Self::Stopped => "stopped",
        }
    }
}

/// Sends partial results to a caller who asked for them. Once one is sent, results that handlers return are sent too.
pub(crate) struct Partials {
    token: Option<Value>,
    shape: Shape,
    formats: Vec<Format>,
    render: fn(&RawValue) -> Result<(String, i64), Failure>,
    state: Mutex<Sent>,
}

#[derive(Default)]
struct Sent {
    any: bool,
    /// Results that were returned before the first partial one.
    returned: Vec<Json>,
}

impl Partials {
    pub(crate) fn new(token: Option<Value>, shape: Shape, formats: Vec<Format>, entry: &Entry) -> Self {
        Self {
            token,
            shape,
            formats,
            render: entry.render,
            state: Mutex::default(),
        }
    }

    pub(crate) async fn send(&self, peer: &PeerHandle, result: &RawValue) -> Result<(), Failure> {
        let Some(token) = &self.token else {
            return Ok(());
        };
        let returned = {
            let mut state = self.state.lock();
            state.any = true;
            std::mem::take(&mut state.returned)
        };
        for result in returned.iter().map(AsRef::as_ref).chain([result]) {
            let value = match self.shape {
                Shape::Current => formats(&self.formats, result, self.render)?.get().to_owned(),
                Shape::Plain | Shape::Documented | Shape::Both => result.get().to_owned(),
            };
            notify_progress(peer, token, &value).await?;
        }
        Ok(())
    }

    /// Notes a result that a handler has returned.
    async fn returned(&self, peer: &PeerHandle, result: &RawValue) -> Result<(), Failure> {
        let streaming = {
            let mut state = self.state.lock();
            if !state.any {
                state.returned.push(result.to_owned());
            }
            state.any
        };
        if streaming {
            self.send(peer, result).await?;
        }
        Ok(())
    }

    pub(crate) fn any(&self) -> bool {
        self.state.lock().any
    }
}

/// Runs handlers. Returns how that ended and the merged result, which is filled also when it was streamed.
pub(crate) async fn execute(
    entry: &Entry,
    steps: Vec<Step>,
    run: &Arc<Run>,
    previous: Option<Json>,
    wal: &Wal,
) -> Result<(Status, Option<Json>), Failure> {
    let (stopped, result) = if entry.concurrent {
        let steps = steps.into_iter().map(|step| one(entry, step, run, None, wal));
        let mut results: Vec<_> = previous.into_iter().collect();
        let mut stopped = false;
        for ended in join_all(steps).await {
            let (stop, result) = ended?;
            stopped |= stop;
            results.extend(result);
        }
        (stopped, merge(entry, &results)?)
    } else {
        let mut current = previous;
        let mut stopped = false;
        for step in steps {
            let (stop, result) = one(entry, step, run, current.clone(), wal).await?;
            let all: Vec<_> = current.take().into_iter().chain(result).collect();
            current = merge(entry, &all)?;
            if stop {
                stopped = true;
                break;
            }
        }
        (stopped, current)
    };
    let status = match (stopped, run.partials.any()) {
        (true, _) => Status::Stopped,
        (false, true) => Status::Streamed,
        (false, false) => Status::Success,
    };
    Ok((status, result))
}

/// Runs one handler. Returns whether it stops the run, and its result with its partial results.
async fn one(
    entry: &Entry,
    step: Step,
    run: &Arc<Run>,
    current: Option<Json>,
    wal: &Wal,
) -> Result<(bool, Option<Json>), Failure> {
    let Step {
        name,
        handler,
        config,
    } = step;
    let sent = Arc::new(Mutex::new(Vec::new()));
    let call = RawCall {
        run: run.clone(),
        concurrent: entry.concurrent,
        current,
        config,
        sent: sent.clone(),
    };
    wal.write("handler.started", &name);
    let done = handler(call).await.map_err(|Failure(why)| {
        wal.write("handler.failed", &name);
        Failure(format!("handler {name} failed: {why}"))
    })?;
    wal.write("handler.completed", &name);
    let (stop, result) = match done {
        Done::Result(result) => (false, Some(result)),
        Done::Nothing => (false, None),
        Done::Stop(result) => (true, Some(result)),
    };
    if let Some(result) = &result {
        run.partials.returned(&run.peer, result).await?;
    }
    let mut all = std::mem::take(&mut *sent.lock());
    all.extend(result);
    Ok((stop, merge(entry, &all)?))
}

/// Merges results; one result stays as it is.
pub(crate) fn merge(entry: &Entry, results: &[Json]) -> Result<Option<Json>, Failure> {
    match results {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        many => {
            let many: Vec<&RawValue> = many.iter().map(AsRef::as_ref).collect();
            (entry.merge)(&many)
        }
    }
}
