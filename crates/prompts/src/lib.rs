//! Texts that users write for agents as files: *commands*, which a user sends by name with arguments, and *skills*,
//! instructions that an agent reads when useful.
//!
//! A workspace has its own in `.craft/commands` and `.craft/skills`. What it has for other agents counts too: skills in
//! `.agents/skills`, commands and skills in `.claude`. Plugins bring some ([`Prompts::set_plugins`]). A user has some for
//! every workspace, in the same directories of the home, and Codex's in `.codex/prompts`. Of two with one name, the
//! workspace's has precedence (AppServer protocol 05 §4 and §6), if the user trusts the workspace.
//!
//! Knows nothing of protocols, Threads or models. All functions block on the disk and cache nothing, so an edited file
//! counts at once. Files of a workspace are untrusted: a file that a link leads out of the workspace is not read.
//! Constants in each file bound what is read.

mod commands;
mod error;
mod front_matter;
mod own;
mod place;
mod skills;
mod switched_off;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use commands::Command;
pub use error::PromptError;
pub use front_matter::{Reading, front_matter, front_matter_and_reading};
pub use own::{COMPACT, OwnCommand};
use parking_lot::Mutex;
pub use skills::{RemovedSkill, Skill, SkillText};

use crate::place::{OWN, PromptDirectory, SHARED};
use crate::switched_off::SwitchedOff;

/// The source of a command or skill; the first variant has precedence if two have one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The workspace.
    Workspace,
    /// A plugin that counts.
    Plugin,
    /// The user; for every workspace.
    User,
}

/// A plugin as users see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginName {
    /// Its id.
    pub id: String,
    /// Its title.
    pub display_name: String,
}

/// The directories of a plugin with texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginTexts {
    /// The plugin.
    pub name: PluginName,
    /// Its directory. No file outside of it is read.
    pub root: PathBuf,
    /// Directories with skills.
    pub skills: Vec<PathBuf>,
    /// Directories with commands.
    pub commands: Vec<PathBuf>,
}

/// The features of the machine that skills may require.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Directories that are searched for programs.
    pub path: Vec<PathBuf>,
    /// Names of the environment variables that have a value.
    pub variables: BTreeSet<String>,
}

/// Why texts of a folder do not count.
pub const NOT_TRUSTED: &str = "This folder is not trusted: run `bobbin trust`.";

/// Returns whether the texts of a folder count now. May block.
pub type IsTrusted = Box<dyn Fn(&Path) -> bool + Send + Sync>;

/// The commands and skills of one workspace and its user.
pub struct Prompts {
    workspace: PathBuf,
    places: Vec<Arc<PromptDirectory>>,
    /// The places of plugins, in the order of precedence.
    plugins: Mutex<Vec<Arc<PromptDirectory>>>,
    trusted: IsTrusted,
    machine: Machine,
    /// The disabled skills. Locked only while their file is changed.
    switched_off: Mutex<SwitchedOff>,
}

impl Prompts {
    /// Returns the prompts of a workspace and of the user with this home; nothing is read yet.
    pub fn new(workspace: PathBuf, home: Option<PathBuf>, machine: Machine) -> Self {
        let switched_off = Mutex::new(SwitchedOff::of(&workspace));
        let of_codex = home.clone().map(PromptDirectory::of_codex);
        let user = home
            // If the home is the workspace, its texts are listed once, as the workspace's.
            .filter(|home| *home != workspace)
            .map(|home| (Source::User, home));
        let roots = std::iter::once((Source::Workspace, workspace.clone())).chain(user);
        let of = |(source, root): (Source, PathBuf)| {
            let folders = std::iter::once(OWN).chain(SHARED);
            folders.map(move |folder| PromptDirectory::new(source, root.clone(), folder))
        };
        Self {
            places: roots.flat_map(of).chain(of_codex).map(Arc::new).collect(),
            plugins: Mutex::default(),
            workspace,
            trusted: Box::new(|_| true),
            machine,
            switched_off,
        }
    }

    /// Makes the texts of a folder count only while its user trusts the folder.
    #[must_use]
    pub fn trusted_while(self, trusted: IsTrusted) -> Self {
        Self { trusted, ..self }
    }

    /// Returns whether the texts of the workspace count now. Blocks on the disk.
    pub fn workspace_counts(&self) -> bool {
        (self.trusted)(&self.workspace)
    }

    /// Returns whether the texts of a folder count now; folders in the workspace count with the workspace. Blocks on
    /// the disk.
    pub fn folder_counts(&self, folder: &Path) -> bool {
        if folder.starts_with(&self.workspace) {
            self.workspace_counts()
        } else {
            (self.trusted)(folder)
        }
    }

    /// Replaces the plugins whose texts count; the first has precedence.
    pub fn set_plugins(&self, plugins: &[PluginTexts]) {
        let places = plugins.iter().flat_map(PromptDirectory::of_plugin);
        *self.plugins.lock() = places.map(Arc::new).collect();
    }

    /// Returns the places that count now: the workspace's, those of plugins, the user's.
    fn places(&self) -> Vec<Arc<PromptDirectory>> {
        let counts = self.workspace_counts();
        let mut places = self.plugins.lock().clone();
        let own = self.places.iter();
        places.extend(
            own.filter(|place| counts || place.source != Source::Workspace)
                .cloned(),
        );
        places.sort_by_key(|place| place.source);
        places
    }
}

impl Prompts {
    /// Returns the places whose texts wait for their user's trust.
    fn waiting(&self) -> impl Iterator<Item = &Arc<PromptDirectory>> {
        let waits = !self.workspace_counts();
        self.places
            .iter()
            .filter(move |place| waits && place.source == Source::Workspace)
    }
}

impl fmt::Debug for Prompts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompts")
            .field("places", &self.places)
            .finish_non_exhaustive()
    }
}
