//! Converts the host's values and errors for the wire.

use crate::{CommandError, DocumentError, DocumentStatus, LogRecord, News, Origin};
use bobbin_core::WireMessage;
use bobbin_hl7::Findings;
use bobbin_native::message;
use bobbin_native_wire::RpcError;
use bobbin_peer::ErrorObject;

use crate::group::wire::documents::{
    HermesDocument, HermesDocumentChanged, HermesFinding, HermesFindings, HermesFocusParams, HermesOrigin,
};
use crate::group::wire::extensions::{HermesLogEntry, HermesToolbarChanged};
use crate::group::{DOCUMENT_CHANGED, DOCUMENT_CLOSED, EXTENSION_CHANGED, TOOLBAR_CHANGED};

/// Code of an unknown command, also in the extensions' protocol.
const COMMAND_NOT_FOUND: i64 = -32009;

pub(crate) fn notification(news: &News) -> Option<WireMessage> {
    let made = match news {
        News::Extension(status) => message(EXTENSION_CHANGED, status),
        News::Toolbar => message(TOOLBAR_CHANGED, &HermesToolbarChanged {}),
        News::Document(status, by) => {
            let changed = HermesDocumentChanged {
                document: document(status),
                origin: origin(by),
            };
            message(DOCUMENT_CHANGED, &changed)
        }
        News::DocumentClosed(thread) => {
            let closed = HermesFocusParams {
                thread_id: thread.to_string(),
            };
            message(DOCUMENT_CLOSED, &closed)
        }
        News::Log(..) => return None,
    };
    Some(made)
}

fn origin(origin: &Origin) -> HermesOrigin {
    match origin {
        Origin::Client => HermesOrigin::Client,
        Origin::Extension(id) => HermesOrigin::Extension {
            extension_id: id.to_string(),
        },
        Origin::Agent => HermesOrigin::Agent,
    }
}

pub(crate) fn record(record: LogRecord) -> HermesLogEntry {
    HermesLogEntry {
        number: record.number,
        timestamp: bobbin_native::convert::time(record.timestamp),
        level: record.level,
        message: record.message,
    }
}

pub(crate) fn document(status: &DocumentStatus) -> HermesDocument {
    HermesDocument {
        thread_id: status.thread_id.to_string(),
        version: status.version,
        dirty: status.dirty,
        file_path: status
            .file_path
            .as_ref()
            .map(|path| path.to_string_lossy().into_owned()),
        encoding: status.encoding.to_owned(),
        undo_steps: status.undo_steps as u64,
        redo_steps: status.redo_steps as u64,
    }
}

pub(crate) fn findings(found: Findings) -> HermesFindings {
    let findings = found.findings.into_iter().map(|finding| HermesFinding {
        path: finding.path.map(|path| path.to_string()),
        message: finding.message,
    });
    HermesFindings {
        findings: findings.collect(),
        truncated: found.truncated,
    }
}

/// Converts an error about documents for the wire, with a `reason` for programs.
pub(crate) fn document_error(error: &DocumentError) -> RpcError {
    use bobbin_hl7::Error;
    let text = error.to_string();
    let reason = match error {
        DocumentError::Text(Error::UnknownFormat(_) | Error::TooMany { .. } | Error::Range { .. }) => {
            return RpcError::invalid_params(text);
        }
        DocumentError::Text(Error::Conflict { .. }) => "conflict",
        DocumentError::Text(Error::TooLarge { .. }) => "tooLarge",
        DocumentError::Text(Error::Unreadable { .. }) => "unreadable",
        DocumentError::Text(Error::NoMessage(_) | Error::NotConvertible(_) | Error::NotAMessage(_)) => {
            "notAMessage"
        }
        DocumentError::NotOpen => "notOpen",
        DocumentError::Unsaved => "unsaved",
        DocumentError::TooMany(_) => "tooMany",
        DocumentError::Encode(_) => "encoding",
        DocumentError::NoFile => "noFile",
        DocumentError::Exists(_) => "exists",
        DocumentError::ChangedOnDisk(_) => "changedOnDisk",
        DocumentError::File { .. } => "file",
        DocumentError::NotStored(_) => "notStored",
        DocumentError::Failed => "failed",
    };
    RpcError::invalid_request(text).with_reason(reason)
}

pub(crate) fn command_error(error: &CommandError) -> ErrorObject {
    ErrorObject::new(COMMAND_NOT_FOUND, error.to_string())
}
