//! The definition of one project: its files as they are now.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::source::Source;
use super::{Problem, normalize, overlay};

/// The file that makes a directory a project.
const PYPROJECT: &str = "pyproject.toml";
const FINECODE: &str = "finecode.toml";

/// Whether a project takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enabled {
    Yes,
    /// FineCode is not among what its development needs.
    No,
    /// Its files cannot be read as configuration.
    Invalid,
}

/// The configuration of a project from its own files and from its user's settings.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(crate) dir: PathBuf,
    /// The file that defines it.
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    pub(crate) enabled: Enabled,
    /// The whole file, without its FineCode table.
    pub(crate) whole: Value,
    /// Its FineCode table, normalized.
    pub(crate) table: Value,
    /// The user's settings for it, normalized.
    pub(crate) settings: Value,
    pub(crate) presets: Vec<String>,
    pub(crate) sources: Vec<Source>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) fingerprint: Fingerprint,
}

/// Fingerprints of files, compared to find a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fingerprint(Vec<(PathBuf, Option<String>)>);

impl Fingerprint {
    pub(crate) fn of(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let look = |path: PathBuf| {
            let found = path
                .metadata()
                .ok()
                .map(|found| bobbin_files::fingerprint(&found));
            (path, found)
        };
        Self(files.into_iter().map(look).collect())
    }

    /// Returns whether the files are as they were.
    pub(crate) fn is_current(&self) -> bool {
        *self == Self::of(self.0.iter().map(|(path, _)| path.clone()))
    }
}

/// Reads the definition of a project.
pub(crate) fn read(dir: &Path, settings: Option<&Map<String, Value>>) -> Definition {
    let path = dir.join(PYPROJECT);
    let own = dir.join(FINECODE);
    let fingerprint = Fingerprint::of([path.clone(), own.clone()]);
    let mut definition = Definition {
        dir: dir.to_owned(),
        name: dir
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        enabled: Enabled::No,
        whole: json!({}),
        table: json!({}),
        settings: normalize(settings.cloned().map_or_else(|| json!({}), Value::Object)),
        presets: Vec::new(),
        sources: Vec::new(),
        problems: Vec::new(),
        fingerprint,
        path,
    };
    if let Some(read) = Source::read(&definition.path) {
        definition.project_file(read);
    }
    if definition.enabled == Enabled::Yes
        && let Some(read) = Source::read(&own)
    {
        definition.own_file(read);
    }
    if settings.is_some() && definition.enabled == Enabled::No {
        definition.enabled = Enabled::Yes;
    }
    let mut presets = presets(&definition.table);
    presets.extend(self::presets(&definition.settings));
    definition.presets = presets;
    definition
}

impl Definition {
    fn project_file(&mut self, read: Result<Source, Problem>) {
        let source = match read {
            Ok(source) => source,
            Err(problem) => {
                self.enabled = Enabled::Invalid;
                self.problems.push(problem);
                return;
            }
        };
        self.whole = source.value.clone();
        if let Some(name) = self.whole.pointer("/project/name").and_then(Value::as_str) {
            name.clone_into(&mut self.name);
        }
        let group = self.whole.pointer("/dependency-groups/dev_workspace");
        let needs = group.and_then(Value::as_array).into_iter().flatten();
        if needs.filter_map(Value::as_str).any(is_finecode) {
            self.enabled = Enabled::Yes;
        }
        let table = self.whole.get_mut("tool").and_then(Value::as_object_mut);
        if let Some(table) = table.and_then(|tool| tool.remove("finecode")) {
            self.table = normalize(table);
        }
        self.sources.push(source);
    }

    fn own_file(&mut self, read: Result<Source, Problem>) {
        match read {
            Ok(source) => {
                if self
                    .sources
                    .iter()
                    .any(|source| source.has(&["tool", "finecode"]))
                {
                    let both = "pyproject.toml has [tool.finecode] too; keep one of the two";
                    self.problems.push(source.problem(&["finecode"], both));
                    self.enabled = Enabled::Invalid;
                }
                let table = source.value.get("finecode").cloned();
                self.table = normalize(table.unwrap_or_else(|| json!({})));
                self.sources.push(source);
            }
            Err(problem) => {
                self.enabled = Enabled::Invalid;
                self.problems.push(problem);
            }
        }
    }

    /// Returns the whole file with this FineCode table in it.
    pub(crate) fn with_table(&self, table: &Value) -> Value {
        let mut whole = self.whole.clone();
        overlay(&mut whole, json!({ "tool": { "finecode": table } }));
        whole
    }
}

/// Returns whether a requirement names FineCode: its name ends where a version or a marker starts.
fn is_finecode(requirement: &str) -> bool {
    let end = requirement.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_.".contains(letter));
    let name = requirement[..end.unwrap_or(requirement.len())].to_ascii_lowercase();
    name == "finecode"
}

fn presets(table: &Value) -> Vec<String> {
    let presets = table
        .get("presets")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let sources = presets.filter_map(|preset| preset.get("source").and_then(Value::as_str));
    sources.map(str::to_owned).collect()
}

/// A preset that was read: its table, the presets that it names, and its file.
pub(crate) struct Preset {
    pub(crate) table: Value,
    pub(crate) presets: Vec<String>,
    pub(crate) source: Source,
}

/// Reads the preset of a package: `preset.toml` in its directory, or where a source tree has it. `None` if it has none.
pub(crate) fn read_preset(directory: &Path, package: &str) -> Option<Result<Preset, Problem>> {
    let inner = package.replace('.', "/");
    let candidates = [
        directory.join("preset.toml"),
        directory.join(&inner).join("preset.toml"),
        directory.join("src").join(&inner).join("preset.toml"),
    ];
    let read = candidates.iter().find_map(|path| Source::read(path))?;
    Some(read.map(|source| {
        let table = source
            .value
            .pointer("/tool/finecode")
            .or_else(|| source.value.get("finecode"));
        let table = normalize(table.cloned().unwrap_or_else(|| json!({})));
        Preset {
            presets: presets(&table),
            table,
            source,
        }
    }))
}
