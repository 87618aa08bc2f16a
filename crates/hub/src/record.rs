//! `appservers.json`: the workspaces that the Hub knows, for those who look there, and for the next Hub.
//!
//! Written as well as possible, and believed by nobody: which servers run is asked of their locks. It has no token in it.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use crate::wire::AppServer;

const NAME: &str = "appservers.json";
/// Most of the file that is read.
const MAX_BYTES: u64 = 4 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    app_servers: Vec<RecordEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordEntry {
    canonical_workspace_path: PathBuf,
}

/// Returns the workspaces that are still there.
pub(crate) fn read(directory: &Path) -> Vec<PathBuf> {
    let text = bobbin_files::read_text(&directory.join(NAME), MAX_BYTES).unwrap_or_default();
    let entries =
        serde_json::from_str(&text).map_or_else(|_| Vec::new(), |record: Record| record.app_servers);
    let roots = entries.into_iter().map(|entry| entry.canonical_workspace_path);
    roots.filter(|root| root.is_absolute() && root.is_dir()).collect()
}

/// Writes what is known.
pub(crate) fn write(directory: &Path, mut servers: Vec<AppServer>) -> io::Result<()> {
    for server in &mut servers {
        let urls = server.endpoints.values_mut();
        let others = server
            .service_status
            .values_mut()
            .filter_map(|status| status.url.as_mut());
        for url in urls.chain(others) {
            url.truncate(url.find('?').unwrap_or(url.len()));
        }
    }
    let at = jiff::Timestamp::now().to_string();
    let content = json!({ "version": 1, "updatedAt": at, "appServers": servers });
    // For this user alone: 0600 is what such files are made with.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(&serde_json::to_vec_pretty(&content)?)?;
    file.persist(directory.join(NAME))?;
    Ok(())
}
