//! The profiles of subagents of the served workspace, connected to its configuration.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_config::Config;
use bobbin_core::Broadcasts;
use bobbin_profiles::Profiles;
use bobbin_workspace::TrustFile;

/// Returns the profiles of a workspace. Blocks on the disk.
pub(crate) fn of(
    home: Option<&Path>,
    trust: &TrustFile,
    search: Option<OsString>,
    config: &Config,
    broadcasts: Broadcasts,
) -> Arc<Profiles> {
    let (root, own): (PathBuf, _) = (trust.root().to_owned(), home.map(Path::to_owned));
    let files = Box::new(move |record: &_| {
        let config = Config::read(&root, own.as_deref(), record)?;
        Ok((config.profiles, config.folder_items))
    });
    Profiles::new(
        home,
        trust.clone(),
        search,
        (files, config.profiles.clone()),
        broadcasts,
    )
}
