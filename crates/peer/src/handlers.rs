//! The tables of handlers by method, and how each handler is scheduled relative to others.
//!
//! The configure function builds them once per connection; they do not change afterwards. The connection's reader
//! owns them and drops them with itself, so handlers may hold the peer's handle.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use foldhash::HashMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::context::{CallContext, NotificationContext};
use crate::error::{ConfigError, ErrorObject, HandlerError};
use crate::lanes::Track;
use crate::layer::Layer;
use crate::responder::Responder;

/// How a handler is scheduled relative to other work of the same connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// Started at once, concurrent with everything else.
    Concurrent,
    /// Started when the work that arrived earlier in the same lane has ended. Calls and
    /// notifications may share a lane.
    Ordered(Cow<'static, str>),
    /// Started at once; later messages wait until it has ended.
    Barrier,
}

impl Mode {
    /// Ordered in the named lane.
    pub fn ordered(lane: impl Into<Cow<'static, str>>) -> Self {
        Self::Ordered(lane.into())
    }
}

/// The effect of a cancel on a running handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelStyle {
    /// Drops its future at its next await point.
    Drop,
    /// Lets it go on; the handler checks its token itself.
    Cooperative,
}

/// The settings of a registration. Made from a [`Mode`].
#[derive(Debug, Clone)]
pub struct Route {
    mode: Mode,
    cancel: Option<CancelStyle>,
    droppable: bool,
}

impl From<Mode> for Route {
    fn from(mode: Mode) -> Self {
        Self {
            mode,
            cancel: None,
            droppable: false,
        }
    }
}

impl Route {
    /// Sets the effect of a cancel. Default: [`CancelStyle::Drop`]; for deferred handlers
    /// [`CancelStyle::Cooperative`].
    ///
    /// The future of a deferred handler is dropped in either case, since it only passes work on. The style decides
    /// whether a cancelled request is answered `-32800` at once, or by its new owner.
    #[must_use]
    pub fn cancel(mut self, style: CancelStyle) -> Self {
        self.cancel = Some(style);
        self
    }

    /// Allows dropping waiting notifications of this handler, oldest first, when too many wait.
    #[must_use]
    pub fn droppable(mut self) -> Self {
        self.droppable = true;
        self
    }
}

/// A running handler. Calls answer through their [`Responder`]; an error goes to the log.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send>>;
type CallFn = Arc<dyn Fn(CallContext, Responder) -> HandlerFuture + Send + Sync>;
type NotificationFn = Arc<dyn Fn(NotificationContext) -> HandlerFuture + Send + Sync>;

/// A call handler as the connection runs it.
pub(crate) struct CallEntry {
    pub(crate) method: Arc<str>,
    pub(crate) run: CallFn,
    pub(crate) track: Track,
    pub(crate) inline: bool,
    pub(crate) drops_on_cancel: bool,
}

/// A notification handler as the connection runs it.
pub(crate) struct NotificationEntry {
    pub(crate) method: Arc<str>,
    pub(crate) run: NotificationFn,
    pub(crate) track: Track,
    pub(crate) inline: bool,
    pub(crate) drops_on_cancel: bool,
    pub(crate) droppable: bool,
}

impl fmt::Debug for CallEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallEntry")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for NotificationEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotificationEntry")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// Handlers of one connection, by method.
#[derive(Default)]
pub struct Handlers {
    calls: HashMap<Arc<str>, Arc<CallEntry>>,
    notifications: HashMap<Arc<str>, Arc<NotificationEntry>>,
    any_call: Option<Arc<CallEntry>>,
    any_notification: Option<Arc<NotificationEntry>>,
    ignored: Vec<String>,
    lanes: HashMap<Cow<'static, str>, usize>,
    layers: Vec<Arc<dyn Layer>>,
    /// Refuses unknown methods, if layers see them first.
    missing: Option<Arc<CallEntry>>,
    duplicate: Option<String>,
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("calls", &self.calls.keys())
            .field("notifications", &self.notifications.keys())
            .finish_non_exhaustive()
    }
}

/// The default lane of notification handlers.
const DEFAULT_LANE: &str = "";
/// The name of fallbacks in errors.
const FALLBACK: &str = "*";

impl Handlers {
    /// Creates empty tables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves a method with decoded params and an encoded result, concurrently.
    ///
    /// Params that do not decode are answered `-32602`; absent params decode as `null`, or else as
    /// an empty object.
    #[must_use]
    pub fn on_call<P, R, F, Fut>(self, method: &str, handler: F) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(CallContext, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, HandlerError>> + Send + 'static,
    {
        self.on_call_with(method, Mode::Concurrent, handler)
    }

    /// As [`on_call`](Self::on_call), with a mode or route.
    #[must_use]
    pub fn on_call_with<P, R, F, Fut>(mut self, method: &str, route: impl Into<Route>, handler: F) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(CallContext, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, HandlerError>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let run: CallFn = Arc::new(move |cx, responder| {
            let handler = Arc::clone(&handler);
            Box::pin(async move {
                match cx.decode::<P>() {
                    Err(error) => responder.err(error),
                    Ok(params) => match handler(cx, params).await {
                        Ok(result) => responder.ok(&result),
                        Err(error) => responder.fail(error),
                    },
                }
                Ok(())
            })
        });
        self.add_call(method, route.into(), run, false);
        self
    }

    /// Serves a method with raw params and a raw result.
    #[must_use]
    pub fn on_call_raw<F, Fut>(mut self, method: &str, route: impl Into<Route>, handler: F) -> Self
    where
        F: Fn(CallContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Box<RawValue>, HandlerError>> + Send + 'static,
    {
        self.add_call(method, route.into(), raw_call(handler), false);
        self
    }

    /// Serves every method that has no handler of its own with raw params and a raw result.
    #[must_use]
    pub fn fallback_call<F, Fut>(mut self, route: impl Into<Route>, handler: F) -> Self
    where
        F: Fn(CallContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Box<RawValue>, HandlerError>> + Send + 'static,
    {
        self.set_any_call(route.into(), raw_call(handler), false);
        self
    }

    /// Serves a method by passing the request on.
    ///
    /// The future only decodes and passes on the [`Responder`]. Its lane goes on as soon as the future ends. The
    /// request counts as running until the responder is used or dropped. The connection's reader polls the future
    /// first, so the future must not block.
    #[must_use]
    pub fn on_call_deferred<F, Fut>(mut self, method: &str, route: impl Into<Route>, handler: F) -> Self
    where
        F: Fn(CallContext, Responder) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.add_call(method, route.into(), deferred_call(handler), true);
        self
    }

    /// As [`on_call_deferred`](Self::on_call_deferred), for every method without a handler of its own. In one lane
    /// with [`fallback_notification_deferred`](Self::fallback_notification_deferred), it passes on everything in
    /// order of arrival.
    #[must_use]
    pub fn fallback_call_deferred<F, Fut>(mut self, route: impl Into<Route>, handler: F) -> Self
    where
        F: Fn(CallContext, Responder) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.set_any_call(route.into(), deferred_call(handler), true);
        self
    }

    /// Serves a notification with decoded params, ordered in the default lane.
    #[must_use]
    pub fn on_notification<P, F, Fut>(self, method: &str, handler: F) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        F: Fn(NotificationContext, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        self.on_notification_with(method, Mode::ordered(DEFAULT_LANE), handler)
    }

    /// As [`on_notification`](Self::on_notification), with a mode or route.
    #[must_use]
    pub fn on_notification_with<P, F, Fut>(
        mut self,
        method: &str,
        route: impl Into<Route>,
        handler: F,
    ) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        F: Fn(NotificationContext, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let run: NotificationFn = Arc::new(move |cx| {
            let handler = Arc::clone(&handler);
            Box::pin(async move {
                let params = cx.decode::<P>()?;
                handler(cx, params).await
            })
        });
        self.add_notification(method, route.into(), run, false);
        self
    }

    /// Serves a notification with raw params.
    #[must_use]
    pub fn on_notification_raw<F, Fut>(mut self, method: &str, route: impl Into<Route>, handler: F) -> Self
    where
        F: Fn(NotificationContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        self.add_notification(
            method,
            route.into(),
            Arc::new(move |cx| Box::pin(handler(cx))),
            false,
        );
        self
    }

    /// Serves a notification by passing it on; see [`on_call_deferred`](Self::on_call_deferred).
    #[must_use]
    pub fn on_notification_deferred<F, Fut>(
        mut self,
        method: &str,
        route: impl Into<Route>,
        handler: F,
    ) -> Self
    where
        F: Fn(NotificationContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.add_notification(method, route.into(), deferred_notification(handler), true);
        self
    }

    /// Serves every notification without a handler of its own with raw params.
    #[must_use]
    pub fn fallback_notification<F, Fut>(mut self, route: impl Into<Route>, handler: F) -> Self
    where
        F: Fn(NotificationContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        self.set_any_notification(route.into(), Arc::new(move |cx| Box::pin(handler(cx))), false);
        self
    }

    /// As [`on_notification_deferred`](Self::on_notification_deferred), for every notification
    /// without a handler of its own.
    #[must_use]
    pub fn fallback_notification_deferred<F, Fut>(mut self, route: impl Into<Route>, handler: F) -> Self
    where
        F: Fn(NotificationContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.set_any_notification(route.into(), deferred_notification(handler), true);
        self
    }

    /// Drops notifications silently whose method starts with `prefix` and has no handler.
    #[must_use]
    pub fn ignore_notifications(mut self, prefix: &str) -> Self {
        self.ignored.push(prefix.to_owned());
        self
    }

    /// Adds a layer around every handler and send; the first one added is the outermost.
    #[must_use]
    pub fn layer(mut self, layer: impl Layer + 'static) -> Self {
        self.layers.push(Arc::new(layer));
        let refuse = deferred_call(|cx: CallContext, responder: Responder| async move {
            responder.err(ErrorObject::method_not_found(&cx.method));
        });
        self.missing = Some(self.call_entry(FALLBACK, Mode::Concurrent.into(), refuse, true));
        self
    }

    fn track(&mut self, mode: Mode) -> Track {
        match mode {
            Mode::Concurrent => Track::Concurrent,
            Mode::Barrier => Track::Barrier,
            Mode::Ordered(lane) => {
                let next = self.lanes.len();
                Track::Lane(*self.lanes.entry(lane).or_insert(next))
            }
        }
    }

    fn call_entry(&mut self, method: &str, route: Route, run: CallFn, inline: bool) -> Arc<CallEntry> {
        let default = if inline {
            CancelStyle::Cooperative
        } else {
            CancelStyle::Drop
        };
        Arc::new(CallEntry {
            method: method.into(),
            run,
            track: self.track(route.mode),
            inline,
            drops_on_cancel: route.cancel.unwrap_or(default) == CancelStyle::Drop,
        })
    }

    fn notification_entry(
        &mut self,
        method: &str,
        route: Route,
        run: NotificationFn,
        inline: bool,
    ) -> Arc<NotificationEntry> {
        Arc::new(NotificationEntry {
            method: method.into(),
            run,
            track: self.track(route.mode),
            inline,
            drops_on_cancel: route.cancel.unwrap_or(CancelStyle::Drop) == CancelStyle::Drop,
            droppable: route.droppable,
        })
    }

    fn add_call(&mut self, method: &str, route: Route, run: CallFn, inline: bool) {
        let entry = self.call_entry(method, route, run, inline);
        match self.calls.entry(Arc::clone(&entry.method)) {
            Entry::Vacant(vacant) => {
                vacant.insert(entry);
            }
            Entry::Occupied(_) => self.duplicate = Some(method.to_owned()),
        }
    }

    fn add_notification(&mut self, method: &str, route: Route, run: NotificationFn, inline: bool) {
        let entry = self.notification_entry(method, route, run, inline);
        match self.notifications.entry(Arc::clone(&entry.method)) {
            Entry::Vacant(vacant) => {
                vacant.insert(entry);
            }
            Entry::Occupied(_) => self.duplicate = Some(method.to_owned()),
        }
    }

    fn set_any_call(&mut self, route: Route, run: CallFn, inline: bool) {
        let entry = self.call_entry(FALLBACK, route, run, inline);
        if self.any_call.replace(entry).is_some() {
            self.duplicate = Some(FALLBACK.to_owned());
        }
    }

    fn set_any_notification(&mut self, route: Route, run: NotificationFn, inline: bool) {
        let entry = self.notification_entry(FALLBACK, route, run, inline);
        if self.any_notification.replace(entry).is_some() {
            self.duplicate = Some(FALLBACK.to_owned());
        }
    }

    /// Checks the tables for contradictions.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.duplicate
            .clone()
            .map_or(Ok(()), |method| Err(ConfigError::Duplicate(method)))
    }

    pub(crate) fn lane_count(&self) -> usize {
        self.lanes.len()
    }

    pub(crate) fn layers(&self) -> Arc<[Arc<dyn Layer>]> {
        self.layers.as_slice().into()
    }

    /// Returns the handler for a call of this method, with the shared method name.
    pub(crate) fn call(&self, method: &str) -> Option<(Arc<str>, Arc<CallEntry>)> {
        if let Some(entry) = self.calls.get(method) {
            Some((Arc::clone(&entry.method), Arc::clone(entry)))
        } else {
            let entry = self.any_call.as_ref().or(self.missing.as_ref())?;
            Some((method.into(), Arc::clone(entry)))
        }
    }

    /// Returns the handler for a notification of this method, with the shared method name.
    pub(crate) fn notification(&self, method: &str) -> Option<(Arc<str>, Arc<NotificationEntry>)> {
        match self.notifications.get(method) {
            Some(entry) => Some((Arc::clone(&entry.method), Arc::clone(entry))),
            None => self
                .any_notification
                .as_ref()
                .map(|entry| (method.into(), Arc::clone(entry))),
        }
    }

    pub(crate) fn is_ignored(&self, method: &str) -> bool {
        self.ignored.iter().any(|prefix| method.starts_with(prefix))
    }
}

fn raw_call<F, Fut>(handler: F) -> CallFn
where
    F: Fn(CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Box<RawValue>, HandlerError>> + Send + 'static,
{
    Arc::new(move |cx, responder| {
        let answer = handler(cx);
        Box::pin(async move {
            match answer.await {
                Ok(result) => responder.ok_raw(result),
                Err(error) => responder.fail(error),
            }
            Ok(())
        })
    })
}

fn deferred_call<F, Fut>(handler: F) -> CallFn
where
    F: Fn(CallContext, Responder) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    Arc::new(move |cx, responder| {
        let handed_on = handler(cx, responder);
        Box::pin(async move {
            handed_on.await;
            Ok(())
        })
    })
}

fn deferred_notification<F, Fut>(handler: F) -> NotificationFn
where
    F: Fn(NotificationContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    Arc::new(move |cx| {
        let handed_on = handler(cx);
        Box::pin(async move {
            handed_on.await;
            Ok(())
        })
    })
}

/// Decodes params: absent ones as `null`, or else as an empty object.
pub(crate) fn decode_params<P: DeserializeOwned>(params: Option<&RawValue>) -> Result<P, ErrorObject> {
    let decoded = match params {
        Some(raw) => serde_json::from_str(raw.get()),
        None => serde_json::from_str("null").or_else(|_| serde_json::from_str("{}")),
    };
    decoded.map_err(|error| ErrorObject::invalid_params(error.to_string()))
}
