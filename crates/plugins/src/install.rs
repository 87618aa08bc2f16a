//! Copies plugins to where they are installed, and removes them. A folder appears and disappears in one step. Blocks on the
//! disk.

use std::fs::Permissions;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bobbin_settings::{MAX_BYTES, folder_files};

use crate::discovery::{MARKER, Place};

/// Copies a plugin to where `id` is installed, in the place of an installed one.
///
/// # Errors
/// The source cannot be copied, or a folder is in the way that was not installed: a sentence. All is as before then.
pub(crate) fn install(place: &Place, id: &str, from: &Path) -> Result<(), String> {
    let folder = checked_folder(place)?;
    let target = folder.join(id);
    let is_there = target.symlink_metadata().is_ok();
    if is_there && !is_installed(&target) {
        return Err(format!(
            "{} is in the way: it was not installed from here, so it is not replaced.",
            target.display()
        ));
    }
    // What a repository tool has beside the plugin is no part of it.
    let files = folder_files(from, |path| path == Path::new(".git"));
    let files = files.map_err(|why| format!("The plugin cannot be installed: {why}."))?;
    let cannot = |error: std::io::Error| format!("The plugin cannot be installed: {error}.");
    let copy = tempfile::Builder::new()
        .prefix(".installing-")
        .tempdir_in(&folder)
        .map_err(cannot)?;
    let copied = || -> std::io::Result<()> {
        for file in files {
            let to = copy.path().join(&file.path);
            if let Some(directory) = to.parent() {
                std::fs::create_dir_all(directory)?;
            }
            let source = bobbin_files::open_file(&from.join(&file.path))?;
            let mut written = std::fs::File::create(&to)?;
            std::io::copy(&mut source.take(MAX_BYTES), &mut written)?;
            let can_run = file.found.permissions().mode() & 0o111 != 0;
            written.set_permissions(Permissions::from_mode(if can_run { 0o755 } else { 0o644 }))?;
            written.sync_all()?;
        }
        std::fs::write(copy.path().join(MARKER), format!("{}\n", from.display()))?;
        std::fs::set_permissions(copy.path(), Permissions::from_mode(0o755))
    };
    copied().map_err(cannot)?;
    // Until the end, so that a failure puts the old one back.
    let aside = is_there.then(|| set_aside(&folder, &target)).transpose()?;
    match std::fs::rename(copy.path(), &target) {
        Ok(()) => Ok(()),
        Err(error) => {
            if let Some(aside) = aside {
                drop(std::fs::rename(aside.path().join("old"), &target));
            }
            Err(cannot(error))
        }
    }
}

/// Removes an installed plugin with all its files.
///
/// # Errors
/// It cannot be removed; it is as before then.
pub(crate) fn remove(place: &Place, id: &str) -> Result<(), String> {
    let folder = checked_folder(place)?;
    set_aside(&folder, &folder.join(id)).map(drop)
}

/// Whether a folder is one that was installed.
fn is_installed(target: &Path) -> bool {
    let is_directory = target.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_directory && target.join(MARKER).is_file()
}

/// Returns where plugins are installed; the folder is there then, and no link leads elsewhere.
fn checked_folder(place: &Place) -> Result<std::path::PathBuf, String> {
    let folder = place.installed();
    let cannot = |why: String| format!("Plugins cannot be installed in {}: {why}.", folder.display());
    let is_real = |path: &Path| path.canonicalize().is_ok_and(|real| real == path);
    let checked = |path: &Path| {
        let linked = || cannot("a link leads from there to another place".to_owned());
        is_real(path).then_some(()).ok_or_else(linked)
    };
    // Before a directory is made behind a link, and after it: the link may have come meanwhile.
    let nearest = folder.ancestors().find(|path| path.symlink_metadata().is_ok());
    checked(nearest.unwrap_or(&folder))?;
    std::fs::create_dir_all(&folder).map_err(|error| cannot(error.to_string()))?;
    checked(&folder)?;
    Ok(folder)
}

/// Moves a folder into a temporary directory beside it, which takes it along when it is dropped.
fn set_aside(folder: &Path, target: &Path) -> Result<tempfile::TempDir, String> {
    let cannot = |error: std::io::Error| format!("{} cannot be removed: {error}.", target.display());
    let aside = tempfile::Builder::new()
        .prefix(".removing-")
        .tempdir_in(folder)
        .map_err(cannot)?;
    std::fs::rename(target, aside.path().join("old")).map_err(cannot)?;
    Ok(aside)
}
