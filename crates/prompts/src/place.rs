//! The directories of commands and skills, and bounded reading of ordinary files in them.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::{PluginName, PluginTexts, PromptError, Source};

/// Most bytes of one file.
pub(crate) const MAX_FILE_BYTES: usize = 64 << 10;
/// Most entries of one directory that are examined; further entries are ignored.
pub(crate) const MAX_ENTRIES: usize = 500;

/// The name for a plugin's own directory in the texts of plugins.
const PLUGIN_ROOT: &str = "${CLAUDE_PLUGIN_ROOT}";

/// The directory with commands and skills of Bobbin.
pub(crate) const OWN: &str = ".craft";
/// The directory of Claude Code, with commands and skills.
const CLAUDE: &str = ".claude";
/// Directories of other products, in the order of precedence.
pub(crate) const SHARED: [&str; 2] = [".agents", CLAUDE];
/// The commands of Codex in a home.
const CODEX_PROMPTS: &str = ".codex/prompts";

/// A directory such as `.craft` of a workspace or of a home, or a directory of a plugin.
#[derive(Debug)]
pub(crate) struct PromptDirectory {
    pub(crate) source: Source,
    root: PathBuf,
    /// The directory of its skills.
    pub(crate) skills: Option<PathBuf>,
    /// The directory of its commands.
    pub(crate) commands: Option<PathBuf>,
    /// The plugin that it belongs to.
    pub(crate) plugin: Option<PluginName>,
}

impl PromptDirectory {
    pub(crate) fn new(source: Source, root: PathBuf, folder: &'static str) -> Self {
        let own = root.join(folder);
        Self {
            source,
            skills: Some(own.join("skills")),
            commands: [OWN, CLAUDE].contains(&folder).then(|| own.join("commands")),
            plugin: None,
            root,
        }
    }

    /// Returns the place of Codex's commands in a user's home.
    pub(crate) fn of_codex(home: PathBuf) -> Self {
        Self {
            source: Source::User,
            skills: None,
            commands: Some(home.join(CODEX_PROMPTS)),
            plugin: None,
            root: home,
        }
    }

    /// Returns the places of a plugin.
    pub(crate) fn of_plugin(plugin: &PluginTexts) -> impl Iterator<Item = Self> {
        let place = |skills: Option<&PathBuf>, commands: Option<&PathBuf>| Self {
            source: Source::Plugin,
            root: plugin.root.clone(),
            skills: skills.cloned(),
            commands: commands.cloned(),
            plugin: Some(plugin.name.clone()),
        };
        let skills = plugin.skills.iter().map(move |path| place(Some(path), None));
        let commands = plugin.commands.iter().map(move |path| place(None, Some(path)));
        skills.chain(commands)
    }

    /// Returns the file of a skill.
    pub(crate) fn skill(&self, name: &str) -> Option<PathBuf> {
        Some(self.skills.as_ref()?.join(name).join("SKILL.md"))
    }

    /// Returns the prefix of the names of its commands.
    pub(crate) fn prefix(&self) -> String {
        self.plugin
            .as_ref()
            .map_or_else(String::new, |plugin| format!("{}:", plugin.id))
    }

    /// Returns a text of its files with the plugin's directory filled in, as plugins name it.
    pub(crate) fn filled_in(&self, text: &str) -> String {
        match &self.plugin {
            Some(_) => text.replace(PLUGIN_ROOT, &self.root.to_string_lossy()),
            None => text.to_owned(),
        }
    }

    /// Reads a file as text.
    ///
    /// # Errors
    /// The file is missing, not ordinary, too long, not UTF-8, or leads out of the workspace. A user's own files may be
    /// links to any place.
    pub(crate) fn read(&self, path: &Path) -> Result<String, PromptError> {
        let cannot = |error: std::io::Error| PromptError::unreadable(path, &error);
        let real = self.inside(path)?;
        // A directory on the way may have become a link since the check.
        let file = bobbin_files::open_file(&real).map_err(cannot)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(cannot)?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(PromptError::TooLarge {
                what: path.display().to_string(),
                limit: MAX_FILE_BYTES,
            });
        }
        String::from_utf8(bytes).map_err(|_| PromptError::unreadable(path, &"it is not UTF-8"))
    }

    /// Returns the resolved path, unless it is outside of the workspace.
    fn inside(&self, path: &Path) -> Result<PathBuf, PromptError> {
        let cannot = |error: std::io::Error| PromptError::unreadable(path, &error);
        let real = path.canonicalize().map_err(cannot)?;
        let is_confined = self.source != Source::User;
        if is_confined && !real.starts_with(self.root.canonicalize().map_err(cannot)?) {
            return Err(PromptError::unreadable(
                path,
                &"a link leads from it out of the workspace",
            ));
        }
        Ok(real)
    }

    /// Returns whether its directory of skills is in its place, and not a link to another place of the workspace. A
    /// user's own may be anywhere.
    pub(crate) fn has_skills_at_home(&self) -> bool {
        let Some(skills) = &self.skills else {
            return false;
        };
        let home = self
            .root
            .canonicalize()
            .ok()
            .zip(skills.strip_prefix(&self.root).ok());
        let home = home.map(|(root, inside)| root.join(inside));
        self.source == Source::User || skills.canonicalize().ok().is_some_and(|real| home == Some(real))
    }

    /// Returns the sorted names in a directory that are UTF-8 and not hidden. A directory that is missing, or leads out
    /// of the workspace, has none.
    pub(crate) fn names(&self, directory: &Path) -> Vec<String> {
        let Ok(entries) = self.inside(directory).and_then(|real| {
            std::fs::read_dir(real).map_err(|error| PromptError::unreadable(directory, &error))
        }) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .take(MAX_ENTRIES)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| is_name(name))
            .collect();
        names.sort_unstable();
        names
    }
}

/// Returns whether a text is one component of a path, and not hidden.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |c: char| c != '/' && c != '\\' && c != ':' && !c.is_control() && !c.is_whitespace();
    !name.is_empty() && !name.starts_with('.') && name.len() <= 255 && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(source: Source) -> (tempfile::TempDir, PromptDirectory, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let place = PromptDirectory::new(source, dir.path().to_owned(), OWN);
        let commands = place.commands.clone().unwrap();
        std::fs::create_dir_all(&commands).unwrap();
        (dir, place, commands)
    }

    #[test]
    fn what_is_too_long_or_no_text_is_not_read() {
        let (_dir, place, commands) = place(Source::Workspace);
        let file = commands.join("a.md");
        for (bytes, said) in [
            (vec![b'x'; MAX_FILE_BYTES + 1], "more than 65536 bytes"),
            (vec![0xff], "not UTF-8"),
        ] {
            std::fs::write(&file, bytes).unwrap();
            let error = place.read(&file).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        std::fs::write(&file, vec![b'x'; MAX_FILE_BYTES]).unwrap();
        assert_eq!(place.read(&file).unwrap().len(), MAX_FILE_BYTES);
        let error = place.read(&commands).unwrap_err().to_string();
        assert!(error.contains("it is a directory"), "{error}");
    }

    #[test]
    fn links_lead_out_of_a_home_and_not_out_of_a_workspace() {
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(elsewhere.path().join("secret"), "key").unwrap();
        for (source, read) in [(Source::Workspace, false), (Source::User, true)] {
            let (_dir, place, commands) = place(source);
            std::os::unix::fs::symlink(elsewhere.path().join("secret"), commands.join("a.md")).unwrap();
            assert_eq!(place.read(&commands.join("a.md")).is_ok(), read, "{source:?}");
            let skills = place.skills.clone().unwrap();
            std::os::unix::fs::symlink(elsewhere.path(), &skills).unwrap();
            assert_eq!(place.names(&skills).len(), usize::from(read), "{source:?}");
        }
    }

    #[test]
    fn names_are_one_component_and_not_hidden() {
        for good in ["a", "a-b_c.2", "日本"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", ".", "..", ".a", "a/b", "a\\b", "a b", "a:b", "a\n"] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
