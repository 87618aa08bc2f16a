//! The instruction files of a Thread, which answers name for clients of today (07 §3).

use std::path::PathBuf;
use std::time::Duration;

use bobbin_agent_api::InstructionFiles;

use crate::client::Client;

/// Longest wait for a disk. An answer does not fail for want of these paths.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns the absolute paths of the files whose text the model of a Thread in `folder` gets, outermost first.
pub(crate) async fn sources(client: &Client, folder: PathBuf) -> Vec<String> {
    let services = client.services();
    let Some(files) = services.others.get::<InstructionFiles>().copied() else {
        return Vec::new();
    };
    let (prompts, threads) = (services.prompts.clone(), client.threads().clone());
    let reading = tokio::task::spawn_blocking(move || {
        let is_trusted = prompts.is_none_or(|prompts| prompts.folder_counts(&folder));
        let settings = threads.settings();
        (files.find)(&settings.workspace, &folder, &*settings.policy, is_trusted)
    });
    match tokio::time::timeout(PATIENCE, reading).await {
        Ok(Ok(paths)) => {
            let paths = paths.into_iter();
            paths.map(|path| path.to_string_lossy().into_owned()).collect()
        }
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}
