//! Finds the files that the conversation knows, so that no tool replaces a content that the model has not read.
//!
//! The record has it: each result names the files whose content the model got or made, with a fingerprint. So the
//! knowledge outlives a compaction and a restart, and goes with a Turn that is rolled back. Turns are read back as far as
//! a conversation is.

use std::path::{Path, PathBuf};

use bobbin_agent_api::TurnGone;
use bobbin_files::{fingerprint, shown};
use bobbin_model::{Item, ItemBody, SeenFile};

use super::turn::TurnRun;

/// Most Turns searched for a file (guess: what a provider is given at most).
const MAX_TURNS: usize = 200;

/// Returns the files that the results among these Items name, the newest of each path.
pub(super) fn seen<'a>(items: impl DoubleEndedIterator<Item = &'a Item>) -> Vec<SeenFile> {
    let mut newest: Vec<SeenFile> = Vec::new();
    for item in items.rev() {
        if let ItemBody::ToolResult { seen, .. } = &item.body {
            for file in seen {
                if !newest.iter().any(|known| known.path == file.path) {
                    newest.push(file.clone());
                }
            }
        }
    }
    newest
}

impl TurnRun {
    /// Returns why a file must not be changed now, for the model: the conversation does not have its content.
    ///
    /// The offline model makes no content up: it writes what its user said, word for word.
    pub(super) async fn unknown_content(&self, path: PathBuf) -> Result<Option<String>, TurnGone> {
        if self
            .model
            .is_offline(self.turn.environment().config.model.as_deref())
        {
            return Ok(None);
        }
        let file = path.clone();
        let found = tokio::task::spawn_blocking(move || std::fs::metadata(file).ok());
        // A file that is not there, or not ordinary, is the tool's business.
        let Some(found) = found.await.ok().flatten().filter(std::fs::Metadata::is_file) else {
            return Ok(None);
        };
        let name = shown(&self.turn.environment().root, &path);
        let known = self.last_seen(&path).await?;
        Ok(match known {
            Some(known) if known == fingerprint(&found) => None,
            Some(_) => Some(format!(
                "{name} has changed since you last read it; nothing was done. Read it again, then make the change."
            )),
            // A client that has the history has what was read before, too.
            None if self.turn.at_start().history.is_some() => None,
            None => Some(format!(
                "you have not read {name} in this conversation; nothing was done. Read it, then make the change."
            )),
        })
    }

    /// Returns the fingerprint of a file when the conversation last had its content.
    async fn last_seen(&self, path: &Path) -> Result<Option<String>, TurnGone> {
        let path = path.to_string_lossy();
        let of = |files: &[SeenFile]| {
            let known = files.iter().find(|file| file.path == path);
            known.map(|file| file.fingerprint.clone())
        };
        let own = self.turn.items().await?;
        if let Some(known) = of(&seen(own.iter())) {
            return Ok(Some(known));
        }
        let (thread, turn) = (self.turn.thread(), self.turn.turn());
        let mut backwards = self.past.before(thread, turn);
        let mut known = None;
        for _ in 0..MAX_TURNS {
            match backwards.next(&self.turn).await {
                Ok(Some(turn)) => known = of(&turn.seen),
                Ok(None) => break,
                Err(error) => {
                    // Then the model reads the file once more.
                    tracing::error!(%thread, %error, "cannot read which files a thread knows");
                    break;
                }
            }
            if known.is_some() {
                break;
            }
        }
        self.past.cache(thread, backwards);
        Ok(known)
    }
}
