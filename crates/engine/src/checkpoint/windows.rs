//! Which calls ran side by side, so that nobody is said to have done what another did.
//!
//! A call of which nobody knows what it changes has a window from its first look to its last. What a file tool, or
//! an undoing, of somebody else writes meanwhile is not its doing; what changed while two windows were open may be
//! either's. In memory only: after a crash nothing runs any more. Bounded by the calls there are, and by
//! [`MAX_OTHERS`] a window, beyond which the window counts as shared.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use bobbin_model::{ThreadId, TurnId};

/// Most writes of others noted for one window.
const MAX_OTHERS: usize = 10_000;

/// Whose call it is.
pub(super) type Whose = (ThreadId, TurnId);

/// Content of a file, short; `None` when there is none.
pub(super) type Digest = Option<u64>;

/// Returns the digest of a content.
pub(super) fn digest(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

#[derive(Debug)]
struct Window {
    id: u64,
    whose: Whose,
    root: PathBuf,
    shared: bool,
    others: HashMap<PathBuf, Digest>,
}

/// What went on beside a call.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// Another such call ran.
    pub(super) shared: bool,
    /// What others wrote.
    pub(super) others: HashMap<PathBuf, Digest>,
}

/// The windows that are open.
#[derive(Debug, Default)]
pub(super) struct Windows {
    open: Vec<Window>,
    last: u64,
}

impl Windows {
    /// Opens a window and returns its number.
    pub(super) fn open(&mut self, whose: Whose, root: &Path) -> u64 {
        self.last += 1;
        let mut shared = false;
        for other in &mut self.open {
            if other.whose != whose && (other.root.starts_with(root) || root.starts_with(&other.root)) {
                other.shared = true;
                shared = true;
            }
        }
        self.open.push(Window {
            id: self.last,
            whose,
            root: root.to_owned(),
            shared,
            others: HashMap::new(),
        });
        self.last
    }

    /// Closes a window and returns what went on beside it.
    pub(super) fn close(&mut self, id: u64) -> Beside {
        let Some(at) = self.open.iter().position(|window| window.id == id) else {
            return Beside::default();
        };
        let window = self.open.swap_remove(at);
        Beside {
            shared: window.shared,
            others: window.others,
        }
    }

    /// Notes what somebody wrote, for everybody else's windows.
    pub(super) fn wrote(&mut self, whose: Option<&Whose>, path: &Path, now: Digest) {
        for window in &mut self.open {
            if Some(&window.whose) == whose || !path.starts_with(&window.root) {
                continue;
            }
            if window.others.len() == MAX_OTHERS {
                window.shared = true;
            } else {
                window.others.insert(path.to_owned(), now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whose(turn: u32) -> Whose {
        (ThreadId::new("thread_1"), TurnId(turn))
    }

    #[test]
    fn what_others_write_is_noted_where_it_lies_in_the_window() {
        let mut windows = Windows::default();
        let one = windows.open(whose(1), Path::new("/w"));
        windows.wrote(Some(&whose(1)), Path::new("/w/own"), None);
        windows.wrote(Some(&whose(2)), Path::new("/w/theirs"), Some(digest(b"x")));
        windows.wrote(None, Path::new("/elsewhere"), None);
        let beside = windows.close(one);
        assert!(!beside.shared);
        assert_eq!(
            beside.others,
            HashMap::from([(PathBuf::from("/w/theirs"), Some(digest(b"x")))])
        );
        assert!(windows.close(one).others.is_empty());
    }

    #[test]
    fn windows_of_two_turns_over_the_same_files_are_shared() {
        let mut windows = Windows::default();
        let one = windows.open(whose(1), Path::new("/w"));
        let elsewhere = windows.open(whose(2), Path::new("/other"));
        let two = windows.open(whose(2), Path::new("/w/deep"));
        assert!(!windows.close(elsewhere).shared);
        assert!(windows.close(two).shared);
        assert!(windows.close(one).shared);
        let alone = windows.open(whose(1), Path::new("/w"));
        assert!(!windows.close(alone).shared);
    }
}
