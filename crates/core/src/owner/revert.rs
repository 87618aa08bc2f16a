//! Undo of a Turn's file changes.
//!
//! The owner's own task waits for the undo, so no Turn of this Thread starts meanwhile. A crash between the files and the
//! record is harmless: a client without an answer asks again, and files that are restored already need no change.

use bobbin_model::{Event, Refusal, TurnFeatures};

use super::Owner;
use super::record::Effect;
use crate::CoreError;
use crate::answer::Reverted;
use crate::command::Reply;
use bobbin_agent_api::undo::{ChangedSince, RevertRequest, UndoError, Undone};

impl Owner {
    pub(super) async fn revert(
        &mut self,
        turn: &str,
        redo: bool,
        changed_since: ChangedSince,
        reply: Reply<Reverted>,
    ) -> Result<(), CoreError> {
        let turn = match self.state.turn_to_revert(turn) {
            Ok(turn) => turn,
            Err(refusal) => return self.refuse(refusal, reply).await,
        };
        // The last engine may still be stopping.
        if self.run.is_some() {
            let thread = self.state.header.id.clone();
            return self.refuse(Refusal::TurnInProgress { thread, turn }, reply).await;
        }
        let settings = &self.threads.settings;
        let Some(undo) = settings.undo.clone() else {
            let detail =
                "This server takes no snapshots of files: it did not find the program git when it started.";
            return self.refuse(Refusal::NotNow(detail.to_owned()), reply).await;
        };
        let request = RevertRequest {
            thread: self.state.header.id.clone(),
            turn,
            redo,
            root: settings
                .environment_of(self.state.header.config.as_ref(), &TurnFeatures::default())
                .root,
            changed_since,
        };
        // The owner waits from here to the end: once a file was touched, the result is recorded.
        let undone = undo.revert(request, self.threads.stopping.clone()).await;
        let Undone { files, notes } = match undone {
            Ok(undone) => undone,
            Err(UndoError::Changed(files)) => {
                return self.refuse(Refusal::FilesChanged { turn, files }, reply).await;
            }
            Err(UndoError::Stopped) => {
                self.once = None;
                reply(Err(CoreError::Stopping));
                return Ok(());
            }
            Err(UndoError::NotDone(detail)) => return self.refuse(Refusal::NotNow(detail), reply).await,
        };
        let event = Event::TurnReverted {
            turn,
            redone: redo,
            files: files.clone(),
            notes: notes.clone(),
        };
        let staged = self.stage(vec![event]);
        let reverted = Reverted {
            turn,
            undone: Undone { files, notes },
        };
        let answer = Effect::answer(Box::new(move |done| reply(done.map(|()| reverted))));
        self.commit(staged, answer).await
    }
}
