//! A Turn that waits for the look at the changes of a call.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_agent_api::tool::Touches;
use bobbin_agent_api::undo::{
    FileChanges, NotRecorded, OpenCall, RecordedTurn, RevertRequest, Undo, UndoError, Undone,
};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// An undo whose look at the changes of a call never ends while the Turn waits for it.
#[derive(Debug)]
pub struct EndlessLook {
    undo: Arc<dyn Undo>,
    looks: Arc<AtomicBool>,
}

impl EndlessLook {
    /// Returns one that records with another undo.
    pub fn new(undo: Arc<dyn Undo>) -> Arc<Self> {
        let looks = Arc::default();
        Arc::new(Self { undo, looks })
    }

    /// Returns whether a Turn waits for a look, or did.
    pub fn looks(&self) -> bool {
        self.looks.load(Ordering::Relaxed)
    }
}

struct OpenLook {
    call: Box<dyn OpenCall>,
    looks: Arc<AtomicBool>,
}

impl Undo for EndlessLook {
    fn prepare(&self, root: &Path) {
        self.undo.prepare(root);
    }

    fn begin(
        &self,
        turn: RecordedTurn,
        touches: Touches,
    ) -> BoxFuture<'_, Result<Box<dyn OpenCall>, NotRecorded>> {
        Box::pin(async move {
            let (call, looks) = (self.undo.begin(turn, touches).await?, self.looks.clone());
            Ok(Box::new(OpenLook { call, looks }) as Box<dyn OpenCall>)
        })
    }

    fn resume(&self, turn: RecordedTurn) -> BoxFuture<'_, FileChanges> {
        self.undo.resume(turn)
    }

    fn revert(
        &self,
        request: RevertRequest,
        stop: CancellationToken,
    ) -> BoxFuture<'_, Result<Undone, UndoError>> {
        self.undo.revert(request, stop)
    }
}

impl OpenCall for OpenLook {
    fn end(self: Box<Self>) -> BoxFuture<'static, FileChanges> {
        Box::pin(async move {
            self.looks.store(true, Ordering::Relaxed);
            std::future::pending::<()>().await;
            self.call.end().await
        })
    }
}
