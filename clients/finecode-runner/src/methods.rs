//! The methods of the protocol, and the documents that the manager opens.

use std::collections::HashMap;
use std::sync::Arc;

use bobbin_peer::{Handlers, Mode, NoParams, PeerHandle};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::failed;
use crate::serve::{State, error};
use crate::{Dialect, Document, Range};

/// Most open documents. Further ones are read from disk by handlers.
const MAX_DOCUMENTS: usize = 1000;

/// The open documents.
#[derive(Default)]
pub(crate) struct Documents(Mutex<HashMap<String, Document>>);

impl Documents {
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    pub(crate) fn text(&self, uri: &str) -> Option<String> {
        let documents = self.0.lock();
        Some(documents.get(uri)?.text.clone())
    }
}

pub(crate) fn handlers(state: &Arc<State>, peer: &PeerHandle) -> Handlers {
    let handlers = Handlers::new()
        .on_call("initialize", |_, _: NoParams| async {
            let server = json!({ "name": "FineCode_Extension_Runner_Server", "version": "v1" });
            Ok(json!({ "capabilities": { "textDocumentSync": 1 }, "serverInfo": server }))
        })
        .on_call("shutdown", |_, _: NoParams| async { Ok(()) })
        .on_call("finecodeRunner/getInfo", |_, _: NoParams| async {
            Ok(json!({ "logFilePath": null }))
        })
        .on_call("finecodeRunner/updateLogging", |_, _: NoParams| async {
            Ok(json!({}))
        })
        .on_call("actions/reload", |_, _: NoParams| async { Ok(json!({})) })
        .on_call("packages/resolvePath", |_, params: Value| async move {
            let name = &params["packageName"];
            Err::<Value, _>(error(format!("no package {name}: this runner is one program")))
        })
        .ignore_notifications("$/")
        .ignore_notifications("initialized");
    let early = state.setup.dialect == Dialect::Early && !state.setup.both;
    let leaving = peer.clone();
    let handlers = handlers.on_notification("exit", move |_, _: NoParams| {
        // Early revisions leave only when the connection closes.
        if !early {
            leaving.start_shutdown();
        }
        async { Ok(()) }
    });
    let at = |state: &Arc<State>| state.clone();
    let (update, meta, schemas) = (at(state), at(state), at(state));
    let (resolve, merge, run, segment) = (at(state), at(state), at(state), at(state));
    let handlers = handlers
        .on_call_with(
            "finecodeRunner/updateConfig",
            Mode::Barrier,
            move |_, params: Value| {
                let updated = update.update_config(params);
                async move { updated }
            },
        )
        .on_call("finecodeRunner/resolveActionMeta", move |_, _: NoParams| {
            let meta = meta.action_meta();
            async move { Ok(meta) }
        })
        .on_call("actions/getPayloadSchemas", move |_, _: NoParams| {
            let schemas = schemas.schemas();
            async move { Ok(schemas) }
        })
        .on_call("actions/resolveSource", move |_, params: Value| {
            let source = params["source"].as_str().unwrap_or_default().to_owned();
            let found = resolve.program.find(&source);
            let found = found.map(|entry| json!({ "canonicalSource": entry.canonical }));
            async move { found.ok_or_else(|| error(format!("cannot resolve source {source:?}"))) }
        })
        .on_call_raw("actions/mergeResults", Mode::Concurrent, move |call| {
            let merged = merge.merge(&call);
            async move { merged }
        })
        .on_call_raw("actions/run", Mode::Concurrent, move |call| {
            let state = run.clone();
            async move { Ok(state.run(&call).await.or_else(failed)?) }
        })
        .on_call_raw("actions/runHandlers", Mode::Concurrent, move |call| {
            let state = segment.clone();
            async move { Ok(state.run_segment(&call).await.or_else(failed)?) }
        });
    let (open, change, close, routes) = (at(state), at(state), at(state), at(state));
    // Deferred handlers run as their messages are read: a request that follows sees the change.
    let lane = || Mode::ordered("documents");
    handlers
        .on_notification_deferred("textDocument/didOpen", lane(), move |call| {
            open.documents.open(call.decode().unwrap_or_default());
            async {}
        })
        .on_notification_deferred("textDocument/didChange", lane(), move |call| {
            change.documents.change(call.decode().unwrap_or_default());
            async {}
        })
        .on_notification_deferred("textDocument/didClose", lane(), move |call| {
            let params: DocumentParams = call.decode().unwrap_or_default();
            close.documents.0.lock().remove(&params.text_document.uri);
            async {}
        })
        .on_notification_deferred("$/progress", Mode::ordered("progress"), move |call| {
            if let Ok(Progress { token, value }) = call.decode() {
                routes.routes.deliver(&token, value);
            }
            async {}
        })
}

#[derive(Deserialize)]
struct Progress {
    token: Value,
    value: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DocumentParams {
    text_document: TextDocument,
    content_changes: Vec<Change>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TextDocument {
    uri: String,
    version: i64,
    text: String,
}

#[derive(Deserialize)]
struct Change {
    range: Option<Range>,
    text: String,
}

impl Documents {
    fn open(&self, params: DocumentParams) {
        let TextDocument { uri, version, text } = params.text_document;
        let mut documents = self.0.lock();
        if documents.len() < MAX_DOCUMENTS || documents.contains_key(&uri) {
            documents.insert(uri, Document { text, version });
        }
    }

    fn change(&self, params: DocumentParams) {
        let mut documents = self.0.lock();
        let Some(document) = documents.get_mut(&params.text_document.uri) else {
            return;
        };
        document.version = params.text_document.version;
        for Change { range, text } in params.content_changes {
            // A change that makes no sense is left out, as if its range were empty.
            let _unchanged = document.change(range, &text);
        }
    }
}
