//! `SubAgent` and `SubAgentProfiles` of a configuration file (AppServer protocol 05 §10.1).
//!
//! Profiles are entries by name. A broken one is reported; the others still count. A folder's profile counts once its
//! user trusts it, since it starts a program or instructs a model.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use bobbin_agent_api::trust::TrustKind;
use bobbin_model::SubAgentRuntime;
use bobbin_settings::{Declared, Entries, FILE, Source, of_files, of_setting, plain, shown_command};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

/// Name of the section with the profiles.
pub(crate) const SECTION: &str = "SubAgentProfiles";
/// Name of the profile that always exists.
pub(crate) const NATIVE: &str = "native";
/// Longest name.
const MAX_NAME: usize = 64;
/// Longest definition, as JSON, in bytes.
const MAX_TEXT: usize = 64 << 10;
/// Longest time of a run, in seconds; the schema of a file has the same limit.
const MAX_SECONDS: u64 = 24 * 3600;
/// Most bytes of output that are read; the schema of a file has the same limit.
const MAX_OUTPUT: u64 = 16 << 20;

/// A profile of subagents: this server's agent with a model, instructions and tools of its own, or the command
/// line of another agent.
#[skip_serializing_none]
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SubagentProfileDefinition")]
pub struct ProfileDefinition {
    /// Its runtime.
    #[schemars(extend("default" = "native"))]
    pub runtime: Option<SubAgentRuntime>,
    /// Its purpose; the model reads it.
    pub description: Option<String>,
    /// `acp`: the engine that runs it, one of `Engines`. Needed.
    pub engine: Option<String>,
    /// `native`: the model, as `PROVIDER/MODEL`. `acp`: a model of that agent.
    pub model: Option<String>,
    /// `native`: instructions beside those of every subagent.
    pub instructions: Option<String>,
    /// `native`: the only tools it has, of those that the Thread has that starts it.
    pub tool_allow_list: Option<Vec<String>>,
    /// `native`: tools it does not have.
    pub tool_deny_list: Option<Vec<String>>,
    /// `cli-oneshot`: the program. Needed.
    pub bin: Option<String>,
    /// Its arguments, before all others.
    pub args: Option<Vec<String>>,
    /// Variables that are set for it.
    #[schemars(extend("x-secret" = true))]
    pub env: Option<BTreeMap<String, String>>,
    /// Variables of the server that it gets although they look like secrets.
    pub env_passthrough: Option<Vec<String>>,
    /// Its working directory: the folder of the Thread.
    pub working_directory_mode: Option<WorkingDirectoryMode>,
    /// How it gets its task.
    #[schemars(extend("default" = "arg"))]
    pub input_mode: Option<InputMode>,
    /// `arg-template`: arguments with `{task}` in one of them.
    pub input_arg_template: Option<String>,
    /// `env`: the variable with the task.
    pub input_env_key: Option<String>,
    /// The format of its task; only text is sent.
    pub input_format: Option<String>,
    /// The format of its output.
    #[schemars(extend("default" = "text"))]
    pub output_format: Option<OutputFormat>,
    /// `json`: where the answer is in the output, as `result` or `items[0].text`. Needed for `json`.
    pub output_json_path: Option<String>,
    /// Place of the count of tokens read.
    pub output_input_tokens_json_path: Option<String>,
    /// Place of the count of tokens written.
    pub output_output_tokens_json_path: Option<String>,
    /// Place of their sum, for an agent that counts them together.
    pub output_total_tokens_json_path: Option<String>,
    /// Arguments with `{path}`, a file that it writes its answer to.
    pub output_file_arg_template: Option<String>,
    /// Whether the answer is read from that file.
    #[schemars(extend("default" = true))]
    pub read_output_file: Option<bool>,
    /// Whether that file is removed afterwards.
    #[schemars(extend("default" = true))]
    pub delete_output_file_after_read: Option<bool>,
    /// Most bytes of its output that are read; of more, the middle is left out.
    #[schemars(range(min = 1, max = 16_777_216), extend("default" = 1_048_576))]
    pub max_output_bytes: Option<u64>,
    /// Seconds after which it is killed.
    #[schemars(range(min = 1, max = 86_400), extend("default" = 1800))]
    pub timeout: Option<u64>,
    /// Whether it can go on with a session of its own.
    #[schemars(extend("default" = false))]
    pub supports_resume: Option<bool>,
    /// Arguments with `{sessionId}` that go on with a session.
    pub resume_arg_template: Option<String>,
    /// Place of the session's id in the output.
    pub resume_session_id_json_path: Option<String>,
    /// Finds the session's id in the output: its first group, else all of it.
    pub resume_session_id_regex: Option<String>,
    /// How far its user trusts it: `trusted` runs outside of the sandbox, each time after its user's approval.
    #[schemars(extend("default" = "prompt"))]
    pub trust_level: Option<TrustLevel>,
    /// Arguments for `interactive`, `auto-approve` and `restricted` Threads.
    pub permission_mode_mapping: Option<BTreeMap<String, String>>,
    /// Without effect here.
    pub supports_streaming: Option<bool>,
    /// Without effect here.
    pub supports_model_selection: Option<bool>,
    /// Without effect here.
    pub sanitization_rules: Option<Value>,
}

/// The working directory of a profile's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WorkingDirectoryMode {
    /// In the folder of the Thread.
    Workspace,
    /// In the folder of the Thread too: no other can be specified here.
    Specified,
}

/// How a command gets its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputMode {
    /// As its last argument.
    #[default]
    Arg,
    /// In arguments of a template.
    ArgTemplate,
    /// On its standard input.
    Stdin,
    /// In a variable.
    Env,
}

/// The format of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OutputFormat {
    /// The answer.
    #[default]
    Text,
    /// JSON with the answer in it, or lines of JSON, the last of which have it.
    Json,
}

/// How far the user trusts a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TrustLevel {
    /// It runs outside of the sandbox, each time after its user's approval.
    Trusted,
    /// It runs as other commands do.
    Prompt,
    /// The same.
    Restricted,
}

impl fmt::Debug for ProfileDefinition {
    // Values of variables are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProfileDefinition")
            .field("runtime", &self.runtime)
            .field("bin", &self.bin)
            .finish_non_exhaustive()
    }
}

impl ProfileDefinition {
    /// Returns its runtime.
    pub fn runtime(&self) -> SubAgentRuntime {
        self.runtime.unwrap_or_default()
    }

    /// Returns sentences for the user about its members that have no effect here.
    pub fn warnings(&self) -> Vec<String> {
        let is_text = |format: &String| format.trim().is_empty() || format.eq_ignore_ascii_case("text");
        let without_effect = [
            ("sanitizationRules", self.sanitization_rules.is_some()),
            ("supportsStreaming", self.supports_streaming == Some(true)),
            (
                "supportsModelSelection",
                self.supports_model_selection == Some(true),
            ),
            ("inputFormat", !self.input_format.as_ref().is_none_or(is_text)),
            (
                "workingDirectoryMode",
                self.working_directory_mode == Some(WorkingDirectoryMode::Specified),
            ),
        ];
        let without_effect = without_effect.iter().filter(|(_, is_set)| *is_set);
        without_effect
            .map(|(name, _)| format!("'{name}' has no effect here."))
            .collect()
    }

    /// Checks the members that every profile needs, and the sizes of all of them.
    ///
    /// # Errors
    /// The mistake, as a sentence for the user.
    pub fn check(&self, name: &str) -> Result<(), String> {
        let sound = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(sound) {
            return Err(format!(
                "A name has 1 to {MAX_NAME} letters, digits, '-', '_' and '.'."
            ));
        }
        let text = serde_json::to_string(self).unwrap_or_default();
        if text.len() > MAX_TEXT {
            return Err(format!("The definition has more than {MAX_TEXT} bytes."));
        }
        if text.contains("\\u0000") {
            return Err("A text of the definition has a zero byte.".to_owned());
        }
        match self.runtime() {
            SubAgentRuntime::Native => match &self.bin {
                Some(_) => {
                    Err("A native profile has no 'bin'; 'runtime' is to be \"cli-oneshot\".".to_owned())
                }
                None => Ok(()),
            },
            SubAgentRuntime::CliOneshot => self.check_command(),
            SubAgentRuntime::Acp if self.bin.is_some() => {
                Err("An acp profile has no 'bin'; 'engine' names one of Engines.".to_owned())
            }
            SubAgentRuntime::Acp => match &self.engine {
                Some(engine) if !engine.trim().is_empty() => Ok(()),
                _ => Err("An acp profile needs 'engine', one of Engines.".to_owned()),
            },
        }
    }

    fn check_command(&self) -> Result<(), String> {
        let within = |value: Option<u64>, most| value.is_none_or(|value| (1..=most).contains(&value));
        if !within(self.timeout, MAX_SECONDS) || !within(self.max_output_bytes, MAX_OUTPUT) {
            return Err(format!(
                "'timeout' has 1 to {MAX_SECONDS} seconds, 'maxOutputBytes' 1 to {MAX_OUTPUT} bytes."
            ));
        }
        let is_blank = |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
        let with = |name: &str, template: &Option<String>, placeholder: &str| match template {
            Some(template) if !template.contains(placeholder) => {
                Err(format!("'{name}' needs {placeholder} in it."))
            }
            Some(template) if words(template).is_none() => {
                Err(format!("'{name}' has a quote without its end."))
            }
            _ => Ok(()),
        };
        if is_blank(&self.bin) {
            return Err("A cli-oneshot profile needs 'bin', its program.".to_owned());
        }
        let input = self.input_mode.unwrap_or_default();
        if input == InputMode::ArgTemplate && self.input_arg_template.is_none() {
            return Err("'inputMode' arg-template needs 'inputArgTemplate'.".to_owned());
        }
        if input == InputMode::Env && is_blank(&self.input_env_key) {
            return Err("'inputMode' env needs 'inputEnvKey'.".to_owned());
        }
        with("inputArgTemplate", &self.input_arg_template, "{task}")?;
        with("resumeArgTemplate", &self.resume_arg_template, "{sessionId}")?;
        with("outputFileArgTemplate", &self.output_file_arg_template, "{path}")?;
        for (mode, arguments) in self.permission_mode_mapping.iter().flatten() {
            if words(arguments).is_none() {
                return Err(format!(
                    "'permissionModeMapping.{mode}' has a quote without its end."
                ));
            }
        }
        if self.output_format == Some(OutputFormat::Json) && is_blank(&self.output_json_path) {
            return Err("'outputFormat' json needs 'outputJsonPath'.".to_owned());
        }
        let finds = self.resume_session_id_json_path.is_some() || self.resume_session_id_regex.is_some();
        if self.supports_resume == Some(true) && !(finds && self.resume_arg_template.is_some()) {
            return Err(
                "'supportsResume' needs 'resumeArgTemplate', and 'resumeSessionIdJsonPath' or 'resumeSessionIdRegex'."
                    .to_owned(),
            );
        }
        let set = self.env.iter().flat_map(BTreeMap::keys);
        let mut names = set
            .chain(self.env_passthrough.iter().flatten())
            .chain(&self.input_env_key);
        match names.find(|name| name.is_empty() || name.contains('=') || is_reserved(name)) {
            Some(name) => Err(format!("'{name}' is no variable that a profile can set.")),
            None => Ok(()),
        }
    }
}

/// Whether a variable decides which programs start. The command line is judged without such variables.
fn is_reserved(name: &str) -> bool {
    ["PATH", "BASH_ENV", "ENV", "IFS"].contains(&name)
        || name.starts_with("LD_")
        || name.starts_with("BASH_FUNC_")
}

/// Splits a template into arguments, with the quotes of shells; `None` if a quote has no end.
pub(crate) fn words(template: &str) -> Option<Vec<String>> {
    shell_words::split(template).ok()
}

/// The sections about subagents.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Section {
    /// Subagents.
    #[serde(default)]
    sub_agent: SubAgent,
    /// Profiles of subagents, by name: agents with a model, instructions and tools of their own, and command lines of
    /// other agents.
    #[serde(default)]
    sub_agent_profiles: Entries<ProfileDefinition>,
}

/// The settings of profiles in both configuration files.
#[derive(Debug, Clone, Default)]
pub struct ProfileSettings {
    /// The profiles: the user's, then the workspace's.
    pub profiles: Vec<DeclaredProfile>,
    /// Settings of all subagents.
    pub sub_agents: SubAgentSettings,
}

impl ProfileSettings {
    /// Adds the settings of one file. The user's file comes first. Blocks on the disk.
    pub fn add(&mut self, section: Section, source: &mut Source<'_>) {
        self.profiles.extend(of_file(section.sub_agent_profiles, source));
        self.sub_agents.add(section.sub_agent, source);
    }
}

/// Subagents.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct SubAgent {
    /// The model of subagents whose profile has none; that of the Thread that starts one when left out.
    model: Option<String>,
    /// Whether command lines of other agents go on with sessions of their own, where their profile says how.
    #[schemars(extend("default" = false))]
    enable_external_cli_session_resume: Option<bool>,
    /// Profiles that are switched off.
    #[serde(default)]
    disabled_profiles: Vec<String>,
}

/// Settings for all profiles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubAgentSettings {
    /// The model of native subagents; `None`: the model of the Thread that starts one.
    pub model: Option<String>,
    /// Whether command lines of other agents may resume their own sessions.
    pub resumes: bool,
    /// Names of profiles that are switched off.
    pub disabled: Vec<String>,
}

impl SubAgentSettings {
    /// Adds the settings of one file. The user's file comes first.
    fn add(&mut self, section: SubAgent, source: &mut Source<'_>) {
        let model = section.model.filter(|model| !model.trim().is_empty());
        source.set(&mut self.model, model.map(Some), "SubAgent.Model", |_, _| false);
        let resumes = section.enable_external_cli_session_resume;
        let path = "SubAgent.EnableExternalCliSessionResume";
        source.set(&mut self.resumes, resumes, path, |_, resumes| !resumes);
        self.disabled.extend(section.disabled_profiles);
    }
}

/// A profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Its definition.
    pub definition: ProfileDefinition,
}

/// A profile in a configuration file.
pub type DeclaredProfile = Declared<Profile>;

/// Returns the name of the trust item of a profile.
pub(crate) fn item_name(name: &str) -> String {
    format!("the subagent profile {name}")
}

/// Returns the profiles of a configuration file. Blocks on the disk.
fn of_file(section: Entries<ProfileDefinition>, source: &mut Source<'_>) -> Vec<DeclaredProfile> {
    let profiles = section
        .read("subagent profile", &mut source.warnings, checked)
        .into_iter();
    let profiles: Vec<_> = profiles
        .map(|profile| source.declared(profile, fingerprint))
        .collect();
    for profile in &profiles {
        let Profile { name, definition } = &profile.config;
        let kind = match definition.runtime() {
            SubAgentRuntime::Native => TrustKind::Setting,
            SubAgentRuntime::CliOneshot | SubAgentRuntime::Acp => TrustKind::Server,
        };
        // What a client writes under a name is its user's word for our own file alone.
        let mut shown = item_name(name);
        if source.path != source.root.join(FILE) {
            shown.push_str(" of another agent");
        }
        source.add_item(profile.item(kind, shown, what_runs(definition)));
    }
    profiles
}

fn checked(name: &str, definition: ProfileDefinition) -> Result<Profile, String> {
    definition.check(name)?;
    if name.eq_ignore_ascii_case(NATIVE) {
        return Err("It has the name of the default profile.".to_owned());
    }
    let name = name.to_owned();
    Ok(Profile { name, definition })
}

/// Returns the fingerprint of a profile: its definition and the files of the folder that it starts. Blocks on the
/// disk.
pub(crate) fn fingerprint(profile: &Profile, root: &Path) -> String {
    let Profile { name, definition } = profile;
    let words = definition.bin.iter().chain(definition.args.iter().flatten());
    let files = of_files(&words.cloned().collect::<Vec<_>>(), root);
    of_setting(SECTION, &json!([name, definition, files]))
}

/// Describes to the user what a profile starts or instructs.
fn what_runs(definition: &ProfileDefinition) -> String {
    if let Some(engine) = &definition.engine {
        return format!("gives tasks to the engine {}", plain(engine));
    }
    let Some(bin) = &definition.bin else {
        return serde_json::to_string(definition).unwrap_or_default();
    };
    let words = [bin].into_iter().chain(definition.args.iter().flatten());
    let set = definition.env.iter().flatten();
    let set = set.map(|(name, value)| format!("{}={value:?}", plain(name)));
    let passed = definition.env_passthrough.iter().flatten();
    let passed = passed.map(|name| format!("your {}", plain(name)));
    let line = shown_command(words, set.chain(passed));
    match definition.trust_level {
        Some(TrustLevel::Trusted) => format!("runs {line} outside of the sandbox"),
        _ => format!("runs {line}"),
    }
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::trust::TrustItem;
    use bobbin_workspace::TrustRecord;

    use super::*;

    /// Reads the section of a workspace's file.
    fn of_folder(section: &Value, root: &Path) -> (Vec<DeclaredProfile>, Vec<TrustItem>, Vec<String>) {
        let checked = bobbin_settings::section(SECTION, section.clone()).unwrap();
        let record = TrustRecord::default();
        let file = root.join(FILE);
        let mut source = Source::of_folder(&file, root, None, &checked.value, &record);
        source.warnings = checked.warnings;
        let profiles = of_file(checked.file, &mut source);
        let (items, warnings) = source.into_parts();
        (profiles, items, warnings)
    }

    fn of(section: &Value) -> (Vec<Profile>, Vec<String>) {
        let (profiles, _, warnings) = of_folder(section, Path::new("/"));
        (
            profiles.into_iter().map(|profile| profile.config).collect(),
            warnings,
        )
    }

    #[test]
    fn an_entry_is_read_in_any_case_and_comes_back_as_it_was() {
        let (profiles, warnings) = of(&json!({ "taster": {
            "Runtime": "CLI-oneshot", "Bin": "taste", "inputmode": "ARG", "Env": { "RING": "7" },
        } }));
        assert_eq!((profiles.len(), warnings), (1, Vec::new()));
        let written = serde_json::to_value(&profiles[0].definition).unwrap();
        let expected =
            json!({ "runtime": "cli-oneshot", "bin": "taste", "inputMode": "arg", "env": { "RING": "7" } });
        assert_eq!(written, expected);
        let shown = format!("{profiles:?}");
        assert!(!shown.contains("\"7\""), "values of variables are secrets");
    }

    #[test]
    fn a_broken_entry_is_one_sentence_and_the_others_are_used() {
        let cli = |more: Value| {
            let mut entry = json!({ "runtime": "cli-oneshot", "bin": "taste" });
            entry
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            entry
        };
        let (profiles, warnings) = of(&json!({
            "good": cli(json!({})),
            "critic": { "model": "small", "instructions": "Find what is wrong." },
            "a b": cli(json!({})),
            "Native": {},
            "none": { "runtime": "cli-oneshot" },
            "both": { "bin": "taste" },
            "robot": { "runtime": "robot" },
            "fuzzy": cli(json!({ "outputFormat": "json" })),
            "blind": cli(json!({ "inputMode": "arg-template" })),
            "mute": cli(json!({ "inputMode": "env" })),
            "open": cli(json!({ "inputMode": "arg-template", "inputArgTemplate": "--task 'x {task}" })),
            "tired": cli(json!({ "supportsResume": true, "resumeArgTemplate": "-r {sessionId}" })),
            "path": cli(json!({ "env": { "PATH": "/tmp" } })),
        }));
        let names: Vec<&str> = profiles.iter().map(|profile| profile.name.as_str()).collect();
        assert_eq!(names, ["critic", "good"], "{warnings:?}");
        assert_eq!(warnings.len(), 11, "{warnings:?}");
        for part in [
            "letters",
            "default profile",
            "needs 'bin'",
            "no 'bin'",
            "robot",
            "outputJsonPath",
            "inputArgTemplate",
            "inputEnvKey",
            "quote",
            "supportsResume",
            "'PATH'",
        ] {
            let said = warnings.iter().any(|warning| warning.contains(part));
            assert!(said, "{part}: {warnings:?}");
        }
    }

    #[test]
    fn what_starts_decides_about_trust() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::write(root.join("taste.sh"), "one").unwrap();
        let profile = |word: &str| {
            let section = json!({ "taster": { "runtime": "cli-oneshot", "bin": "sh", "args": [word] } });
            let (mut profiles, mut items, _) = of_folder(&section, &root);
            (profiles.remove(0), items.remove(0))
        };
        let (before, item) = profile("taste.sh");
        assert!(!before.trusted);
        assert_eq!(
            (item.kind, item.detail.as_str()),
            (TrustKind::Server, r#"runs "sh" "taste.sh""#)
        );
        assert_ne!(before.fingerprint, profile("other.sh").0.fingerprint);
        std::fs::write(root.join("taste.sh"), "two").unwrap();
        assert_ne!(before.fingerprint, profile("taste.sh").0.fingerprint);
    }
}
