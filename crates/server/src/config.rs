//! The configuration of this process, read with the user's record of trust.

use std::path::Path;

use bobbin_config::Config;
use bobbin_workspace::{TrustFile, TrustRecord};

use crate::models::variable;
use crate::state;

/// Reads both files. Settings of the workspace that loosen something count as far as the user trusts them.
///
/// # Errors
/// As [`Config::read`].
pub fn read(workspace: &Path, home: Option<&Path>) -> anyhow::Result<Config> {
    let state = state::directory().ok();
    let record = state.map(|state| TrustFile::of(&state, workspace).read());
    read_with(workspace, home, &record.unwrap_or_default())
}

/// Reads both files with this record of trust.
///
/// # Errors
/// As [`Config::read`].
pub fn read_with(workspace: &Path, home: Option<&Path>, record: &TrustRecord) -> anyhow::Result<Config> {
    let mut config = Config::read(workspace, home, record)?;
    if let Some(model) = variable("BOBBIN_MODEL") {
        config.models.choose(&model);
    }
    config.models.choose_by_key(|name| variable(name).is_some());
    if let Some(catalogue) = variable("DOTCRAFT_BUILTIN_PLUGIN_ROOTS") {
        let folders = std::env::split_paths(&catalogue).filter(|folder| folder.is_absolute());
        config.plugins.catalogue.extend(folders);
    }
    Ok(config)
}
