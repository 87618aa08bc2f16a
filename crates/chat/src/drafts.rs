//! Drafts: prompts that are not sent yet, by their Threads. They are in a file, so that they outlive the client.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Most drafts; the last ones of the file's order go.
const MAX_DRAFTS: usize = 200;
/// Longest draft that is stored, in bytes.
const MAX_DRAFT: usize = 256 << 10;
/// Most bytes of the file.
const MAX_FILE: u64 = 64 << 20;
/// Place of the prompt that starts a new Thread.
const NEW: &str = "new";

/// The file of the drafts.
#[derive(Debug)]
pub(crate) struct Drafts {
    file: Option<PathBuf>,
}

impl Drafts {
    /// Without a file nothing is stored.
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Self { file }
    }

    /// Returns the draft of a Thread, or of a new one.
    pub(crate) fn of(&self, thread: Option<&str>) -> String {
        self.read().remove(thread.unwrap_or(NEW)).unwrap_or_default()
    }

    /// Stores a draft; an empty one is removed. Other clients may have changed others.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn store(&self, thread: Option<&str>, text: &str) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut drafts = self.read();
        let place = thread.unwrap_or(NEW).to_owned();
        let before = match text {
            text if text.trim().is_empty() || text.len() > MAX_DRAFT => drafts.remove(&place),
            text => drafts.insert(place, text.to_owned()),
        };
        if before.as_deref().unwrap_or_default() == text {
            return Ok(());
        }
        while drafts.len() > MAX_DRAFTS {
            drafts.pop_last();
        }
        let Some(folder) = file.parent() else {
            return Ok(());
        };
        // Only its user may read it.
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(&serde_json::to_vec(&drafts)?)?;
        new.persist(file).map_err(|error| error.error)?;
        Ok(())
    }

    fn read(&self) -> BTreeMap<String, String> {
        let text = self
            .file
            .as_ref()
            .and_then(|file| bobbin_files::read_text_unlinked(file, MAX_FILE).ok());
        text.and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_there_again_until_it_is_sent() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("drafts.json");
        let drafts = Drafts::new(Some(file.clone()));
        drafts.store(None, "half a prompt").unwrap();
        drafts.store(Some("t"), "another").unwrap();
        let again = Drafts::new(Some(file));
        assert_eq!(again.of(None), "half a prompt");
        again.store(None, "").unwrap();
        assert_eq!(
            (drafts.of(None), drafts.of(Some("t"))),
            (String::new(), "another".to_owned())
        );
        drafts.store(Some("t"), &"x".repeat(MAX_DRAFT + 1)).unwrap();
        assert_eq!(drafts.of(Some("t")), "");
        assert_eq!(Drafts::new(None).of(None), "");
    }
}
