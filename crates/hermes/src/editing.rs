//! Operations of clients and the agent on documents, with the same engine as for extensions.

use std::path::PathBuf;
use std::time::Duration;

use bobbin_hl7::{Document, Findings, Format, Patch, PatchReport, Path, Shape, TextEdit, Value};
use bobbin_model::ThreadId;
use serde_json::json;

use crate::documents::{DocumentStatus, Source};
use crate::error::{CommandError, DocumentError};
use crate::events::Event;
use crate::file::File;
use crate::host::Host;
use crate::news::Origin;

/// A change of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Replaces parts of the text.
    Edits(Vec<TextEdit>),
    /// Replaces the message.
    Set(String, Format),
    /// Undoes the last change.
    Undo,
    /// Redoes the change that was undone last.
    Redo,
}

/// The file that a document is saved to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveTo {
    /// The file that it was read from or saved to last.
    OwnFile,
    /// This file, which must be new or the document's own.
    NewFile(PathBuf),
    /// This file, even if another file is replaced.
    AnyFile(PathBuf),
}

impl Host {
    /// Opens a document in a Thread and focuses the Thread.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub async fn open(
        &self,
        thread: &ThreadId,
        source: Source,
        discard: bool,
    ) -> Result<DocumentStatus, DocumentError> {
        let status = self.documents().open(thread, source, discard).await?;
        self.focus(thread, None);
        let params = match &status.file_path {
            Some(path) => json!({ "isNew": false, "filePath": path }),
            None => json!({ "isNew": true }),
        };
        self.event(Event::Opened, &params);
        Ok(status)
    }

    /// Returns the documents that are open.
    pub async fn open_documents(&self) -> Vec<DocumentStatus> {
        self.documents().all().await
    }

    /// Returns the text of a document in a format, and its version.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub async fn get(
        &self,
        thread: &ThreadId,
        format: Format,
        shape: Shape,
    ) -> Result<(String, u64), DocumentError> {
        let read = self.documents().with(thread, Origin::Client, move |state| {
            let document = &state.document;
            let text = document.get(format, shape).map_err(DocumentError::Text)?;
            Ok((text, document.version()))
        });
        read.await
    }

    /// Returns the unconverted text of a document, and its version. Positions of edits count in this text.
    ///
    /// # Errors
    /// [`DocumentError::NotOpen`].
    pub async fn text(&self, thread: &ThreadId) -> Result<(String, u64), DocumentError> {
        let read = self.documents().with(thread, Origin::Client, |state| {
            Ok((state.document.text().to_owned(), state.document.version()))
        });
        read.await
    }

    /// Returns one place of a document, as text or JSON, and the version.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub(crate) async fn place(&self, thread: &ThreadId, path: Path) -> Result<(String, u64), DocumentError> {
        let read = self.documents().with(thread, Origin::Client, move |state| {
            let message = state.document.message();
            let message = message.map_err(|why| DocumentError::Text(bobbin_hl7::Error::NoMessage(why)))?;
            let text = match message.get(&path) {
                None | Some(Value::Empty) => "(empty)".to_owned(),
                Some(Value::Text(text)) => text,
                Some(value) => serde_json::to_string(&value).map_err(|_| DocumentError::Failed)?,
            };
            Ok((text, state.document.version()))
        });
        read.await
    }

    /// Sends a command to the first extension that has it, and waits for a change of a Thread's document. Returns the new version
    /// and the origin of the last change; `None` if no change comes within `first`.
    ///
    /// # Errors
    /// [`CommandError`].
    pub async fn execute_and_wait(
        &self,
        command: &str,
        thread: &ThreadId,
        first: Duration,
    ) -> Result<Option<(u64, Origin)>, CommandError> {
        let before = self.text(thread).await.map_or(0, |(_, version)| version);
        self.execute(command, Some(thread), None).await?;
        Ok(self.documents().changed_after(thread, before, first).await)
    }

    /// Changes a document. With a `version`, only if the document still has it.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub async fn change(
        &self,
        thread: &ThreadId,
        version: Option<u64>,
        change: Change,
    ) -> Result<DocumentStatus, DocumentError> {
        let changed = self.documents().with(thread, Origin::Client, move |state| {
            expect(&state.document, version)?;
            let document = &mut state.document;
            let done = match change {
                Change::Edits(edits) => document.edit(version.unwrap_or(document.version()), &edits),
                Change::Set(text, format) => document.set(&text, format),
                Change::Undo => Ok(document.undo()),
                Change::Redo => Ok(document.redo()),
            };
            done.map_err(DocumentError::Text)?;
            Ok(())
        });
        changed.await?;
        self.documents().status(thread).await
    }

    /// Applies patches. With a `version`, only if the document still has it.
    ///
    /// # Errors
    /// [`DocumentError`]; patches that fail are in the report.
    pub async fn patch(
        &self,
        thread: &ThreadId,
        version: Option<u64>,
        patches: Vec<Patch>,
        origin: Origin,
    ) -> Result<PatchReport, DocumentError> {
        let patched = self.documents().with(thread, origin, move |state| {
            expect(&state.document, version)?;
            state.document.patch(&patches).map_err(DocumentError::Text)
        });
        patched.await
    }

    /// Writes a document to a file, which is the document's own from then on.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub async fn save(&self, thread: &ThreadId, to: SaveTo) -> Result<DocumentStatus, DocumentError> {
        let save_as = !matches!(to, SaveTo::OwnFile);
        let saved = self.documents().with(thread, Origin::Client, move |state| {
            let bytes = state.document.to_bytes()?;
            let own = state.file.clone();
            let mut file = match to {
                SaveTo::OwnFile => own.ok_or(DocumentError::NoFile)?,
                SaveTo::AnyFile(path) => File::at(&path)?,
                SaveTo::NewFile(path) => match (File::at(&path)?, own) {
                    (file, Some(own)) if own.path == file.path => own,
                    (file, _) if file.exists() => return Err(DocumentError::Exists(file.path)),
                    (file, _) => file,
                },
            };
            file.write(&bytes)?;
            state.document.mark_saved();
            let path = file.path.clone();
            state.file = Some(file);
            Ok(path)
        });
        let path = saved.await?;
        self.event(Event::Saved, &json!({ "filePath": path, "saveAs": save_as }));
        self.documents().status(thread).await
    }

    /// Closes a document.
    ///
    /// # Errors
    /// There is none, or it has changes and `discard` is false.
    pub async fn close(&self, thread: &ThreadId, discard: bool) -> Result<(), DocumentError> {
        self.documents().close(thread, discard).await
    }

    /// Compares a document with the schema.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub async fn validate(&self, thread: &ThreadId) -> Result<Findings, DocumentError> {
        let schema = self.schema();
        let validated = self.documents().with(thread, Origin::Client, move |state| {
            let message = state.document.message();
            let message = message.map_err(|why| DocumentError::Text(bobbin_hl7::Error::NoMessage(why)))?;
            Ok(schema.validate(&message))
        });
        validated.await
    }
}

fn expect(document: &Document, version: Option<u64>) -> Result<(), DocumentError> {
    version.map_or(Ok(()), |version| {
        document.expect_version(version).map_err(DocumentError::Text)
    })
}
