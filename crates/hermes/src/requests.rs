//! Requests of extensions: the document (`editor/*`), windows and dialogs (`ui/*`).
//!
//! Requests about the document run in order. Windows and dialogs run concurrently, since they wait for a user.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_hl7::{Format, Patch, PatchReport};
use bobbin_peer::{
    CallContext, ErrorObject, HandlerError, HandlerFuture, Handlers, Layer, Mode, NextCall, PeerHandle,
    Responder, code,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::dialogs;
use crate::error::DocumentError;
use crate::extension::Log;
use crate::news::Origin;
use crate::shared::Shared;
use crate::spec::ExtensionSpec;

/// Error codes of the extensions' protocol.
mod codes {
    pub(super) const NOT_INITIALIZED: i64 = -32001;
    pub(super) const NO_MESSAGE: i64 = -32003;
}

/// Context of an extension's requests.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) spec: Arc<ExtensionSpec>,
    pub(crate) log: Arc<Log>,
}

impl Asker {
    fn origin(&self) -> Origin {
        Origin::Extension(self.spec.id.clone())
    }
}

/// Returns the handlers of an extension's requests. `ready` is set once the answer to `initialize` was accepted.
pub(crate) fn handlers(
    shared: &Arc<Shared>,
    spec: &ExtensionSpec,
    log: &Arc<Log>,
    peer: PeerHandle,
    ready: Arc<AtomicBool>,
) -> Handlers {
    let asker = Asker {
        shared: shared.clone(),
        spec: Arc::new(spec.clone()),
        log: log.clone(),
    };
    let (getter, setter, patcher) = (asker.clone(), asker.clone(), asker.clone());
    let editor = || Mode::ordered("editor");
    let handlers = Handlers::new()
        .layer(Gate { peer, ready })
        .on_call_with("editor/getMessage", editor(), move |_, params| {
            get(getter.clone(), params)
        })
        .on_call_with("editor/setMessage", editor(), move |_, params| {
            set(setter.clone(), params)
        })
        .on_call_with("editor/patchMessage", editor(), move |_, params| {
            patch(patcher.clone(), params)
        })
        .fallback_notification(Mode::Concurrent, |_| async { Ok(()) });
    dialogs::add(handlers, &asker)
}

/// Refuses requests before the answer to `initialize`.
#[derive(Debug)]
struct Gate {
    peer: PeerHandle,
    ready: Arc<AtomicBool>,
}

impl Layer for Gate {
    fn call(&self, cx: CallContext, responder: Responder, next: NextCall) -> HandlerFuture {
        if self.ready.load(Ordering::Acquire) || self.is_answered() {
            return next.run(cx, responder);
        }
        let detail = "answer initialize first";
        responder.err(ErrorObject::new(codes::NOT_INITIALIZED, "Not initialized").with_detail(detail));
        Box::pin(async { Ok(()) })
    }
}

impl Gate {
    /// Whether the extension has answered `initialize`. Until then, `initialize` is the only call. Its answer may have arrived
    /// before `ready` is set.
    fn is_answered(&self) -> bool {
        let stats = self.peer.stats();
        stats.messages_written > 0 && stats.pending_outbound_call_count == 0
    }
}

#[derive(Deserialize)]
struct Get {
    format: String,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Got {
    message: String,
    has_file: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_path: Option<String>,
}

async fn get(asker: Asker, params: Get) -> Result<Got, HandlerError> {
    let format = format(&params.format)?;
    let target = asker.shared.target(&asker.spec.id);
    let Some(thread) = target.thread else {
        return Ok(Got::default());
    };
    let shape = asker.spec.entry.shape;
    let read = asker
        .shared
        .documents
        .with(&thread, asker.origin(), move |state| {
            if state.document.text().is_empty() {
                return Ok(Got::default());
            }
            let message = state.document.get(format, shape).map_err(DocumentError::Text)?;
            let file_path = state.path().map(|path| path.to_string_lossy().into_owned());
            Ok(Got {
                message,
                has_file: file_path.is_some(),
                file_path,
            })
        });
    match read.await {
        Err(DocumentError::NotOpen) => Ok(Got::default()),
        read => read.map_err(|error| refused(&error)),
    }
}

#[derive(Deserialize)]
struct Set {
    message: String,
    /// Published extensions leave it out.
    format: Option<String>,
}

async fn set(asker: Asker, params: Set) -> Result<Value, HandlerError> {
    let format = params.format.as_deref().map_or(Ok(Format::Hl7), format)?;
    let failed = |error: String| json!({ "success": false, "error": error });
    let Some(thread) = asker.shared.target(&asker.spec.id).thread else {
        return Ok(failed(DocumentError::NotOpen.to_string()));
    };
    let documents = &asker.shared.documents;
    let set = documents.with_or_new(&thread, asker.origin(), move |state| {
        let set = state.document.set(&params.message, format);
        set.map_err(DocumentError::Text)
    });
    match set.await {
        Ok(_) => Ok(json!({ "success": true })),
        Err(DocumentError::Text(error)) if error.code().is_none() => Ok(failed(error.to_string())),
        Err(error) => Err(refused(&error)),
    }
}

#[derive(Deserialize)]
struct Patches {
    patches: Vec<Patch>,
}

async fn patch(asker: Asker, params: Patches) -> Result<PatchReport, HandlerError> {
    let thread = asker.shared.target(&asker.spec.id).thread;
    let thread = thread.ok_or_else(|| refused(&DocumentError::NotOpen))?;
    let documents = &asker.shared.documents;
    let patched = documents.with(&thread, asker.origin(), move |state| {
        state.document.patch(&params.patches).map_err(DocumentError::Text)
    });
    patched.await.map_err(|error| refused(&error))
}

fn format(name: &str) -> Result<Format, HandlerError> {
    name.parse()
        .map_err(|error: bobbin_hl7::Error| HandlerError::Rpc(ErrorObject::invalid_params(error.to_string())))
}

fn refused(error: &DocumentError) -> HandlerError {
    let code = match error {
        DocumentError::NotOpen => codes::NO_MESSAGE,
        DocumentError::Text(error) => error.code().map_or(code::INTERNAL_ERROR, i64::from),
        DocumentError::Unsaved
        | DocumentError::TooMany(_)
        | DocumentError::Encode(_)
        | DocumentError::NoFile
        | DocumentError::Exists(_)
        | DocumentError::NotStored(_)
        | DocumentError::ChangedOnDisk(_)
        | DocumentError::File { .. }
        | DocumentError::Failed => code::INTERNAL_ERROR,
    };
    HandlerError::Rpc(ErrorObject::new(code, error.to_string()))
}
