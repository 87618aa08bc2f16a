//! The files of Claude Code in a home or a workspace, each in the form of a configuration file.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::{agents, settings};

/// Largest file, in bytes.
const MAX_FILE_BYTES: u64 = 256 << 10;
/// Most files with agents of one directory.
const MAX_AGENTS: usize = 100;
/// Most sentences about unused parts of one file.
const MAX_UNUSED: usize = 100;
/// Longest name in a sentence, in characters.
const MAX_NAME: usize = 80;

const SETTINGS: &str = ".claude/settings.json";
/// The settings of one user in a folder. Another author may have added the file to the folder.
const LOCAL_SETTINGS: &str = ".claude/settings.local.json";
const AGENTS: &str = ".claude/agents";

/// The owner of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// The user. Their files may be links.
    User,
    /// A folder's author.
    Folder,
}

/// A part of a file that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unused {
    /// Its name and the reason, as a part of a sentence.
    pub what: String,
    /// Whether it forbids or checks something.
    pub restrains: bool,
}

/// A file, or a directory of files, of another agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Brought {
    /// Its path.
    pub path: PathBuf,
    /// Its owner.
    pub author: Author,
    /// The parts that have an effect, in the form of a configuration file.
    pub value: Value,
    /// The counts of rules, hooks and subagents in it.
    pub taken: [usize; 3],
    /// Parts that have no effect.
    pub unused: Vec<Unused>,
}

/// Collects the translation of one file.
pub(crate) struct Translation<'a> {
    pub(crate) author: Author,
    pub(crate) home: Option<&'a Path>,
    pub(crate) rules: Vec<Value>,
    pub(crate) hooks: Map<String, Value>,
    pub(crate) hook_count: usize,
    pub(crate) profiles: Map<String, Value>,
    unused: Vec<Unused>,
    left_out: usize,
}

impl<'a> Translation<'a> {
    pub(crate) fn new(author: Author, home: Option<&'a Path>) -> Self {
        Self {
            author,
            home,
            rules: Vec::new(),
            hooks: Map::new(),
            hook_count: 0,
            profiles: Map::new(),
            unused: Vec::new(),
            left_out: 0,
        }
    }

    /// Names a part that has no effect.
    pub(crate) fn unused(&mut self, what: impl Into<String>) {
        self.add(what.into(), false);
    }

    /// Names a part that forbids or checks something, and has no effect.
    pub(crate) fn unused_guard(&mut self, what: impl Into<String>) {
        self.add(what.into(), true);
    }

    #[cfg(test)]
    pub(crate) fn named(&self) -> Vec<(&str, bool)> {
        let unused = self.unused.iter();
        unused.map(|unused| (&*unused.what, unused.restrains)).collect()
    }

    fn add(&mut self, what: String, restrains: bool) {
        if self.unused.len() < MAX_UNUSED || restrains && self.unused.len() < 2 * MAX_UNUSED {
            self.unused.push(Unused { what, restrains });
        } else {
            self.left_out += 1;
        }
    }

    fn ended(mut self, path: PathBuf) -> Brought {
        if self.left_out > 0 {
            let what = format!("{} more parts", self.left_out);
            self.unused.push(Unused {
                what,
                restrains: true,
            });
        }
        let taken = [self.rules.len(), self.hook_count, self.profiles.len()];
        let mut file = Map::new();
        let sections = [
            ("Permissions", "Rules", Value::Array(self.rules)),
            ("Hooks", "", Value::Object(self.hooks)),
            ("SubAgentProfiles", "", Value::Object(self.profiles)),
        ];
        for ((section, member, value), count) in sections.into_iter().zip(taken) {
            if count > 0 {
                let value = match member {
                    "" => value,
                    member => Value::Object(Map::from_iter([(member.to_owned(), value)])),
                };
                file.insert(section.to_owned(), value);
            }
        }
        Brought {
            path,
            author: self.author,
            value: Value::Object(file),
            taken,
            unused: self.unused,
        }
    }
}

/// Returns the files of Claude Code under `root`, a home or a workspace without links in its path. Files that are missing
/// are left out. `home` is the user's.
pub fn brought(root: &Path, author: Author, home: Option<&Path>) -> Vec<Brought> {
    let names: &[&str] = match author {
        Author::User => &[SETTINGS],
        Author::Folder => &[SETTINGS, LOCAL_SETTINGS],
    };
    let mut found = Vec::new();
    for name in names {
        let path = root.join(name);
        let mut made = Translation::new(author, home);
        match text(&path, author) {
            Ok(None) => continue,
            Ok(Some(text)) => settings::read(&text, &mut made),
            Err(why) => made.unused_guard(why),
        }
        found.push(made.ended(path));
    }
    found.extend(of_agents(&root.join(AGENTS), author, home));
    found
}

fn of_agents(directory: &Path, author: Author, home: Option<&Path>) -> Option<Brought> {
    let is_link = |path: &Path| path.is_symlink() || path.parent().is_some_and(Path::is_symlink);
    if author == Author::Folder && is_link(directory) {
        return None;
    }
    let entries = std::fs::read_dir(directory).ok()?;
    let names = entries.take(10 * MAX_AGENTS);
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| name.strip_suffix(".md").is_some_and(|stem| !stem.is_empty()))
        .collect();
    names.sort_unstable();
    if names.is_empty() {
        return None;
    }
    let mut made = Translation::new(author, home);
    if names.len() > MAX_AGENTS {
        made.unused(format!("all but the first {MAX_AGENTS} files"));
        names.truncate(MAX_AGENTS);
    }
    for name in names {
        match text(&directory.join(&name), author) {
            Ok(Some(text)) => agents::read(name.trim_end_matches(".md"), &text, &mut made),
            Ok(None) => {}
            Err(why) => made.unused(format!("{}, {why}", shown(&name))),
        }
    }
    Some(made.ended(directory.to_owned()))
}

/// Returns the text of a file, if the file exists.
fn text(path: &Path, author: Author) -> Result<Option<String>, String> {
    let text = match author {
        Author::User => bobbin_files::read_text(path, MAX_FILE_BYTES),
        Author::Folder => bobbin_files::read_text_unlinked(path, MAX_FILE_BYTES),
    };
    match text {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("all of it: it cannot be read: {error}")),
    }
}

/// Returns a text of a file for a sentence, in quotes.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_NAME).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn sentences(brought: &Brought) -> Vec<&str> {
        brought.unused.iter().map(|unused| &*unused.what).collect()
    }

    #[test]
    fn each_file_becomes_sections_of_a_configuration_file() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        write(
            &root,
            SETTINGS,
            r#"{"$schema": "x", "permissions": {"deny": ["Read(.env)"]}, "env": {"A": "b"}, "model": "opus"}"#,
        );
        write(
            &root,
            LOCAL_SETTINGS,
            r#"{"permissions": {"allow": ["Bash(make:*)"]}}"#,
        );
        write(
            &root,
            "/.claude/agents/critic.md".trim_start_matches('/'),
            "---\nname: critic\n---\nLook.",
        );
        let found = brought(&root, Author::Folder, None);
        let values: Vec<_> = found.iter().map(|one| (one.value.clone(), one.taken)).collect();
        assert_eq!(
            values,
            [
                (
                    json!({"Permissions": {"Rules": [{"Action": "deny", "Path": "**/.env", "Operation": "read"}]}}),
                    [1, 0, 0]
                ),
                (
                    json!({"Permissions": {"Rules": [{"Action": "allow", "Command": "make *"}]}}),
                    [1, 0, 0]
                ),
                (
                    json!({"SubAgentProfiles": {"critic": {"instructions": "Look."}}}),
                    [0, 0, 1]
                ),
            ]
        );
        assert_eq!(sentences(&found[0]), ["\"env\"", "\"model\""]);
        assert_eq!(
            brought(&root, Author::User, None).len(),
            2,
            "no local settings in a home"
        );
    }

    #[test]
    fn a_folder_brings_nothing_through_links() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (root, other) = (dir.path().canonicalize().unwrap(), elsewhere.path());
        write(other, "settings.json", r#"{"permissions": {"allow": ["Bash"]}}"#);
        write(other, "agents/critic.md", "---\nname: critic\n---\nLook.");
        std::os::unix::fs::symlink(other, root.join(".claude")).unwrap();
        let found = brought(&root, Author::Folder, None);
        assert!(found.iter().all(|one| one.taken == [0; 3]), "{found:?}");
        assert_eq!(brought(&root, Author::User, None).len(), 2);
    }

    #[test]
    fn what_cannot_be_read_is_named_and_sentences_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        write(&root, SETTINGS, "{");
        assert_eq!(
            sentences(&brought(&root, Author::User, None)[0]),
            ["all of it: it is no JSON object"]
        );
        write(&root, SETTINGS, &"x".repeat(300 << 10));
        assert!(sentences(&brought(&root, Author::User, None)[0])[0].contains("cannot be read"));
        let many: Map<String, Value> = (0..300).map(|n| (format!("m{n:03}"), json!(1))).collect();
        write(&root, SETTINGS, &Value::Object(many).to_string());
        let found = &brought(&root, Author::User, None)[0];
        assert_eq!(found.unused.len(), MAX_UNUSED + 1);
        assert_eq!(sentences(found)[MAX_UNUSED], "200 more parts");
        assert_eq!(shown(&"é".repeat(90)), format!("\"{}…\"", "é".repeat(MAX_NAME)));
    }
}
