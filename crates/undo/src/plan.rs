//! The effects of a Turn's calls on each file, and the steps of an undo. Pure.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use bobbin_files::Fingerprint;

use crate::objects::{Digest, StoredFile};
use crate::steps::{Before, StepRefs};

/// The changes of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) refs: StepRefs,
    pub(crate) changes: Vec<Change>,
    /// Why some changes are unknown, as half a sentence.
    pub(crate) skipped: Option<String>,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// Absolute.
    pub(crate) path: PathBuf,
    pub(crate) before: Option<StoredFile>,
    pub(crate) after: After,
}

/// The state of a file after a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum After {
    Known(Option<StoredFile>),
    /// The server ended while the call ran.
    Unknown,
}

impl After {
    fn is(&self, entry: Option<&StoredFile>) -> bool {
        matches!(self, Self::Known(after) if after.as_ref() == entry)
    }
}

impl Step {
    /// Returns whether a tool reported the changes; otherwise a snapshot found them.
    fn is_certain(&self) -> bool {
        matches!(self.refs.before, Some(Before::Files(_)))
    }
}

/// The changes of a Turn to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NetChange {
    /// The state before its first change.
    pub(crate) before: Option<StoredFile>,
    /// The state after its last change.
    pub(crate) after: After,
    /// Another program changed the file between two of the Turn's changes, or may have made one of them.
    pub(crate) contested: bool,
    /// When the Turn's first change of it started, in milliseconds since 1970.
    pub(crate) since: i64,
    /// No earlier snapshot has the file, and no other file has its content: it may be older, and unseen.
    pub(crate) may_be_older: bool,
}

/// The net changes of a Turn's files.
#[derive(Debug, Default)]
pub(crate) struct NetChanges {
    pub(crate) files: BTreeMap<PathBuf, NetChange>,
    /// Files that another Turn wrote while a command of this Turn ran: they do not belong to this Turn.
    pub(crate) theirs: Vec<PathBuf>,
}

/// Returns the changes of steps, in order, to each file; changes without an effect are left out. `others` are possibly
/// concurrent steps of other Turns.
pub(crate) fn net_changes(steps: &[Step], others: &[Step]) -> NetChanges {
    let mut net_changes = NetChanges::default();
    for step in steps {
        let gone: HashSet<Digest> = step
            .changes
            .iter()
            .filter(|change| change.after.is(None))
            .filter_map(|change| Some(change.before?.blob))
            .collect();
        // Files that an ignore file excluded before may look new: they are named, and removed with force only.
        let shown: Vec<&Path> = step
            .changes
            .iter()
            .filter(|change| change.before.is_some() && change.path.ends_with(".gitignore"))
            .filter_map(|change| change.path.parent())
            .collect();
        for change in &step.changes {
            let whose = whose(step, change, others);
            if whose == Whose::Theirs {
                net_changes.theirs.push(change.path.clone());
                continue;
            }
            let may_be_older = !step.is_certain() && change.before.is_none();
            let was_shown = may_be_older && shown.iter().any(|place| change.path.starts_with(place));
            let contested = whose == Whose::Both || was_shown;
            if let Some(fate) = net_changes.files.get_mut(&change.path) {
                fate.contested |= contested || !fate.after.is(change.before.as_ref());
                fate.after.clone_from(&change.after);
                continue;
            }
            let was_moved = matches!(&change.after, After::Known(Some(after)) if gone.contains(&after.blob));
            let fate = NetChange {
                before: change.before,
                after: change.after.clone(),
                contested,
                since: step.refs.start,
                may_be_older: may_be_older && !was_moved,
            };
            net_changes.files.insert(change.path.clone(), fate);
        }
    }
    net_changes
        .files
        .retain(|_, fate| !fate.after.is(fate.before.as_ref()));
    net_changes
        .theirs
        .retain(|path| !net_changes.files.contains_key(path));
    net_changes.theirs.sort();
    net_changes.theirs.dedup();
    net_changes
}

/// Makes the way to each file's state after the Turn of the way back to its state before. Returns the files whose state after
/// the Turn is not known.
pub(crate) fn turn_around(files: &mut BTreeMap<PathBuf, NetChange>) -> Vec<PathBuf> {
    let mut unknown = Vec::new();
    files.retain(|path, change| {
        let After::Known(after) = change.after else {
            unknown.push(path.clone());
            return false;
        };
        *change = NetChange {
            before: after,
            after: After::Known(change.before),
            // A file that is as the undo left it has the work of no one else.
            contested: false,
            since: change.since,
            may_be_older: false,
        };
        true
    });
    unknown
}

#[derive(Debug, PartialEq, Eq)]
enum Whose {
    Ours,
    Theirs,
    Both,
}

/// Returns which Turn made a change. A file that another Turn's file tool wrote meanwhile is that Turn's; concurrent
/// snapshots of two Turns leave it open.
fn whose(step: &Step, change: &Change, others: &[Step]) -> Whose {
    if step.is_certain() {
        return Whose::Ours;
    }
    let beside = others.iter().filter(|other| other.refs.overlaps(&step.refs));
    let found = beside.filter_map(|other| {
        let found = other.changes.iter().find(|theirs| theirs.path == change.path)?;
        Some((other.is_certain(), found))
    });
    let found: Vec<(bool, &Change)> = found.collect();
    let (Some((_, first)), Some((_, last))) = (found.first(), found.last()) else {
        return Whose::Ours;
    };
    let certain = found.iter().all(|(certain, _)| *certain);
    if certain && first.before == change.before && last.after == change.after {
        return Whose::Theirs;
    }
    Whose::Both
}

/// The present state of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Now {
    Nothing,
    File(StoredFile),
    /// An ordinary file that is too large or may not be read.
    Unread(Fingerprint),
    /// A directory, another kind of file, or a path that cannot be reached safely.
    Other,
}

/// The step of an undo for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing: the file is in its earlier state.
    Right,
    /// The file is as the Turn left it: the undo restores it.
    PutBack,
    /// The file was changed since, or may have been.
    Changed,
    /// The file cannot be restored, even with force.
    InTheWay,
}

/// Returns what an undo does about a file.
pub(crate) fn verdict(fate: &NetChange, now: &Now) -> Verdict {
    let same = |entry: &Option<StoredFile>| match (entry, now) {
        (None, Now::Nothing) => true,
        (Some(entry), Now::File(now)) => entry == now,
        _ => false,
    };
    if same(&fate.before) {
        Verdict::Right
    } else if *now == Now::Other {
        Verdict::InTheWay
    } else if matches!(&fate.after, After::Known(after) if same(after)) && !fate.contested {
        Verdict::PutBack
    } else {
        Verdict::Changed
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::objects::{FileMode, ObjectKind};

    fn entry(blob: &str) -> Option<StoredFile> {
        (blob != "-").then(|| StoredFile {
            mode: FileMode::Plain,
            blob: Digest::of(ObjectKind::Blob, blob.as_bytes()),
        })
    }

    fn known(blob: &str) -> After {
        if blob == "?" {
            After::Unknown
        } else {
            After::Known(entry(blob))
        }
    }

    /// Returns a step between two times with changes: path, before, after (`?` for an unknown one).
    fn step(before: Before, (start, end): (i64, i64), changes: &[(&str, &str, &str)]) -> Step {
        let change = |(path, before, after): &(&str, &str, &str)| Change {
            path: PathBuf::from(path),
            before: entry(before),
            after: known(after),
        };
        Step {
            refs: StepRefs {
                turn: String::new(),
                name: String::new(),
                start,
                before: Some(before),
                after: Some((end, String::new())),
                skipped: None,
            },
            changes: changes.iter().map(change).collect(),
            skipped: None,
        }
    }

    fn tool(times: (i64, i64), changes: &[(&str, &str, &str)]) -> Step {
        step(Before::Files(String::new()), times, changes)
    }

    fn command(times: (i64, i64), changes: &[(&str, &str, &str)]) -> Step {
        step(Before::Workspace(String::new(), String::new()), times, changes)
    }

    #[test]
    fn steps_come_to_the_first_before_and_the_last_after() {
        let steps = [
            tool((1, 2), &[("a", "1", "2"), ("new", "-", "x"), ("back", "1", "2")]),
            command((3, 4), &[("a", "2", "3"), ("gone", "1", "-"), ("back", "2", "1")]),
            tool((5, 6), &[("new", "somebody's", "y")]),
        ];
        let net_changes = net_changes(&steps, &[]).files;
        let fate = |path: &str| {
            let fate = &net_changes[Path::new(path)];
            (fate.before, fate.after.clone(), fate.contested)
        };
        assert_eq!(net_changes.len(), 3);
        assert_eq!(fate("a"), (entry("1"), known("3"), false));
        assert_eq!(fate("gone"), (entry("1"), known("-"), false));
        // Another program changed it between two calls.
        assert_eq!(fate("new"), (None, known("y"), true));
    }

    #[test]
    fn what_looks_new_may_be_older_unless_it_was_moved_or_a_tool_made_it() {
        let steps = [
            command(
                (1, 2),
                &[("seen", "-", "x"), ("moved", "-", "m"), ("from", "m", "-")],
            ),
            tool((3, 4), &[("made", "-", "y")]),
            command(
                (5, 6),
                &[
                    ("deep/.gitignore", "1", "2"),
                    ("deep/shown", "-", "x"),
                    ("new", "-", "x"),
                ],
            ),
        ];
        let net_changes = net_changes(&steps, &[]).files;
        let older = |path: &str| net_changes[Path::new(path)].may_be_older;
        assert!(older("seen") && !older("moved") && !older("from") && !older("made"));
        let contested = |path: &str| net_changes[Path::new(path)].contested;
        assert!(contested("deep/shown") && !contested("new") && !contested("deep/.gitignore"));
    }

    #[test]
    fn what_another_turn_wrote_meanwhile_is_not_ours() {
        let ours = [command(
            (10, 20),
            &[
                ("theirs", "1", "3"),
                ("both", "1", "3"),
                ("ran", "1", "2"),
                ("ours", "1", "2"),
            ],
        )];
        let others = [
            tool((5, 6), &[("ours", "0", "1")]),
            tool((11, 12), &[("theirs", "1", "2"), ("both", "1", "2")]),
            tool((13, 14), &[("theirs", "2", "3")]),
            command((19, 30), &[("ran", "1", "2")]),
        ];
        let net_changes = net_changes(&ours, &others);
        assert_eq!(net_changes.theirs, [PathBuf::from("theirs")]);
        let contested: Vec<_> = net_changes
            .files
            .iter()
            .map(|(path, fate)| (path.to_str().unwrap(), fate.contested))
            .collect();
        assert_eq!(contested, [("both", true), ("ours", false), ("ran", true)]);
        // A file tool's change is its own, whatever a concurrent command did.
        let certain = super::net_changes(&others[1..2], &ours);
        assert!(certain.files.values().all(|fate| !fate.contested));
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
    #[case::not_known("1", "?", false, Some("2"), Verdict::Changed)]
    #[case::a_directory("1", "2", false, None, Verdict::InTheWay)]
    fn a_file_is_put_back_only_where_nobody_loses_anything(
        #[case] before: &str,
        #[case] after: &str,
        #[case] contested: bool,
        #[case] now: Option<&str>,
        #[case] expected: Verdict,
    ) {
        let fate = NetChange {
            before: entry(before),
            after: known(after),
            contested,
            since: 0,
            may_be_older: false,
        };
        let now = now.map_or(Now::Other, |blob| entry(blob).map_or(Now::Nothing, Now::File));
        assert_eq!(verdict(&fate, &now), expected);
    }
}
