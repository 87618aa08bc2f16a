//! Steps as they are written down, and what the steps of a Turn come to. Pure.
//!
//! A step is written twice under one name: open, with what was before a call, and closed, with what was after it too.
//! One that stays open says that nobody saw what was after it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::tools::Stamp;

/// Version of what is written. The first did not say what a look had left out.
pub(super) const VERSION: u32 = 2;

/// One call's changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    pub(super) version: u32,
    /// The call.
    pub(super) call: String,
    /// Root of the Turn's file tools.
    pub(super) root: Text,
    /// How far it is.
    pub(super) state: State,
    /// What is kept of it.
    pub(super) kind: Kind,
    /// The files, those of a closed step in which nothing changed left out. Their contents lie beside this.
    pub(super) changes: Vec<Change>,
    /// Directories that were there and may be empty: they stay when what came into them goes.
    #[serde(default)]
    pub(super) stay: Vec<Text>,
    /// Of an open look: what was there and was not seen by it, relative to the root, a directory for all below it.
    /// `None`: nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) skipped: Option<Vec<Text>>,
    /// Of an open look: when it began, in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) since: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum State {
    /// The call may run, or may have run.
    Open,
    /// It has ended.
    Closed,
}

/// What is kept of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Kind {
    /// The files it said it writes.
    Files,
    /// A look over the whole workspace.
    Look,
    /// Nothing, for a reason fit for people.
    Nothing {
        /// The reason, half a sentence.
        why: String,
    },
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Change {
    /// Absolute.
    pub(super) path: Text,
    /// `None`: it was not there.
    pub(super) before: Option<FileMode>,
    /// `None`: it is not there. Not known of an open step.
    pub(super) after: Option<FileMode>,
    /// Another Turn's command ran at the same time, and may have been the one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) shared: bool,
    /// It is not to be undone with the Turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) left: Option<Left>,
}

/// Why a change that was seen is not undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Left {
    /// It looks new, but may have been there before, unseen.
    Unseen,
    /// Another Turn's file tool, or an undoing, wrote it at the same time: it is theirs.
    Theirs,
}

/// What a kept file is; the words are git's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FileMode {
    /// An ordinary file.
    #[serde(rename = "100644")]
    Plain,
    /// A program.
    #[serde(rename = "100755")]
    Program,
    /// A symbolic link; its content is where it leads.
    #[serde(rename = "120000")]
    Link,
}

impl FileMode {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "100644",
            Self::Program => "100755",
            Self::Link => "120000",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        [Self::Plain, Self::Program, Self::Link]
            .into_iter()
            .find(|mode| mode.as_str() == word)
    }
}

/// A path in JSON, whatever its bytes are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Text {
    Utf8(String),
    Bytes(Vec<u8>),
}

impl Text {
    pub(super) fn of(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Utf8(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Utf8(text) => PathBuf::from(text),
            Self::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes.clone())),
        }
    }
}

/// A file's content and kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: FileMode,
    /// Name of the content in the repository.
    pub(super) blob: String,
}

/// A step as it was read: its changes with their contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) step: Step,
    /// Before and after, for each change.
    pub(super) entries: Vec<(Option<Entry>, Option<Entry>)>,
}

/// What a Turn did to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fate {
    /// Before its first change.
    pub(super) before: Option<Entry>,
    /// After its last.
    pub(super) after: Option<Entry>,
    /// What it was after its last is not known.
    pub(super) unsure: bool,
    /// Somebody else changed it between two of the Turn's changes, or may have been the one.
    pub(super) contested: bool,
    /// It is not to be touched.
    pub(super) left: Option<Left>,
}

/// Returns what steps, in their order, did to each file; what came to nothing is left out.
pub(super) fn fates(steps: &[Kept]) -> BTreeMap<PathBuf, Fate> {
    let mut fates: BTreeMap<PathBuf, Fate> = BTreeMap::new();
    for kept in steps {
        // Two looks do not say who changed a file between them: a person has a word in it.
        let looked = kept.step.kind == Kind::Look;
        let unsure = kept.step.state == State::Open;
        for (change, (before, after)) in kept.step.changes.iter().zip(&kept.entries) {
            let path = change.path.path();
            let nobody_knows = looked && kept.step.version < VERSION && change.before.is_none();
            let left = change.left.or(nobody_knows.then_some(Left::Unseen));
            let doubtful = change.shared || looked || unsure || left.is_some();
            // What others wrote ends what is known of it; from there it may begin anew.
            let known = fates.get_mut(&path);
            let known = known.filter(|fate| left.is_some() || fate.left != Some(Left::Theirs));
            if let Some(fate) = known {
                fate.contested |= fate.after != *before || doubtful;
                fate.after.clone_from(after);
                fate.unsure = unsure;
                continue;
            }
            let fate = Fate {
                before: before.clone(),
                after: after.clone(),
                unsure,
                contested: doubtful,
                left,
            };
            fates.insert(path, fate);
        }
    }
    fates.retain(|_, fate| fate.before != fate.after || fate.unsure || fate.left.is_some());
    fates
}

/// What lies at a path now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Now {
    Nothing,
    File(Entry),
    /// An ordinary file that is too large or may not be read.
    Unread(Stamp),
    /// A directory, something that is neither file nor link, or nothing that can be reached safely.
    Other,
}

/// What is to be done about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is as it was before.
    Right,
    /// It is as the Turn left it: it is put back.
    PutBack,
    /// Somebody has changed it since.
    Changed,
    /// It cannot be put back, whoever says so.
    InTheWay,
}

/// Returns what is to be done about a file.
pub(super) fn verdict(fate: &Fate, now: &Now) -> Verdict {
    let same = |entry: &Option<Entry>| match (entry, now) {
        (None, Now::Nothing) => true,
        (Some(entry), Now::File(now)) => entry == now,
        _ => false,
    };
    if same(&fate.before) {
        Verdict::Right
    } else if *now == Now::Other {
        Verdict::InTheWay
    } else if same(&fate.after) && !fate.contested {
        Verdict::PutBack
    } else {
        Verdict::Changed
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn entry(blob: &str) -> Option<Entry> {
        (blob != "-").then(|| Entry {
            mode: FileMode::Plain,
            blob: blob.to_owned(),
        })
    }

    fn step(changes: &[(&str, &str, &str)]) -> Kept {
        let mode = |blob: &str| (blob != "-").then_some(FileMode::Plain);
        Kept {
            step: Step {
                version: VERSION,
                call: "call_1".to_owned(),
                root: Text::of(Path::new("/w")),
                state: State::Closed,
                kind: Kind::Files,
                changes: changes
                    .iter()
                    .map(|(path, before, after)| Change {
                        path: Text::of(Path::new(path)),
                        before: mode(before),
                        after: mode(after),
                        shared: false,
                        left: None,
                    })
                    .collect(),
                stay: vec![],
                skipped: None,
                since: 0,
            },
            entries: changes
                .iter()
                .map(|(_, before, after)| (entry(before), entry(after)))
                .collect(),
        }
    }

    #[test]
    fn steps_come_to_the_first_before_and_the_last_after() {
        let steps = [
            step(&[("/w/a", "1", "2"), ("/w/new", "-", "x"), ("/w/back", "1", "2")]),
            step(&[("/w/a", "2", "3"), ("/w/gone", "1", "-"), ("/w/back", "2", "1")]),
            step(&[("/w/new", "somebody's", "y")]),
        ];
        let fates = fates(&steps);
        let told: Vec<_> = fates
            .iter()
            .map(|(path, fate)| {
                let blob = |entry: &Option<Entry>| entry.as_ref().map_or("-".to_owned(), |e| e.blob.clone());
                (
                    path.to_str().unwrap(),
                    blob(&fate.before),
                    blob(&fate.after),
                    fate.contested,
                )
            })
            .collect();
        let line = |path, before: &str, after: &str, contested| {
            (path, before.to_owned(), after.to_owned(), contested)
        };
        assert_eq!(
            told,
            [
                line("/w/a", "1", "3", false),
                line("/w/gone", "1", "-", false),
                line("/w/new", "-", "y", true)
            ]
        );
    }

    #[test]
    fn what_is_not_known_for_certain_is_not_put_back_without_a_word() {
        let mut open = step(&[("/w/new", "-", "-"), ("/w/a", "1", "-")]);
        open.step.state = State::Open;
        let mut look = step(&[
            ("/w/unseen", "-", "x"),
            ("/w/theirs", "1", "2"),
            ("/w/known", "-", "y"),
        ]);
        look.step.kind = Kind::Look;
        for (change, left) in look
            .step
            .changes
            .iter_mut()
            .zip([Left::Unseen, Left::Theirs, Left::Unseen])
        {
            change.left = Some(left);
        }
        let first = step(&[("/w/known", "1", "2")]);
        let fates = fates(&[first, open, look.clone()]);
        let told = |path: &str| {
            let fate = &fates[Path::new(path)];
            (fate.unsure, fate.contested, fate.left)
        };
        assert_eq!(told("/w/new"), (true, true, None));
        assert_eq!(told("/w/a"), (true, true, None));
        assert_eq!(told("/w/unseen"), (false, true, Some(Left::Unseen)));
        assert_eq!(told("/w/theirs"), (false, true, Some(Left::Theirs)));
        let again = super::fates(&[look.clone(), step(&[("/w/theirs", "2", "3")])]);
        let theirs = &again[Path::new("/w/theirs")];
        assert_eq!((&theirs.before, theirs.left), (&entry("2"), None));
        look.step.version = 1;
        look.step.changes[2].left = None;
        let old = super::fates(&[look]);
        assert_eq!(old[Path::new("/w/known")].left, Some(Left::Unseen));
        // What it was before is known from the first.
        assert_eq!(told("/w/known"), (false, true, None));
        assert_eq!(fates[Path::new("/w/known")].before, entry("1"));
    }

    #[rstest]
    #[case::as_the_turn_left_it("1", "2", false, Some("2"), Verdict::PutBack)]
    #[case::as_it_was("1", "2", false, Some("1"), Verdict::Right)]
    #[case::as_it_was_although_contested("1", "2", true, Some("1"), Verdict::Right)]
    #[case::changed_since("1", "2", false, Some("3"), Verdict::Changed)]
    #[case::removed_since("1", "2", false, Some("-"), Verdict::Changed)]
    #[case::made_by_the_turn("-", "2", false, Some("2"), Verdict::PutBack)]
    #[case::made_and_gone("-", "2", false, Some("-"), Verdict::Right)]
    #[case::removed_by_the_turn("1", "-", false, Some("-"), Verdict::PutBack)]
    #[case::made_anew_since("1", "-", false, Some("3"), Verdict::Changed)]
    #[case::contested("1", "2", true, Some("2"), Verdict::Changed)]
    #[case::a_directory("1", "2", false, None, Verdict::InTheWay)]
    fn a_file_is_put_back_only_where_nobody_loses_anything(
        #[case] before: &str,
        #[case] after: &str,
        #[case] contested: bool,
        #[case] now: Option<&str>,
        #[case] expected: Verdict,
    ) {
        let fate = Fate {
            before: entry(before),
            after: entry(after),
            unsure: false,
            contested,
            left: None,
        };
        let now = now.map_or(Now::Other, |blob| entry(blob).map_or(Now::Nothing, Now::File));
        assert_eq!(verdict(&fate, &now), expected);
    }

    #[test]
    fn a_step_comes_back_as_it_was_written_whatever_its_paths_are() {
        let mut step = step(&[("/w/a", "1", "-")]).step;
        let odd = PathBuf::from(OsString::from_vec(b"/w/\xff\n".to_vec()));
        step.stay = vec![Text::of(&odd)];
        let text = serde_json::to_vec(&step).unwrap();
        let read: Step = serde_json::from_slice(&text).unwrap();
        assert_eq!(read, step);
        assert_eq!(read.stay[0].path(), odd);
    }
}
