//! What people wrote for agents as files: *commands*, texts that a user sends by name with arguments, and *skills*,
//! instructions that an agent looks at when they are of use.
//!
//! A workspace has its own in `.craft/commands` and `.craft/skills`, and a user has some for every workspace, in the
//! same directories of the home. Of two with one name the workspace's counts (AppServer protocol 05 §4 and §6), as long as
//! the user trusts the workspace.
//!
//! Knows nothing of protocols, Threads or models. Everything here blocks on the disk and is read when it is asked
//! for, so that an edited file counts at once. Files of a workspace may come from anybody: one that leads out of the
//! workspace by a link is not read. Bounded by the constants of its files.

mod commands;
mod error;
mod front_matter;
mod place;
mod skills;
mod switched_off;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

pub use commands::Command;
pub use error::PromptError;
use parking_lot::Mutex;
pub use skills::{RemovedSkill, Skill, SkillText};

use crate::place::Place;
use crate::switched_off::SwitchedOff;

/// Whose a command or skill is; the first counts where two have one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The workspace's.
    Workspace,
    /// The user's, for every workspace.
    User,
}

/// What skills may ask for of the machine.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Where programs are looked for.
    pub path: Vec<PathBuf>,
    /// Names of the environment's variables that have a value.
    pub variables: BTreeSet<String>,
}

/// Says whether the texts of a folder count now. May block.
pub type IsTrusted = Box<dyn Fn(&Path) -> bool + Send + Sync>;

/// The commands and skills of one workspace and its user.
pub struct Prompts {
    workspace: PathBuf,
    places: Vec<Place>,
    trusted: IsTrusted,
    machine: Machine,
    /// Which skills are switched off. Held while its file is changed, never across anything else.
    switched_off: Mutex<SwitchedOff>,
}

impl Prompts {
    /// Returns those of a workspace and of the user whose home it is; nothing is read yet.
    pub fn new(workspace: PathBuf, home: Option<PathBuf>, machine: Machine) -> Self {
        let switched_off = Mutex::new(SwitchedOff::of(&workspace));
        let user = home
            // A home that is a workspace has them once, and they are nobody else's.
            .filter(|home| *home != workspace)
            .map(|home| Place::new(Source::User, home));
        Self {
            places: std::iter::once(Place::new(Source::Workspace, workspace.clone()))
                .chain(user)
                .collect(),
            workspace,
            trusted: Box::new(|_| true),
            machine,
            switched_off,
        }
    }

    /// Has the texts of a folder count only while its user trusts it.
    #[must_use]
    pub fn trusted_while(self, trusted: IsTrusted) -> Self {
        Self { trusted, ..self }
    }

    /// Whether the texts of the workspace count now. Blocks on the disk.
    pub fn workspace_counts(&self) -> bool {
        (self.trusted)(&self.workspace)
    }

    /// Whether the texts of a folder count now: those in the workspace with it. Blocks on the disk.
    pub fn folder_counts(&self, folder: &Path) -> bool {
        if folder.starts_with(&self.workspace) {
            self.workspace_counts()
        } else {
            (self.trusted)(folder)
        }
    }

    /// Returns the places that count now, the workspace's first.
    fn places(&self) -> impl Iterator<Item = &Place> {
        let counts = self.workspace_counts();
        let places = self.places.iter();
        places.filter(move |place| counts || place.source != Source::Workspace)
    }
}

impl fmt::Debug for Prompts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompts")
            .field("places", &self.places)
            .finish_non_exhaustive()
    }
}
