//! The documents that clients have open, and runners that are shown them.
//!
//! One short lock orders documents and runners: a runner that starts gets the current text of every open
//! document of its project, and each later change once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_finecode_wire::{Document, EditError, Range};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::conn::Conn;
use crate::edits::ClientId;

/// Most open documents, and bytes of their texts.
const MAX_DOCUMENTS: usize = 256;
const MAX_BYTES: usize = 64 << 20;

/// A change of a document: a range that is replaced, or everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The range; everything if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// The new text.
    pub text: String,
}

/// Why a document cannot be opened or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Too many are open, or they are too large.
    #[error("more than {MAX_DOCUMENTS} documents, or {} MiB of text, would be open", MAX_BYTES >> 20)]
    Full,
    /// It is not open.
    #[error("the document is not open")]
    NotOpen,
    /// The change makes no sense.
    #[error(transparent)]
    Edit(#[from] EditError),
}

#[derive(Default)]
pub(crate) struct Documents(Mutex<DocumentsState>);

#[derive(Default)]
struct DocumentsState {
    open: BTreeMap<String, Open>,
    runners: Vec<Arc<Conn>>,
}

struct Open {
    document: Document,
    path: Option<PathBuf>,
    client: ClientId,
}

impl Documents {
    pub(crate) fn open(
        &self,
        client: ClientId,
        uri: &str,
        version: i64,
        text: &str,
    ) -> Result<(), DocumentError> {
        let mut state = self.0.lock();
        let others = state.open.iter().filter(|(other, _)| *other != uri);
        let (count, bytes) = others.fold((0, 0), |(count, bytes), (_, open)| {
            (count + 1, bytes + open.document.text.len())
        });
        if count >= MAX_DOCUMENTS || bytes + text.len() > MAX_BYTES {
            return Err(DocumentError::Full);
        }
        let document = Document {
            text: text.to_owned(),
            version,
        };
        let open = Open {
            document,
            path: path_of(uri),
            client,
        };
        let params = opened(uri, &open.document);
        state.notify(&open, "textDocument/didOpen", &params);
        state.open.insert(uri.to_owned(), open);
        Ok(())
    }

    pub(crate) fn change(
        &self,
        client: ClientId,
        uri: &str,
        version: i64,
        changes: &[Change],
    ) -> Result<(), DocumentError> {
        let mut state = self.0.lock();
        let state = &mut *state;
        let open = state.open.get_mut(uri).ok_or(DocumentError::NotOpen)?;
        let mut changed = open.document.clone();
        for Change { range, text } in changes {
            changed.change(*range, text)?;
            if changed.text.len() > MAX_BYTES {
                return Err(DocumentError::Full);
            }
        }
        changed.version = version;
        (open.document, open.client) = (changed, client);
        let document = json!({ "uri": uri, "version": version });
        let params = json!({ "textDocument": document, "contentChanges": changes });
        notify(&state.runners, open, "textDocument/didChange", &params);
        Ok(())
    }

    pub(crate) fn close(&self, uri: &str) {
        let mut state = self.0.lock();
        if let Some(open) = state.open.remove(uri) {
            let params = json!({ "textDocument": { "uri": uri } });
            state.notify(&open, "textDocument/didClose", &params);
        }
    }

    /// Shows a runner the open documents of its project, and their changes from now on.
    pub(crate) fn show(&self, conn: &Arc<Conn>) {
        let mut state = self.0.lock();
        for (uri, open) in &state.open {
            notify(
                std::slice::from_ref(conn),
                open,
                "textDocument/didOpen",
                &opened(uri, &open.document),
            );
        }
        state.runners.retain(|other| !Arc::ptr_eq(other, conn));
        state.runners.push(conn.clone());
    }

    pub(crate) fn forget(&self, conn: &Arc<Conn>) {
        self.0.lock().runners.retain(|other| !Arc::ptr_eq(other, conn));
    }

    /// Returns the client that opened or changed a document last.
    pub(crate) fn client(&self, uri: &str) -> Option<ClientId> {
        Some(self.0.lock().open.get(uri)?.client)
    }

    /// Closes what a client has open.
    pub(crate) fn leave(&self, client: ClientId) {
        let state = self.0.lock();
        let own = state.open.iter().filter(|(_, open)| open.client == client);
        let uris: Vec<_> = own.map(|(uri, _)| uri.clone()).collect();
        drop(state);
        for uri in uris {
            self.close(&uri);
        }
    }
}

impl DocumentsState {
    fn notify(&self, open: &Open, method: &str, params: &serde_json::Value) {
        notify(&self.runners, open, method, params);
    }
}

fn notify(runners: &[Arc<Conn>], open: &Open, method: &str, params: &serde_json::Value) {
    let Some(path) = &open.path else { return };
    for conn in runners.iter().filter(|conn| path.starts_with(&conn.project)) {
        // A full queue means that the runner reads nothing: its documents would be wrong from here on.
        if let Err(error) = conn.peer.try_notify(method, params) {
            tracing::debug!(%error, env = conn.env, "a runner cannot be shown a document");
            conn.give_up();
        }
    }
}

fn opened(uri: &str, document: &Document) -> serde_json::Value {
    json!({ "textDocument": {
        "uri": uri, "languageId": "", "version": document.version, "text": document.text,
    } })
}

/// Returns the path of a `file:` address.
fn path_of(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = percent_encoding::percent_decode_str(path).decode_utf8().ok()?;
    Some(Path::new(path.as_ref()).to_owned())
}
