//! Skills: directories with a `SKILL.md` that describes how to do something.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::front_matter::{Head, parts, yaml};
use crate::place::{PromptDirectory, is_name};
use crate::{Machine, NOT_TRUSTED, PluginName, PluginTexts, PromptError, Prompts, Source};

/// A skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// Its directory's name.
    pub name: String,
    /// The description in its front matter, or its name.
    pub description: String,
    /// Its name for display.
    pub display_name: Option<String>,
    /// Its description in a few words.
    pub short_description: Option<String>,
    /// A first message that uses it.
    pub default_prompt: Option<String>,
    /// Its source.
    pub source: Source,
    /// The plugin that it comes with.
    pub plugin: Option<PluginName>,
    /// The requirements that the machine does not meet, as a sentence.
    pub unavailable: Option<String>,
    /// Whether it is enabled.
    pub enabled: bool,
    /// The `SKILL.md`.
    pub path: PathBuf,
    /// All fields of its front matter.
    pub metadata: BTreeMap<String, Value>,
}

/// A skill's file.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillText {
    /// The complete file.
    pub source: String,
    /// The text without front matter.
    pub body: String,
    /// All fields of its front matter.
    pub metadata: BTreeMap<String, Value>,
}

/// A skill that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedSkill {
    /// Its source.
    pub source: Source,
    /// Its former directory.
    pub directory: PathBuf,
}

impl Prompts {
    /// Lists the skills by name. A skill whose file cannot be read is left out, with a warning in the log. Skills that
    /// wait for trust are unavailable, and only their names are read.
    pub fn skills(&self) -> Vec<Skill> {
        let off = self.off();
        let mut found = BTreeMap::new();
        for place in self.places() {
            self.add_skills(&place, &off, &mut found);
        }
        for place in self.waiting() {
            let names = place.skills.iter().flat_map(|directory| place.names(directory));
            for name in names.filter(|name| has(place, name)) {
                let Some(path) = place.skill(&name) else { continue };
                let enabled = !off.contains(&name);
                found
                    .entry(name.clone())
                    .or_insert_with(|| waiting(name, place.source, enabled, path));
            }
        }
        found.into_values().collect()
    }

    /// Lists the skills of a plugin by name, whether the plugin counts or not.
    pub fn skills_of(&self, plugin: &PluginTexts) -> Vec<Skill> {
        let off = self.off();
        let mut found = BTreeMap::new();
        for place in PromptDirectory::of_plugin(plugin) {
            self.add_skills(&place, &off, &mut found);
        }
        found.into_values().collect()
    }

    fn add_skills(
        &self,
        place: &PromptDirectory,
        off: &BTreeSet<String>,
        found: &mut BTreeMap<String, Skill>,
    ) {
        let Some(directory) = &place.skills else {
            return;
        };
        for name in place.names(directory) {
            if found.contains_key(&name) || !has(place, &name) {
                continue;
            }
            match self.skill_in(place, &name, off) {
                Ok(skill) => drop(found.insert(name, skill)),
                Err(error) => tracing::warn!(%error, "a skill is left out"),
            }
        }
    }

    /// Returns one skill.
    ///
    /// # Errors
    /// The name is invalid, there is no such skill, or its file cannot be read.
    pub fn skill(&self, name: &str) -> Result<Skill, PromptError> {
        self.skill_in(&*self.place_of(name)?, name, &self.off())
    }

    /// Returns a skill's file.
    ///
    /// # Errors
    /// As [`Prompts::skill`].
    pub fn skill_text(&self, name: &str) -> Result<SkillText, PromptError> {
        let place = self.place_of(name)?;
        let source = place.read(&file(&place, name)?)?;
        let parts = parts(&source);
        Ok(SkillText {
            body: place.filled_in(parts.body),
            metadata: parts.metadata,
            source,
        })
    }

    /// Returns the complete file of a skill of a plugin, whether or not the plugin is in use.
    ///
    /// # Errors
    /// The plugin has no such skill, or its file cannot be read.
    pub fn skill_source_of(&self, plugin: &PluginTexts, name: &str) -> Result<String, PromptError> {
        let mut places = PromptDirectory::of_plugin(plugin);
        let place = places.find(|place| has(place, name));
        let place = place.ok_or_else(|| PromptError::NotFound {
            what: "skill",
            name: name.to_owned(),
        })?;
        place.read(&file(&place, name)?)
    }

    /// Enables or disables a skill in this workspace; returns the skill.
    ///
    /// # Errors
    /// As [`Prompts::skill`], or the choice cannot be stored.
    pub fn enable_skill(&self, name: &str, enabled: bool) -> Result<Skill, PromptError> {
        self.place_of(name)?;
        self.switched_off.lock().set(name, !enabled)?;
        self.skill(name)
    }

    /// Removes a skill's directory with all its files, or the link to it, and its stored choice.
    ///
    /// # Errors
    /// The name is invalid, there is no such skill, or it cannot be removed.
    pub fn remove_skill(&self, name: &str) -> Result<RemovedSkill, PromptError> {
        let place = self.place_of(name)?;
        if let Some(plugin) = &place.plugin {
            return Err(PromptError::OfPlugin {
                skill: name.to_owned(),
                plugin: plugin.id.clone(),
            });
        }
        let directory = place.skills.as_ref().filter(|_| place.has_skills_at_home());
        let Some(directory) = directory.map(|skills| skills.join(name)) else {
            return Err(PromptError::BadName(name.to_owned()));
        };
        let remove = || {
            if directory.symlink_metadata()?.is_symlink() {
                std::fs::remove_file(&directory)
            } else {
                std::fs::remove_dir_all(&directory)
            }
        };
        remove().map_err(|error| PromptError::unchangeable(&directory, &error))?;
        if let Err(error) = self.switched_off.lock().set(name, false) {
            tracing::warn!(%error, "a skill is gone, and it stays noted that it is switched off");
        }
        Ok(RemovedSkill {
            source: place.source,
            directory,
        })
    }

    /// Returns the disabled skills; none if their file cannot be read.
    fn off(&self) -> BTreeSet<String> {
        self.switched_off.lock().names().unwrap_or_else(|error| {
            tracing::warn!(%error, "no skill is taken to be switched off");
            BTreeSet::new()
        })
    }

    fn place_of(&self, name: &str) -> Result<Arc<PromptDirectory>, PromptError> {
        if !is_name(name) {
            return Err(PromptError::BadName(name.to_owned()));
        }
        let found = self.places().into_iter().find(|place| has(place, name));
        found.ok_or_else(|| {
            let (what, called) = ("skill", name.to_owned());
            if self.waiting().any(|place| has(place, name)) {
                PromptError::NotTrusted { what, name: called }
            } else {
                PromptError::NotFound { what, name: called }
            }
        })
    }

    fn skill_in(
        &self,
        place: &PromptDirectory,
        name: &str,
        off: &BTreeSet<String>,
    ) -> Result<Skill, PromptError> {
        let path = file(place, name)?;
        let text = place.read(&path)?;
        let parts = parts(&text);
        let interface = interface(place, name);
        Ok(Skill {
            name: name.to_owned(),
            unavailable: missing(&self.machine, &parts.head),
            description: parts
                .head
                .description
                .filter(|text| !text.trim().is_empty())
                .unwrap_or_else(|| name.to_owned()),
            display_name: interface.display_name,
            short_description: interface.short_description,
            default_prompt: interface.default_prompt,
            source: place.source,
            plugin: place.plugin.clone(),
            enabled: !off.contains(name),
            path,
            metadata: parts.metadata,
        })
    }
}

/// Returns a skill that waits for trust.
fn waiting(name: String, source: Source, enabled: bool, path: PathBuf) -> Skill {
    Skill {
        description: name.clone(),
        name,
        display_name: None,
        short_description: None,
        default_prompt: None,
        source,
        plugin: None,
        unavailable: Some(NOT_TRUSTED.to_owned()),
        enabled,
        path,
        metadata: BTreeMap::new(),
    }
}

fn file(place: &PromptDirectory, name: &str) -> Result<PathBuf, PromptError> {
    place.skill(name).ok_or_else(|| PromptError::NotFound {
        what: "skill",
        name: name.to_owned(),
    })
}

fn has(place: &PromptDirectory, name: &str) -> bool {
    place
        .skill(name)
        .is_some_and(|file| file.symlink_metadata().is_ok())
}

/// The display of a skill: the `interface` of its `agents/openai.yaml`.
#[derive(Debug, Default, Deserialize)]
struct Interface {
    #[serde(default)]
    display_name: Option<String>,
    #[serde(default)]
    short_description: Option<String>,
    #[serde(default)]
    default_prompt: Option<String>,
}

fn interface(place: &PromptDirectory, name: &str) -> Interface {
    #[derive(Debug, Default, Deserialize)]
    struct Agent {
        #[serde(default)]
        interface: Interface,
    }
    let Some(skills) = &place.skills else {
        return Interface::default();
    };
    let path = skills.join(name).join("agents/openai.yaml");
    let Ok(text) = place.read(&path) else {
        return Interface::default();
    };
    let agent: Agent = yaml(&text).unwrap_or_else(|error| {
        tracing::debug!(path = %path.display(), %error, "how a skill is shown is not read");
        Agent::default()
    });
    agent.interface
}

/// Returns a sentence on the requirements of a skill that the machine does not meet.
fn missing(machine: &Machine, head: &Head) -> Option<String> {
    let has_program = |name: &str| {
        let one = Path::new(name).components().count() == 1;
        one && machine.path.iter().any(|place| place.join(name).is_file())
    };
    let programs = head.bins.all().filter(|name| !has_program(name));
    let variables = head.env.all().filter(|name| !machine.variables.contains(*name));
    let missing: Vec<String> = programs
        .map(|name| format!("the program {name}"))
        .chain(variables.map(|name| format!("the variable {name}")))
        .collect();
    (!missing.is_empty()).then(|| format!("It needs {}.", missing.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Kitchen {
        dir: tempfile::TempDir,
        prompts: Prompts,
    }

    fn kitchen(workspace: &[(&str, &str)], home: &[(&str, &str)]) -> Kitchen {
        let dir = tempfile::tempdir().unwrap();
        for (root, files) in [("workspace", workspace), ("home", home)] {
            std::fs::create_dir_all(dir.path().join(root).join(".craft")).unwrap();
            for (name, text) in files {
                let path = dir.path().join(root).join(".craft/skills").join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
        }
        std::fs::write(dir.path().join("kettle"), "").unwrap();
        let machine = Machine {
            path: vec![dir.path().to_owned()],
            variables: ["WATER".to_owned()].into(),
        };
        let home = Some(dir.path().join("home"));
        let prompts = Prompts::new(dir.path().join("workspace"), home, machine);
        Kitchen { dir, prompts }
    }

    const DESCALE: &str = "---\ndescription: How to descale\n---\nUse vinegar.";

    #[test]
    fn the_workspaces_skill_counts_before_the_users() {
        let kitchen = kitchen(
            &[("descale/SKILL.md", DESCALE), ("empty/README.md", "")],
            &[("descale/SKILL.md", "Use acid."), ("pour/SKILL.md", "Pour.")],
        );
        let skills = kitchen.prompts.skills();
        let listed: Vec<_> = skills
            .iter()
            .map(|skill| (skill.name.as_str(), skill.description.as_str(), skill.source))
            .collect();
        assert_eq!(
            listed,
            [
                ("descale", "How to descale", Source::Workspace),
                ("pour", "pour", Source::User)
            ]
        );
        let text = kitchen.prompts.skill_text("descale").unwrap();
        assert_eq!(
            (text.source.as_str(), text.body.as_str()),
            (DESCALE, "Use vinegar.")
        );
        assert_eq!(text.metadata["description"], "How to descale");
    }

    #[test]
    fn what_a_skill_asks_for_is_looked_for() {
        let head = "---\nbins: kettle, pot\nenv: [WATER, GAS]\n---\n";
        let kitchen = kitchen(&[("boil/SKILL.md", head)], &[]);
        let skill = kitchen.prompts.skill("boil").unwrap();
        let said = "It needs the program pot, the variable GAS.";
        assert_eq!(skill.unavailable.as_deref(), Some(said));
        std::fs::write(kitchen.dir.path().join("pot"), "").unwrap();
        let skill = kitchen.prompts.skill("boil").unwrap();
        assert_eq!(skill.unavailable.as_deref(), Some("It needs the variable GAS."));
    }

    #[test]
    fn how_it_is_shown_stands_beside_it() {
        let yaml = "interface:\n  display_name: Descaling\n  default_prompt: Descale it\n";
        let kitchen = kitchen(
            &[
                ("descale/SKILL.md", DESCALE),
                ("descale/agents/openai.yaml", yaml),
            ],
            &[],
        );
        let skill = kitchen.prompts.skill("descale").unwrap();
        assert_eq!(skill.display_name.as_deref(), Some("Descaling"));
        assert_eq!(skill.default_prompt.as_deref(), Some("Descale it"));
        assert_eq!(skill.short_description, None);
    }

    #[test]
    fn skills_of_other_products_are_found_after_our_own() {
        let kitchen = kitchen(&[("descale/SKILL.md", DESCALE)], &[]);
        let workspace = kitchen.dir.path().join("workspace");
        for (path, text) in [
            (".agents/skills/descale/SKILL.md", "other"),
            (".agents/skills/boil/SKILL.md", "boil"),
            (".claude/skills/boil/SKILL.md", "other"),
            (".claude/skills/fill/SKILL.md", "fill"),
        ] {
            let path = workspace.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let names: Vec<String> = kitchen
            .prompts
            .skills()
            .into_iter()
            .map(|skill| skill.name)
            .collect();
        assert_eq!(names, ["boil", "descale", "fill"]);
        assert_eq!(kitchen.prompts.skill_text("descale").unwrap().source, DESCALE);
        assert_eq!(kitchen.prompts.skill_text("boil").unwrap().source, "boil");
        kitchen.prompts.remove_skill("fill").unwrap();
        assert!(!workspace.join(".claude/skills/fill").exists());
    }

    #[test]
    fn a_skill_is_switched_off_and_on_and_stays_so() {
        let kitchen = kitchen(&[], &[("descale/SKILL.md", DESCALE)]);
        assert!(kitchen.prompts.skill("descale").unwrap().enabled);
        assert!(!kitchen.prompts.enable_skill("descale", false).unwrap().enabled);
        let again = Prompts::new(
            kitchen.dir.path().join("workspace"),
            Some(kitchen.dir.path().join("home")),
            Machine::default(),
        );
        assert!(!again.skill("descale").unwrap().enabled);
        assert!(again.enable_skill("descale", true).unwrap().enabled);
        assert!(again.skills()[0].enabled);
    }

    #[test]
    fn a_file_of_choices_that_cannot_be_read_is_not_replaced() {
        let kitchen = kitchen(&[("descale/SKILL.md", DESCALE)], &[]);
        let file = kitchen.dir.path().join("workspace/.craft/skills.json");
        std::fs::write(&file, "{").unwrap();
        let error = kitchen.prompts.enable_skill("descale", false).unwrap_err();
        assert!(matches!(error, PromptError::Unreadable { .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
        assert!(kitchen.prompts.skill("descale").unwrap().enabled);
    }

    #[test]
    fn a_removed_skill_is_gone_with_the_choice_about_it() {
        let kitchen = kitchen(&[("descale/SKILL.md", DESCALE), ("descale/more.md", "x")], &[]);
        kitchen.prompts.enable_skill("descale", false).unwrap();
        let removed = kitchen.prompts.remove_skill("descale").unwrap();
        assert!(removed.source == Source::Workspace && !removed.directory.exists());
        assert!(matches!(
            kitchen.prompts.skill("descale").unwrap_err(),
            PromptError::NotFound { .. }
        ));
        let kept = std::fs::read_to_string(kitchen.dir.path().join("workspace/.craft/skills.json")).unwrap();
        assert!(!kept.contains("descale"), "{kept}");
    }

    #[test]
    fn nothing_is_removed_through_a_linked_directory_of_skills() {
        let kitchen = kitchen(&[], &[]);
        let workspace = kitchen.dir.path().join("workspace");
        std::fs::create_dir(workspace.join("crates")).unwrap();
        std::fs::write(workspace.join("crates/SKILL.md"), "x").unwrap();
        std::os::unix::fs::symlink("..", workspace.join(".craft/skills")).unwrap();
        let error = kitchen.prompts.remove_skill("crates").unwrap_err();
        assert!(matches!(error, PromptError::BadName(_)), "{error}");
        assert!(workspace.join("crates").exists());
    }

    #[test]
    fn a_linked_skill_of_the_user_is_read_and_only_its_link_removed() {
        let kitchen = kitchen(&[], &[]);
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(elsewhere.path().join("SKILL.md"), DESCALE).unwrap();
        for root in ["workspace", "home"] {
            let skills = kitchen.dir.path().join(root).join(".craft/skills");
            std::fs::create_dir_all(&skills).unwrap();
            std::os::unix::fs::symlink(elsewhere.path(), skills.join(root)).unwrap();
        }
        let names: Vec<_> = kitchen
            .prompts
            .skills()
            .into_iter()
            .map(|skill| skill.name)
            .collect();
        assert_eq!(names, ["home"]);
        kitchen.prompts.remove_skill("home").unwrap();
        assert!(elsewhere.path().join("SKILL.md").exists());
    }

    #[test]
    fn names_that_are_paths_are_refused() {
        let kitchen = kitchen(&[("descale/SKILL.md", DESCALE)], &[]);
        for name in ["", "..", "../skills/descale", "a/b", "/descale"] {
            for error in [
                kitchen.prompts.skill(name).unwrap_err(),
                kitchen.prompts.remove_skill(name).unwrap_err(),
            ] {
                assert!(matches!(error, PromptError::BadName(_)), "{name}: {error}");
            }
        }
    }
}
