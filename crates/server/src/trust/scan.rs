//! The current items of a folder: those of its configuration, and its texts. Blocks on the disk, starts nothing.

use std::path::Path;

use bobbin_agent_api::trust::{TrustChange, TrustItem, TrustKind};
use bobbin_model::{Lines, visible};
use bobbin_prompts::{Machine, Prompts, Source};

use bobbin_config::Config;
use bobbin_workspace::TrustRecord;

/// Most names in one sentence.
const MAX_NAMED: usize = 6;
/// Longest name in one sentence.
const MAX_NAME: usize = 80;

/// The items of a folder.
#[derive(Debug, Clone)]
pub struct Scan {
    /// Whether the folder as a whole is trusted.
    pub trusted: bool,
    /// The items; programs come first, texts last.
    pub items: Vec<TrustItem>,
}

impl Scan {
    /// Returns the items of a folder. `config` must have been read with this record.
    pub fn of(config: &Config, record: &TrustRecord, root: &Path, home: Option<&Path>) -> Self {
        let mut items = config.folder_items.clone();
        items.extend(crate::finecode::trust_item(root, record));
        let place = crate::plugins::place(root, home);
        items.extend(bobbin_plugins::trust_items(&place, &config.plugins, record));
        // Texts in the home are the user's own.
        if home != Some(root) {
            items.extend(texts(root).into_iter().map(|name| TrustItem {
                kind: TrustKind::Text,
                detail: unread(&root.join(&name)),
                name,
                fingerprint: None,
                trusted: record.trusted,
            }));
        }
        Self {
            trusted: record.trusted,
            items,
        }
    }

    /// Returns the items that do not count yet.
    pub fn waiting(&self) -> impl Iterator<Item = &TrustItem> {
        self.items.iter().filter(|item| !item.trusted)
    }

    /// Returns the fingerprints of all items that have one.
    pub fn fingerprints(&self) -> Vec<&str> {
        let items = self.items.iter();
        items.filter_map(|item| item.fingerprint.as_deref()).collect()
    }

    /// Writes a change into the record.
    pub fn apply(&self, change: &TrustChange, record: &mut TrustRecord) {
        match change {
            TrustChange::TrustAll => {
                record.trusted = true;
                for one in self.fingerprints() {
                    record.add(one);
                }
            }
            TrustChange::TrustOnly(fingerprints) => {
                record.trusted = true;
                for one in fingerprints {
                    record.add(one);
                }
            }
            TrustChange::Revoke => record.revoke(),
        }
    }

    /// Returns the first sentence for the user, if an item waits for trust.
    pub fn sentence(&self) -> Option<String> {
        let count = self.waiting().count();
        let mut names: Vec<String> = self
            .waiting()
            .take(MAX_NAMED)
            .map(|item| shortened(&visible(&item.name, Lines::One)))
            .collect();
        if count > MAX_NAMED {
            names.push(format!("{} more", count - MAX_NAMED));
        }
        let names = names.join(", ");
        match (count, self.trusted) {
            (0, _) => None,
            (_, false) => Some(format!(
                "Untrusted folder: {names} ignored. Review with `bobbin trust`."
            )),
            (_, true) => Some(format!(
                "New in this folder and not trusted yet: {names} ignored. Review with `bobbin trust`."
            )),
        }
    }
}

/// Returns the names of a folder's texts for agents and users.
fn texts(root: &Path) -> Vec<String> {
    let mut names = bobbin_agent::project_instructions(root);
    let prompts = Prompts::new(root.to_owned(), None, Machine::default());
    let own = |source: Source| source == Source::Workspace;
    let commands = prompts.commands().into_iter();
    names.extend(
        commands
            .filter(|command| command.source.is_some_and(own))
            .map(|command| format!("the command /{}", command.name)),
    );
    let skills = prompts.skills().into_iter();
    names.extend(
        skills
            .filter(|skill| own(skill.source))
            .map(|skill| format!("the skill {}", skill.name)),
    );
    let templates = bobbin_schedules::folder_templates(root);
    names.extend(templates.map(|id| format!("the automation template {id}")));
    names
}

/// Returns the size of an instruction file, as its text is not shown; empty if no such file exists.
fn unread(path: &Path) -> String {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => {
            format!(
                "{} bytes, not shown here: read the file before you trust it",
                metadata.len()
            )
        }
        _ => String::new(),
    }
}

fn shortened(name: &str) -> String {
    if name.len() <= MAX_NAME {
        return name.to_owned();
    }
    format!("{}…", &name[..name.floor_char_boundary(MAX_NAME)])
}
