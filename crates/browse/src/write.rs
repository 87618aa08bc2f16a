//! Puts files of users into the folder.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_files::{Batch, Kind, Leftovers, Want, as_read, shown};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::file::types::WorkspaceFilesWriteResult;

use crate::folder::Folder;

/// Most bytes of a file: in base64 they fit into a message.
const MAX_BYTES: usize = 2 << 20;

/// Writes a new file, and the directories on the way to it.
pub(crate) fn write(folder: &Folder, path: &str, data: &str) -> Result<WorkspaceFilesWriteResult, RpcError> {
    let real = folder.check().new_file(path);
    let real = real.map_err(|hidden| RpcError::invalid_params(format!("{path} {hidden}")))?;
    let Ok(bytes) = STANDARD.decode(data) else {
        return Err(RpcError::invalid_params("'data' is not base64."));
    };
    if bytes.len() > MAX_BYTES {
        return Err(RpcError::invalid_params("A file may have 2 MiB."));
    }
    let name = shown(&folder.root, &real);
    if real.exists() {
        let text = format!("{name} is there already. Choose another name.");
        return Err(RpcError::invalid_params(text));
    }
    let mut batch = Batch::default();
    batch.add(real, Want::File(Kind::AsItWas, bytes.into()), as_read(None));
    let written = batch.apply(&Leftovers::default());
    written.map_err(|error| RpcError::invalid_params(format!("The file could not be written: {error}.")))?;
    Ok(WorkspaceFilesWriteResult { path: name })
}
