//! The manifest of a plugin, and what lies in its folder.
//!
//! Two layouts: `.craft-plugin/plugin.json`, and Claude Code's `.claude-plugin/plugin.json`. In both, `skills/`, `commands/`,
//! `.mcp.json` and `hooks/hooks.json` are read without being named. A broken part is reported and takes no other with it; a
//! broken manifest is no plugin.

use std::path::{Component, Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_agent_api::tool_server::ToolServerConfig;
use bobbin_hooks::Hook;
use bobbin_prompts::{PluginName, PluginTexts};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::group::wire::{DiagnosticSeverity, PluginDiagnostic, PluginInterface};

/// The places of a manifest. The first that exists counts.
const PLACES: [&str; 2] = [".craft-plugin/plugin.json", ".claude-plugin/plugin.json"];
/// Most bytes of a file with declarations.
const MAX_FILE_BYTES: u64 = 256 << 10;
/// Most bytes of a picture.
const MAX_ICON_BYTES: u64 = 512 << 10;
/// Longest id. It is the first part of names of MCP servers.
const MAX_ID: usize = 48;

/// The manifest of a plugin, as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Manifest {
    pub(crate) id: String,
    pub(crate) display_name: String,
    pub(crate) description: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) interface: Option<PluginInterface>,
    pub(crate) texts: PluginTexts,
    pub(crate) servers: Vec<ToolServerConfig>,
    /// Its hooks. They get their origin once their plugin was judged.
    pub(crate) hooks: Vec<Hook>,
}

/// A manifest as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Written {
    schema_version: Option<u64>,
    id: Option<String>,
    name: Option<String>,
    display_name: Option<String>,
    description: Option<String>,
    version: Option<String>,
    interface: Option<WrittenInterface>,
    skills: Paths,
    commands: Paths,
    mcp_servers: Option<Value>,
    hooks: Option<Value>,
    agents: Option<Value>,
    lsp_servers: Option<Value>,
    output_styles: Option<Value>,
    tools: Option<Value>,
    functions: Option<Value>,
    processes: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
enum Paths {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

impl Paths {
    fn all(&self) -> &[String] {
        match self {
            Self::None => &[],
            Self::One(path) => std::slice::from_ref(path),
            Self::Many(paths) => paths,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WrittenInterface {
    #[serde(flatten)]
    shown: PluginInterface,
    composer_icon: Option<String>,
    logo: Option<String>,
}

/// Whether a folder has a manifest.
pub(crate) fn is_plugin(root: &Path) -> bool {
    PLACES.iter().any(|place| root.join(place).is_file())
}

/// Reads one plugin; what is wrong with it is reported. Blocks on the disk.
pub(crate) fn read(root: &Path, problems: &mut Vec<PluginDiagnostic>) -> Option<Manifest> {
    let path = PLACES
        .iter()
        .map(|place| root.join(place))
        .find(|path| path.is_file())?;
    let mut reader = Reader {
        root,
        id: None,
        manifest: path.clone(),
        path: path.clone(),
        problems,
    };
    let value = reader.json(&path, "InvalidPluginManifest")?;
    let written: Written = match serde_json::from_value(value) {
        Ok(written) => written,
        Err(error) => {
            reader.error(
                "InvalidPluginManifest",
                format!("The manifest cannot be used: {error}."),
            );
            return None;
        }
    };
    let is_ours = path.ends_with(PLACES[0]);
    if is_ours && written.schema_version != Some(1) {
        reader.error("UnsupportedSchemaVersion", "schemaVersion must be 1.");
        return None;
    }
    let named = if is_ours { &written.id } else { &written.name };
    let Some(id) = named.clone().filter(|id| is_id(id)) else {
        let member = if is_ours { "id" } else { "name" };
        reader.error(
            "InvalidPluginId",
            format!("'{member}' must have 1 to {MAX_ID} of the characters a-z, A-Z, 0-9, '.', '_' and '-', and start with a letter or digit."),
        );
        return None;
    };
    reader.id = Some(id.clone());
    if is_ours && written.display_name.is_none() {
        reader.error("MissingDisplayName", "displayName is missing.");
        return None;
    }
    reader.report_unused(&written);
    let display_name = written.display_name.clone().unwrap_or_else(|| id.clone());
    let texts = PluginTexts {
        name: PluginName {
            id: id.clone(),
            display_name: display_name.clone(),
        },
        root: root.to_owned(),
        skills: reader.directories("skills", &written.skills),
        commands: reader.directories("commands", &written.commands),
    };
    let servers = reader.servers(written.mcp_servers, &id);
    let hooks = reader.hooks(written.hooks);
    let interface = written.interface.map(|written| PluginInterface {
        composer_icon_data_url: written.composer_icon.and_then(|path| reader.icon(&path)),
        logo_data_url: written.logo.and_then(|path| reader.icon(&path)),
        ..written.shown
    });
    let manifest = Manifest {
        id,
        display_name,
        description: written.description,
        version: written.version,
        interface,
        texts,
        servers,
        hooks,
    };
    let brings_nothing = manifest.texts.skills.is_empty()
        && manifest.texts.commands.is_empty()
        && manifest.servers.is_empty()
        && manifest.hooks.is_empty()
        && manifest.interface.is_none();
    if brings_nothing {
        reader.warn(
            "MissingPluginCapabilities",
            "The plugin brings nothing that is used.",
        );
    }
    Some(manifest)
}

/// Whether a text can name a plugin: a directory, and a part of a server's name.
fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    id.len() <= MAX_ID && id.bytes().all(plain) && id.starts_with(|first: char| first.is_ascii_alphanumeric())
}

/// Reads the parts of one plugin.
struct Reader<'a> {
    root: &'a Path,
    id: Option<String>,
    manifest: PathBuf,
    /// The file that a problem is in.
    path: PathBuf,
    problems: &'a mut Vec<PluginDiagnostic>,
}

impl Reader<'_> {
    fn report(&mut self, severity: DiagnosticSeverity, code: &str, message: impl Into<String>) {
        self.problems.push(PluginDiagnostic {
            severity,
            code: code.to_owned(),
            message: message.into(),
            plugin_id: self.id.clone(),
            path: Some(self.path.to_string_lossy().into_owned()),
        });
    }

    fn error(&mut self, code: &str, message: impl Into<String>) {
        self.report(DiagnosticSeverity::Error, code, message);
    }

    fn warn(&mut self, code: &str, message: impl Into<String>) {
        self.report(DiagnosticSeverity::Warning, code, message);
    }

    /// Names the parts of a plugin that have no place here.
    fn report_unused(&mut self, written: &Written) {
        for (is_there, what) in [
            (
                written.tools.is_some() || written.functions.is_some() || written.processes.is_some(),
                "tools, functions and processes",
            ),
            (
                written.agents.is_some() || self.root.join("agents").is_dir(),
                "agents",
            ),
            (
                written.lsp_servers.is_some() || self.root.join(".lsp.json").is_file(),
                "LSP servers",
            ),
            (
                written.output_styles.is_some() || self.root.join("output-styles").is_dir(),
                "output styles",
            ),
        ] {
            if is_there {
                self.warn(
                    "UnsupportedPluginPart",
                    format!("The plugin's {what} are not used."),
                );
            }
        }
    }

    /// Reads a file of the plugin.
    fn bytes(&self, path: &Path, max: u64) -> std::io::Result<Vec<u8>> {
        let real = path.canonicalize()?;
        if !real.starts_with(self.root) {
            return Err(std::io::Error::other("a link leads from it out of the plugin"));
        }
        bobbin_files::read_bytes(&real, max)
    }

    fn json(&mut self, path: &Path, code: &str) -> Option<Value> {
        let read = self
            .bytes(path, MAX_FILE_BYTES)
            .map_err(|error| error.to_string());
        let value = read.and_then(|bytes| {
            let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
            serde_json::from_slice(text).map_err(|error| format!("this is not valid JSON: {error}"))
        });
        path.clone_into(&mut self.path);
        value
            .map_err(|why| self.error(code, format!("The file cannot be read: {why}.")))
            .ok()
    }

    /// Returns a path that the manifest names.
    fn inside(&mut self, written: &str) -> Option<PathBuf> {
        let inner = Path::new(written);
        let is_inside = written.starts_with("./")
            && inner
                .components()
                .all(|part| matches!(part, Component::CurDir | Component::Normal(_)));
        if !is_inside {
            let why = "paths start with ./ and stay in the plugin.";
            self.error("InvalidPluginPath", format!("{written:?} is not used: {why}"));
            return None;
        }
        Some(self.root.join(inner.strip_prefix(".").unwrap_or(inner)))
    }

    /// Returns the directories of a kind: the usual one, and those that the manifest names.
    fn directories(&mut self, kind: &str, named: &Paths) -> Vec<PathBuf> {
        let usual = self.root.join(kind);
        let mut found: Vec<PathBuf> = usual.is_dir().then_some(usual).into_iter().collect();
        for written in named.all() {
            let Some(path) = self.inside(written) else {
                continue;
            };
            if !path.is_dir() {
                self.warn(
                    "MissingPluginPath",
                    format!("{written:?} is no folder of the plugin."),
                );
            } else if !found.contains(&path) {
                found.push(path);
            }
        }
        found
    }

    /// Returns a declaration: the manifest has it, or names its file, or it is in the usual file.
    fn declared(&mut self, named: Option<Value>, usual: &str, code: &str) -> Option<Value> {
        self.path = self.manifest.clone();
        match named {
            None | Some(Value::Null) => {
                let usual = self.root.join(usual);
                usual.is_file().then(|| self.json(&usual, code)).flatten()
            }
            Some(Value::String(written)) => {
                let path = self.inside(&written);
                path.and_then(|path| self.json(&path, code))
            }
            inline => inline,
        }
    }

    fn hooks(&mut self, named: Option<Value>) -> Vec<Hook> {
        const CODE: &str = "InvalidPluginHooks";
        let known = self.problems.len();
        let section = match self.declared(named, "hooks/hooks.json", CODE) {
            None => None,
            Some(Value::Object(mut members)) => match members.remove("hooks") {
                Some(Value::Object(section)) => Some(section),
                None => Some(members),
                Some(_) => self.no_hooks(CODE),
            },
            Some(_) => self.no_hooks(CODE),
        };
        let Some(section) = section else {
            let Some(problem) = self.problems.get_mut(known) else {
                return Vec::new();
            };
            // Hooks that cannot be read may look at any call.
            let hook = Hook::broken(&self.path, None, problem.message.trim_end_matches('.'));
            problem
                .message
                .push_str(" Each call is refused until you mend it and start Bobbin again.");
            return vec![hook];
        };
        let mut warnings = Vec::new();
        let hooks = bobbin_hooks::read(section, &self.path, true, &mut warnings);
        for warning in warnings {
            self.warn(CODE, format!("{warning}."));
        }
        hooks
    }

    fn no_hooks(&mut self, code: &str) -> Option<Map<String, Value>> {
        self.error(code, "The hooks are no object of lists by event.");
        None
    }

    fn servers(&mut self, named: Option<Value>, id: &str) -> Vec<ToolServerConfig> {
        let value = self.declared(named, ".mcp.json", "InvalidPluginMcpConfig");
        let mut warnings = Vec::new();
        let servers = value.map(|value| bobbin_mcp::settings::of_plugin(value, id, self.root, &mut warnings));
        for warning in warnings {
            self.warn("InvalidPluginMcpServer", format!("{warning}."));
        }
        servers.unwrap_or_default()
    }

    /// Returns a picture as a data URL.
    fn icon(&mut self, written: &str) -> Option<String> {
        let path = self.inside(written)?;
        let mime = mime_guess::from_path(&path).first_raw();
        let Some(mime) = mime.filter(|mime| mime.starts_with("image/")) else {
            self.warn("InvalidPluginIcon", format!("{written:?} is no picture."));
            return None;
        };
        match self.bytes(&path, MAX_ICON_BYTES) {
            Ok(bytes) => Some(format!("data:{mime};base64,{}", STANDARD.encode(bytes))),
            Err(error) => {
                self.warn(
                    "InvalidPluginIcon",
                    format!("{written:?} cannot be read: {error}."),
                );
                None
            }
        }
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
