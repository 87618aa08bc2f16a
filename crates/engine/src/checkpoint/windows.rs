//! Which calls run side by side, so that nobody is said to have done what another did.
//!
//! A call of which nobody knows what it changes has a window from before its first look to its last. What a file tool, or
//! an undoing, of somebody else writes meanwhile is noted before it is written, and is theirs; what changed while two
//! windows were open may be either's. In memory only: after a crash nothing runs any more. Bounded by the calls there
//! are, and by [`MAX_OTHERS`] a window, beyond which nobody can say what the window's call did.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_model::{ThreadId, TurnId};
use parking_lot::Mutex;

/// Most writes of others noted for one window.
const MAX_OTHERS: usize = 10_000;

/// Whose call it is.
pub(super) type Whose = (ThreadId, TurnId);

#[derive(Debug)]
struct Window {
    id: u64,
    whose: Whose,
    root: PathBuf,
    beside: Beside,
}

/// Files that somebody writes.
#[derive(Debug)]
struct Writing {
    id: u64,
    whose: Option<Whose>,
    paths: Vec<PathBuf>,
}

/// What went on beside a call.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// Another such call ran.
    pub(super) shared: bool,
    /// What others wrote, and how often it was noted.
    pub(super) others: HashMap<PathBuf, usize>,
    /// They wrote more than was noted.
    pub(super) lost: bool,
}

impl Beside {
    fn note(&mut self, root: &Path, paths: &[PathBuf]) {
        for path in paths.iter().filter(|path| path.starts_with(root)) {
            if self.others.len() == MAX_OTHERS && !self.others.contains_key(path) {
                self.lost = true;
                return;
            }
            *self.others.entry(path.clone()).or_default() += 1;
        }
    }

    fn take_back(&mut self, paths: &[PathBuf]) {
        for path in paths {
            if let Some(times) = self.others.get_mut(path) {
                *times -= 1;
                if *times == 0 {
                    self.others.remove(path);
                }
            }
        }
    }
}

/// What goes on now. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Windows(Arc<Mutex<Now>>);

#[derive(Debug, Default)]
struct Now {
    open: Vec<Window>,
    writing: Vec<Writing>,
    last: u64,
}

/// A window, or files being written. It ends with the value.
#[derive(Debug)]
pub(super) struct Going {
    windows: Windows,
    id: u64,
}

impl Windows {
    /// Opens a window over the files below `root`.
    pub(super) fn open(&self, whose: Whose, root: &Path) -> Going {
        let mut now = self.0.lock();
        let mut beside = Beside::default();
        for other in &mut now.open {
            if other.whose != whose && (other.root.starts_with(root) || root.starts_with(&other.root)) {
                other.beside.shared = true;
                beside.shared = true;
            }
        }
        for writing in &now.writing {
            if writing.whose.as_ref() != Some(&whose) {
                beside.note(root, &writing.paths);
            }
        }
        now.last += 1;
        let window = Window {
            id: now.last,
            whose,
            root: root.to_owned(),
            beside,
        };
        now.open.push(window);
        self.going(now.last)
    }

    /// Notes what somebody is going to write, for everybody else's windows: those that are open, and those that open
    /// before it ends.
    pub(super) fn writing(&self, whose: Option<Whose>, paths: Vec<PathBuf>) -> Going {
        let mut now = self.0.lock();
        for window in &mut now.open {
            if Some(&window.whose) != whose.as_ref() {
                window.beside.note(&window.root, &paths);
            }
        }
        now.last += 1;
        let id = now.last;
        now.writing.push(Writing { id, whose, paths });
        self.going(id)
    }

    fn going(&self, id: u64) -> Going {
        Going {
            windows: self.clone(),
            id,
        }
    }

    fn end(&self, id: u64) -> Beside {
        let mut now = self.0.lock();
        now.writing.retain(|writing| writing.id != id);
        match now.open.iter().position(|window| window.id == id) {
            Some(at) => now.open.swap_remove(at).beside,
            None => Beside::default(),
        }
    }

    /// Ends files being written of which none was written.
    fn take_back(&self, id: u64) {
        let mut now = self.0.lock();
        let Some(at) = now.writing.iter().position(|writing| writing.id == id) else {
            return;
        };
        let Writing { whose, paths, .. } = now.writing.swap_remove(at);
        for window in &mut now.open {
            if Some(&window.whose) != whose.as_ref() {
                window.beside.take_back(&paths);
            }
        }
    }

    /// Whether nothing goes on.
    #[cfg(test)]
    pub(super) fn are_closed(&self) -> bool {
        let now = self.0.lock();
        now.open.is_empty() && now.writing.is_empty()
    }
}

impl Going {
    /// Ends it and returns what went on beside it.
    pub(super) fn end(self) -> Beside {
        self.windows.end(self.id)
    }

    /// Ends it since nothing goes on after all: what was noted for others is noted no more, where they still look.
    pub(super) fn take_back(self) {
        self.windows.take_back(self.id);
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        self.windows.end(self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn whose(turn: u32) -> Whose {
        (ThreadId::new("thread_1"), TurnId(turn))
    }

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_others_write_is_noted_where_it_lies_in_the_window() {
        let windows = Windows::default();
        let before = windows.writing(Some(whose(2)), paths(&["/w/begun", "/elsewhere"]));
        let over = windows.writing(Some(whose(2)), paths(&["/w/over"]));
        drop(over);
        let one = windows.open(whose(1), Path::new("/w"));
        let own = windows.writing(Some(whose(1)), paths(&["/w/own"]));
        drop(windows.writing(None, paths(&["/w/theirs", "/elsewhere"])));
        let beside = one.end();
        assert!(!beside.shared && !beside.lost);
        let theirs = paths(&["/w/begun", "/w/theirs"]);
        assert_eq!(
            beside.others.into_keys().collect::<HashSet<_>>(),
            theirs.into_iter().collect()
        );
        drop((before, own));
        assert!(windows.are_closed());
    }

    #[test]
    fn what_is_not_written_after_all_is_noted_no_more_but_where_somebody_else_wrote_it() {
        let windows = Windows::default();
        let before = windows.writing(Some(whose(2)), paths(&["/w/a"]));
        let one = windows.open(whose(1), Path::new("/w"));
        let over = windows.writing(Some(whose(3)), paths(&["/w/b", "/elsewhere"]));
        let after = windows.writing(Some(whose(2)), paths(&["/w/b", "/w/c", "/elsewhere"]));
        for going in [before, after, windows.open(whose(1), Path::new("/w"))] {
            going.take_back();
        }
        drop(over);
        assert_eq!(one.end().others.into_keys().collect::<Vec<_>>(), paths(&["/w/b"]));
        assert!(windows.are_closed());
    }

    #[test]
    fn more_than_is_noted_is_said_to_be_lost() {
        let windows = Windows::default();
        let one = windows.open(whose(1), Path::new("/w"));
        let many = (0..=MAX_OTHERS).map(|n| PathBuf::from(format!("/w/{n}")));
        drop(windows.writing(None, many.collect()));
        assert!(one.end().lost);
    }

    #[test]
    fn windows_of_two_turns_over_the_same_files_are_shared() {
        let windows = Windows::default();
        let one = windows.open(whose(1), Path::new("/w"));
        let elsewhere = windows.open(whose(2), Path::new("/other"));
        let two = windows.open(whose(2), Path::new("/w/deep"));
        assert!(!elsewhere.end().shared);
        assert!(two.end().shared);
        assert!(one.end().shared);
        let gone = windows.open(whose(2), Path::new("/w"));
        drop(gone);
        let alone = windows.open(whose(1), Path::new("/w"));
        assert!(!alone.end().shared);
    }
}
