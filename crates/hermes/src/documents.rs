//! The open documents: at most one of each Thread.
//!
//! Owns the texts. Each document has its own lock, which only blocking threads take: work on a structured text of megabytes
//! takes too long for the runtime. Changes are announced under that lock, so clients see them in order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_hl7::{Document, Limits};
use bobbin_model::ThreadId;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};

use crate::error::DocumentError;
use crate::file::File;
use crate::news::{Announce, News, Origin};
use crate::unsaved::Unsaved;

/// The most open documents of a workspace.
const MAX_OPEN: usize = 64;
/// Pause without changes before a document's subscribers are notified.
const DEBOUNCE: Duration = Duration::from_millis(500);

/// A document as clients see it, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentStatus {
    /// The Thread that it belongs to.
    pub thread_id: ThreadId,
    /// The number of accepted changes.
    pub version: u64,
    /// Whether it differs from its file.
    pub dirty: bool,
    /// The path of its file, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_path: Option<PathBuf>,
    /// The encoding that it is saved in.
    pub encoding: &'static str,
    /// How many steps can be undone.
    pub undo_steps: usize,
    /// How many steps can be redone.
    pub redo_steps: usize,
}

/// Source of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// A text without a file.
    Text(String),
}

/// The documents. Clones share them.
#[derive(Clone)]
pub(crate) struct Documents {
    inner: Arc<Inner>,
}

struct Inner {
    open: Mutex<BTreeMap<ThreadId, Arc<Open>>>,
    /// Times at which subscribers get the changes of documents.
    due: Mutex<BTreeMap<ThreadId, Instant>>,
    changed: Notify,
    unsaved: Unsaved,
    /// The last change of each document.
    last: watch::Sender<BTreeMap<ThreadId, (u64, Origin)>>,
    announce: Announce,
}

struct Open {
    thread: ThreadId,
    state: Mutex<State>,
}

/// Data that a document's lock protects.
pub(crate) struct State {
    pub(crate) document: Document,
    pub(crate) file: Option<File>,
}

impl State {
    /// Returns the path of the file.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.path.as_path())
    }

    fn status(&self, thread: &ThreadId) -> DocumentStatus {
        let (undo_steps, redo_steps) = self.document.undo_depth();
        DocumentStatus {
            thread_id: thread.clone(),
            version: self.document.version(),
            dirty: self.document.is_dirty(),
            file_path: self.path().map(Path::to_owned),
            encoding: self.document.encoding().name(),
            undo_steps,
            redo_steps,
        }
    }
}

impl Inner {
    /// Stores the changes of a document, if its Thread still has this document.
    fn store(&self, document: &Arc<Open>, state: &State) -> Result<(), DocumentError> {
        let is_current = |open: &Arc<Open>| Arc::ptr_eq(open, document);
        if !self.open.lock().get(&document.thread).is_some_and(is_current) {
            return Ok(());
        }
        let stored = self.unsaved.keep(&document.thread, state);
        stored.map_err(DocumentError::NotStored)
    }
}

impl Documents {
    /// Opens the documents whose unsaved changes are on the disk.
    pub(crate) fn new(announce: Announce, unsaved: Unsaved) -> Self {
        let stored = unsaved.read(MAX_OPEN).into_iter().map(|(thread, state)| {
            let open = Open {
                thread: thread.clone(),
                state: Mutex::new(state),
            };
            (thread, Arc::new(open))
        });
        let inner = Arc::new(Inner {
            open: Mutex::new(stored.collect()),
            unsaved,
            due: Mutex::default(),
            changed: Notify::new(),
            last: watch::Sender::default(),
            announce,
        });
        Self { inner }
    }

    /// Opens a document in a Thread, in place of one that has no changes or is discarded.
    ///
    /// # Errors
    /// The Thread has a document with changes and `discard` is false, there are too many documents, or the source cannot be read.
    pub(crate) async fn open(
        &self,
        thread: &ThreadId,
        source: Source,
        discard: bool,
    ) -> Result<DocumentStatus, DocumentError> {
        if !discard && self.status(thread).await.is_ok_and(|before| before.dirty) {
            return Err(DocumentError::Unsaved);
        }
        let state = blocking(move || read(source)).await?;
        let (opened, document, before) = {
            let mut open = self.inner.open.lock();
            if open.len() >= MAX_OPEN && !open.contains_key(thread) {
                return Err(DocumentError::TooMany(MAX_OPEN));
            }
            let status = state.status(thread);
            let document = Arc::new(Open {
                thread: thread.clone(),
                state: Mutex::new(state),
            });
            let before = open.insert(thread.clone(), document.clone());
            (status, document, before)
        };
        let inner = self.inner.clone();
        blocking(move || {
            // Waits for a change of the earlier document to be stored, so that this document is stored last.
            if let Some(before) = before {
                drop(before.state.lock());
            }
            inner.store(&document, &document.state.lock())
        })
        .await?;
        // The new document counts its versions from the start.
        self.inner.last.send_modify(|last| drop(last.remove(thread)));
        (self.inner.announce)(News::Document(opened.clone(), Origin::Client));
        Ok(opened)
    }

    /// Closes the document of a Thread.
    ///
    /// # Errors
    /// There is none, or it has changes and `discard` is false.
    pub(crate) async fn close(&self, thread: &ThreadId, discard: bool) -> Result<(), DocumentError> {
        if self.status(thread).await?.dirty && !discard {
            return Err(DocumentError::Unsaved);
        }
        let closed = self.inner.open.lock().remove(thread);
        let inner = self.inner.clone();
        let forget = move || {
            let Some(closed) = closed else { return Ok(()) };
            let _unchanged = closed.state.lock();
            inner.unsaved.forget(&closed.thread)
        };
        blocking(move || forget().map_err(DocumentError::NotStored)).await?;
        self.inner.due.lock().remove(thread);
        self.inner.last.send_modify(|last| drop(last.remove(thread)));
        (self.inner.announce)(News::DocumentClosed(thread.clone()));
        Ok(())
    }

    /// Returns the status of all documents.
    pub(crate) async fn all(&self) -> Vec<DocumentStatus> {
        let open: Vec<_> = self.inner.open.lock().values().cloned().collect();
        let all = move || {
            open.iter()
                .map(|one| one.state.lock().status(&one.thread))
                .collect()
        };
        blocking(move || Ok(all())).await.unwrap_or_default()
    }

    /// Returns the status of a Thread's document.
    ///
    /// # Errors
    /// [`DocumentError::NotOpen`].
    pub(crate) async fn status(&self, thread: &ThreadId) -> Result<DocumentStatus, DocumentError> {
        let id = thread.clone();
        self.with(thread, Origin::Client, move |state| Ok(state.status(&id)))
            .await
    }

    /// Returns whether a Thread has a document.
    pub(crate) fn is_open(&self, thread: &ThreadId) -> bool {
        self.inner.open.lock().contains_key(thread)
    }

    /// Runs `act` on the document of a Thread, on a blocking thread. A change is stored, and announced with `origin`.
    ///
    /// # Errors
    /// [`DocumentError::NotOpen`], [`DocumentError::NotStored`], and those of `act`.
    pub(crate) async fn with<R: Send + 'static>(
        &self,
        thread: &ThreadId,
        origin: Origin,
        act: impl FnOnce(&mut State) -> Result<R, DocumentError> + Send + 'static,
    ) -> Result<R, DocumentError> {
        let open = self.inner.open.lock().get(thread).cloned();
        let open = open.ok_or(DocumentError::NotOpen)?;
        let inner = self.inner.clone();
        blocking(move || {
            let mut state = open.state.lock();
            let before = state.status(&open.thread);
            let result = act(&mut state);
            let after = state.status(&open.thread);
            if after.version != before.version {
                inner
                    .due
                    .lock()
                    .insert(open.thread.clone(), Instant::now() + DEBOUNCE);
                inner.changed.notify_one();
                let last = (after.version, origin.clone());
                inner
                    .last
                    .send_modify(|all| drop(all.insert(open.thread.clone(), last)));
            }
            if after != before {
                let stored = inner.store(&open, &state);
                (inner.announce)(News::Document(after, origin));
                stored?;
            }
            drop(state);
            result
        })
        .await
    }

    /// Like [`Documents::with`], but opens an empty document if the Thread has none.
    ///
    /// # Errors
    /// There are too many documents, and those of `act`.
    pub(crate) async fn with_or_new<R: Send + 'static>(
        &self,
        thread: &ThreadId,
        origin: Origin,
        act: impl FnOnce(&mut State) -> Result<R, DocumentError> + Send + 'static,
    ) -> Result<R, DocumentError> {
        if !self.is_open(thread) {
            self.open(thread, Source::Text(String::new()), false).await?;
        }
        self.with(thread, origin, act).await
    }

    /// Waits until the document of a Thread has a later version and stays unchanged for a while. Returns its version and the
    /// origin of the last change; `None` if no change comes within `first`, or the document is closed.
    pub(crate) async fn changed_after(
        &self,
        thread: &ThreadId,
        version: u64,
        first: Duration,
    ) -> Option<(u64, Origin)> {
        let mut last = self.inner.last.subscribe();
        let is_later =
            |all: &BTreeMap<ThreadId, (u64, Origin)>| all.get(thread).is_some_and(|(now, _)| *now > version);
        timeout(first, last.wait_for(is_later)).await.ok()?.ok()?;
        let mut seen = last.borrow().get(thread).cloned();
        loop {
            let before = seen.clone();
            let again = last.wait_for(|all| all.get(thread) != before.as_ref());
            if timeout(DEBOUNCE, again).await.is_err() {
                return seen;
            }
            seen = last.borrow().get(thread).cloned();
            seen.as_ref()?;
        }
    }

    /// Returns the next Thread whose document's subscribers are to be notified. Only one task may wait.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn next_due(&self) -> ThreadId {
        loop {
            let next = {
                let mut due = self.inner.due.lock();
                let next = due.iter().min_by_key(|(_, at)| **at);
                let next = next.map(|(thread, at)| (thread.clone(), *at));
                if let Some((thread, _)) = next.as_ref().filter(|(_, at)| *at <= Instant::now()) {
                    due.remove(thread);
                    return thread.clone();
                }
                next
            };
            let wait = async {
                match next {
                    Some((_, at)) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = wait => {}
                () = self.inner.changed.notified() => {}
            }
        }
    }
}

fn read(source: Source) -> Result<State, DocumentError> {
    let limits = Limits::default();
    match source {
        Source::Text(text) => {
            let document = Document::open(text.as_bytes(), limits).map_err(DocumentError::Text)?;
            Ok(State { document, file: None })
        }
        Source::File(path) => {
            let (file, bytes) = File::read(&path, limits.max_text_bytes)?;
            let document = Document::open(&bytes, limits).map_err(DocumentError::Text)?;
            let file = Some(file);
            Ok(State { document, file })
        }
    }
}

async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, DocumentError> + Send + 'static,
) -> Result<R, DocumentError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(DocumentError::Failed))
}
