//! Lists directories and reads files.

use std::io::{self, Read as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_agent_api::picture::{MAX_PICTURE_BYTES, media_type};
use bobbin_files::{IgnoreRules, Ignores, open_file, shown};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::file::types::{
    WorkspaceFilesEntry, WorkspaceFilesListResult, WorkspaceFilesReadResult,
};

use crate::folder::Folder;

/// Most entries of a directory.
const MAX_ENTRIES: usize = 2_000;
/// Most entries that are looked at in a directory.
const MAX_SEEN: usize = 50_000;
/// Most bytes of a text.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// The ignore files of git, as git reads them.
const IGNORES: IgnoreRules = IgnoreRules {
    names: &[".ignore", ".gitignore"],
    parents: true,
    repository: false,
    hidden: false,
};

/// Lists a directory.
pub(crate) fn list(folder: &Folder, path: Option<&str>) -> Result<WorkspaceFilesListResult, RpcError> {
    let directory = match path {
        Some(path) => folder.shown(path)?,
        None => folder.root.clone(),
    };
    let failed = |error: io::Error| {
        let directory = shown(&folder.root, &directory);
        RpcError::invalid_params(format!("{directory} cannot be listed: {error}."))
    };
    let ignores = Ignores::new(&folder.root, IGNORES);
    let mut entries = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(&directory).map_err(failed)? {
        seen += 1;
        if seen > MAX_SEEN {
            break;
        }
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case(".craft") {
            continue;
        }
        // A link is what it leads to.
        let is_directory = entry.path().is_dir();
        entries.push(WorkspaceFilesEntry {
            ignored: ignores.leaves_out(&entry.path(), is_directory),
            name,
            is_directory,
        });
    }
    entries.sort_by(|one, other| (!one.is_directory, &one.name).cmp(&(!other.is_directory, &other.name)));
    let truncated = entries.len() > MAX_ENTRIES || seen > MAX_SEEN;
    entries.truncate(MAX_ENTRIES);
    Ok(WorkspaceFilesListResult { entries, truncated })
}

/// Reads a text or a picture.
pub(crate) fn read(folder: &Folder, path: &str) -> Result<WorkspaceFilesReadResult, RpcError> {
    let real = folder.shown(path)?;
    let failed = |error: io::Error| {
        let shown = shown(&folder.root, &real);
        RpcError::invalid_params(format!("{shown} cannot be read: {error}."))
    };
    let file = open_file(&real).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut bytes = Vec::new();
    let limit = MAX_TEXT_BYTES.max(MAX_PICTURE_BYTES) + 1;
    file.take(limit as u64).read_to_end(&mut bytes).map_err(failed)?;
    let mut result = WorkspaceFilesReadResult {
        path: shown(&folder.root, &real),
        absolute_path: real.to_string_lossy().into_owned(),
        size,
        ..WorkspaceFilesReadResult::default()
    };
    if let Some(kind) = media_type(&bytes)
        && bytes.len() <= MAX_PICTURE_BYTES
    {
        result.media_type = Some(kind.to_owned());
        result.data = Some(STANDARD.encode(&bytes));
        return Ok(result);
    }
    let is_cut = bytes.len() > MAX_TEXT_BYTES;
    bytes.truncate(MAX_TEXT_BYTES);
    let text = match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        // The end may lie within a character.
        Err(error) if is_cut && error.utf8_error().error_len().is_none() => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8(bytes).ok()
        }
        Err(_) => None,
    };
    result.text = text.filter(|text| !text.contains('\0'));
    result.truncated = is_cut && result.text.is_some();
    Ok(result)
}
