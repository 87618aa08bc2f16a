//! Drafts: prompts that are not sent yet, by their Threads. They are in a file, so that they outlive the client.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Most drafts; the oldest ones go.
const MAX_DRAFTS: usize = 200;
/// Longest draft that is stored, in bytes. Of a longer one, the version before it stays.
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
        let place = thread.unwrap_or(NEW);
        let mut drafts = self.read().into_iter();
        let found = drafts.find(|(known, _)| known == place);
        found.map(|(_, text)| text).unwrap_or_default()
    }

    /// Stores a draft; an empty one is removed. Other clients may have changed others.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn store(&self, thread: Option<&str>, text: &str) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if text.len() > MAX_DRAFT {
            return Ok(());
        }
        let Some(folder) = file.parent() else {
            return Ok(());
        };
        // Some file systems have no locks. There the last writer wins.
        let lock = File::create(file.with_extension("lock")).ok();
        let _lock = lock.filter(|lock| lock.lock().is_ok());
        let mut drafts = self.read();
        let place = thread.unwrap_or(NEW);
        let at = drafts.iter().position(|(known, _)| known == place);
        let before = at.map(|at| drafts.remove(at).1);
        if before.as_deref().unwrap_or_default() == text {
            return Ok(());
        }
        if !text.trim().is_empty() {
            drafts.push((place.to_owned(), text.to_owned()));
        }
        let beyond = drafts.len().saturating_sub(MAX_DRAFTS);
        drafts.drain(..beyond);
        // Only its user may read it.
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(&serde_json::to_vec(&drafts)?)?;
        new.persist(file).map_err(|error| error.error)?;
        Ok(())
    }

    /// Returns the places and their drafts, oldest first.
    fn read(&self) -> Vec<(String, String)> {
        let text = self
            .file
            .as_ref()
            .and_then(|file| bobbin_files::read_text_unlinked(file, MAX_FILE).ok());
        let text = text.unwrap_or_default();
        // Earlier versions wrote an object, which says nothing about their age.
        let of_object =
            |_| serde_json::from_str::<BTreeMap<_, _>>(&text).map(|drafts| drafts.into_iter().collect());
        serde_json::from_str(&text).or_else(of_object).unwrap_or_default()
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
        assert_eq!(drafts.of(Some("t")), "another", "the version before stays");
        assert_eq!(Drafts::new(None).of(None), "");
    }

    #[test]
    fn the_oldest_of_too_many_drafts_goes() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("drafts.json");
        std::fs::write(&file, r#"{"a":"1","z":"2"}"#).unwrap();
        let drafts = Drafts::new(Some(file));
        drafts.store(Some("a"), "newer than z").unwrap();
        for number in 0..MAX_DRAFTS - 2 {
            drafts.store(Some(&format!("t{number}")), "x").unwrap();
        }
        assert_eq!(drafts.of(Some("z")), "2");
        drafts.store(Some("zz"), "the newest").unwrap();
        assert_eq!(
            [drafts.of(Some("z")), drafts.of(Some("a")), drafts.of(Some("zz"))],
            ["", "newer than z", "the newest"]
        );
    }

    #[test]
    fn clients_that_store_at_once_lose_nothing() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("drafts.json");
        std::thread::scope(|scope| {
            for client in 0..4 {
                let drafts = Drafts::new(Some(file.clone()));
                scope.spawn(move || {
                    for number in 0..20 {
                        drafts.store(Some(&format!("{client}-{number}")), "x").unwrap();
                    }
                });
            }
        });
        assert_eq!(Drafts::new(Some(file)).read().len(), 80);
    }
}
