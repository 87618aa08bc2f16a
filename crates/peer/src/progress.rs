//! Progress: tokens in params, values in notifications, as the connection's dialect has them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::call::Call;
use crate::calls::{Renewal, Timeout};
use crate::encode;
use crate::error::{CallError, SendError};
use crate::handle::PeerHandle;
use crate::members;
use crate::options::ProgressDialect;
use crate::shared::Shared;

/// Most values that may wait for one call; beyond it the newest is dropped with a debug entry.
const MAX_WAITING_VALUES: usize = 256;

/// The token in a request's params.
pub(crate) fn token_in(dialect: &ProgressDialect, params: Option<&RawValue>) -> Option<Value> {
    let token = members::at_path(params?, &dialect.token_path)?;
    let token: Value = serde_json::from_str(token.get()).ok()?;
    (token.is_string() || token.is_number()).then_some(token)
}

/// Params of a progress notification.
pub(crate) fn params(
    dialect: &ProgressDialect,
    token: &Value,
    value: &impl Serialize,
) -> Result<Vec<u8>, SendError> {
    let value = serde_json::to_value(value)?;
    let mut params = match (&dialect.value_member, value) {
        (Some(member), value) => Map::from_iter([(member.clone(), value)]),
        (None, Value::Object(members)) => members,
        (None, _) => return Err(SendError::NotStructured),
    };
    params.insert(dialect.token_member.clone(), token.clone());
    Ok(serde_json::to_vec(&params)?)
}

/// Puts a token into the params of a call of our own.
pub(crate) fn insert_token(
    dialect: &ProgressDialect,
    token: u64,
    params: &impl Serialize,
) -> Result<Vec<u8>, SendError> {
    let mut params = match serde_json::to_value(params)? {
        Value::Null => Value::Object(Map::new()),
        object @ Value::Object(_) => object,
        _ => return Err(SendError::NotStructured),
    };
    let mut place = &mut params;
    for member in &dialect.token_path {
        let Value::Object(members) = place else {
            return Err(SendError::NotStructured);
        };
        place = members
            .entry(member.clone())
            .or_insert_with(|| Value::Object(Map::new()));
    }
    *place = Value::from(token);
    Ok(serde_json::to_vec(&params)?)
}

/// Returns the token and the value of an incoming progress notification. An unwanted value is not read.
pub(crate) fn read(
    dialect: &ProgressDialect,
    params: Option<&RawValue>,
    wanted: impl FnOnce(u64) -> bool,
) -> Option<(u64, Option<Value>)> {
    let member = |name: &String| members::at_path(params?, std::slice::from_ref(name));
    let token = serde_json::from_str(member(&dialect.token_member)?.get()).ok()?;
    if !wanted(token) {
        return Some((token, None));
    }
    let value = match &dialect.value_member {
        Some(name) => member(name).map_or(Ok(Value::Null), |value| serde_json::from_str(value.get())),
        None => serde_json::from_str(params?.get()).map(|mut value: Map<String, Value>| {
            value.remove(&dialect.token_member);
            Value::Object(value)
        }),
    };
    Some((token, Some(value.ok()?)))
}

/// The receivers of progress values of outgoing calls; plain data.
#[derive(Debug, Default)]
pub(crate) struct ProgressTable {
    open: HashMap<u64, mpsc::Sender<Value>>,
}

/// What happened to a progress value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Delivered,
    /// No call has this token, or its call has ended.
    NoCall,
    /// Its call has too many values waiting.
    Full,
}

impl ProgressTable {
    pub(crate) fn open(&mut self, token: u64, values: mpsc::Sender<Value>) {
        self.open.insert(token, values);
    }

    pub(crate) fn is_open(&self, token: u64) -> bool {
        self.open.contains_key(&token)
    }

    pub(crate) fn close(&mut self, token: u64) {
        self.open.remove(&token);
    }

    pub(crate) fn deliver(&mut self, token: u64, value: Value) -> Delivery {
        match self.open.get(&token).map(|sender| sender.try_send(value)) {
            None | Some(Err(mpsc::error::TrySendError::Closed(_))) => Delivery::NoCall,
            Some(Err(mpsc::error::TrySendError::Full(_))) => Delivery::Full,
            Some(Ok(())) => Delivery::Delivered,
        }
    }
}

/// How long a call with progress may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProgressDeadline {
    /// Time without an answer after which the call times out; none by default.
    pub timeout: Option<Duration>,
    /// Whether each progress value restarts that time. Default false.
    pub renew: bool,
    /// Time after which the call times out in any case; used only with `renew`.
    pub cap: Option<Duration>,
}

impl ProgressDeadline {
    fn at(self, now: Instant) -> Option<Timeout> {
        let mut timeout = Timeout::new(now, self.timeout?);
        if self.renew {
            let until = self.cap.map(|cap| Timeout::new(now, cap).deadline);
            timeout.renewal = Renewal::OnProgress { until };
        }
        Some(timeout)
    }
}

/// A call on its way that yields progress values. Dropping it abandons the call.
#[derive(Debug)]
pub struct ProgressCall {
    call: Call<Arc<Shared>>,
    values: mpsc::Receiver<Value>,
}

impl ProgressCall {
    /// Waits for the next progress value; `None` once the call has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a value is taken or it is not.
    pub async fn next(&mut self) -> Option<Value> {
        self.values.recv().await
    }

    /// Waits for the answer.
    ///
    /// # Errors
    ///
    /// As [`PeerHandle::call`].
    pub async fn answer<R: DeserializeOwned>(self) -> Result<R, CallError> {
        let result = self.call.answer().await?;
        serde_json::from_str(result.get()).map_err(CallError::Decode)
    }
}

impl PeerHandle {
    /// Calls the other side and receives progress until its answer.
    ///
    /// The connection's [`ProgressDialect`] says where the token goes; without one there are no values. At most 256
    /// values wait; beyond that the newest is dropped. Returns when the call is queued.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn call_with_progress(
        &self,
        method: &str,
        params: impl Serialize + Send,
        deadline: ProgressDeadline,
    ) -> Result<ProgressCall, CallError> {
        let timeout = deadline.at(Instant::now());
        let (sender, values) = mpsc::channel(MAX_WAITING_VALUES);
        let Some(dialect) = self.progress_dialect() else {
            let params = encode::params(&params).map_err(CallError::Send)?;
            let begun = self.begin_call(method, params, timeout, |_| None).await?;
            let call = Call::new(Arc::clone(&self.shared), begun.id);
            return Ok(ProgressCall { call, values });
        };
        let token = self.shared.peek(|state| state.calls.next_token());
        let params = insert_token(dialect, token, &params).map_err(CallError::Send)?;
        let begin = move |table: &mut ProgressTable| {
            table.open(token, sender);
            Some(token)
        };
        let begun = self.begin_call(method, Some(params), timeout, begin).await?;
        let call = Call::new(Arc::clone(&self.shared), begun.id);
        Ok(ProgressCall { call, values })
    }
}
