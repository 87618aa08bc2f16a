//! Finds out the state of a file that an editor was asked to write, if the editor's answer does not say (AppServer
//! protocol 04 §8).
//!
//! The file on disk decides: if it has the new content, the write is done. The tool does not overwrite a file that another
//! program changed, nor repeat a write that the editor may still do.

use std::fmt::Write as _;
use std::path::Path;

use bobbin_agent_api::client::ClientFailure;
use bobbin_agent_api::tool::{ChangedFile, ToolOutput};

use tokio_util::sync::CancellationToken;

use super::arguments::failed;
use super::blocking::FileWork;
use super::editor::{EditorOf, Written};

/// The next step for a file that an editor was asked to write.
pub(super) enum Next {
    /// Nothing: the editor has written it.
    Nothing,
    /// The editor has not written it: the tool writes it.
    Here(ClientFailure),
    /// The editor seems not to have written it: the tool writes the file if it is unchanged.
    HereIfUnchanged(ClientFailure),
    /// Nothing: this result says that the editor forbids it, or reports the state of the file.
    Reported(Box<ToolOutput>),
}

/// Asks an editor to write a file, until `cancel`. `before` is the file's content on disk, `shown` its name for the model.
pub(super) async fn write(
    editor: &EditorOf,
    work: &FileWork,
    path: &Path,
    before: Option<&[u8]>,
    content: &str,
    shown: &str,
    cancel: &CancellationToken,
) -> Next {
    let written = tokio::select! {
        biased;
        written = editor.write(path, content) => Some(written),
        () = cancel.cancelled() => None,
    };
    let why = match written {
        Some(Written::Yes) => return Next::Nothing,
        Some(Written::No(ClientFailure::Forbidden(why))) => {
            let text = format!("the editor refused to write {shown}, and nothing was written: {why}");
            return Next::Reported(Box::new(failed(text)));
        }
        Some(Written::No(why)) => return Next::Here(why),
        Some(Written::Unknown(why)) => Some(why),
        // The editor may still write it.
        None => None,
    };
    let now = work.before(path).await;
    let seen = match &now {
        Some(now) if now.as_deref() == Some(content.as_bytes()) => return Next::Nothing,
        Some(now) if now.as_deref() == before => match why {
            // The editor cannot write the file any more, or has failed to.
            Some(why @ (ClientFailure::Gone | ClientFailure::Unusable(_))) => {
                return Next::HereIfUnchanged(why);
            }
            _ => "the file is as it was, and it was not written here, as the editor may still write it",
        },
        Some(_) => "the file is neither as it was nor as it should be, and its content was not overwritten",
        None => "the file cannot be read, and nothing was written here",
    };
    let why = why.map_or_else(|| "the turn was cancelled".to_owned(), |why| why.to_string());
    let text = format!(
        "it is not known whether the editor wrote {shown} ({why}): {seen}; read it before you write again"
    );
    let mut output = failed(text);
    output.changed.push(ChangedFile {
        path: path.to_owned(),
        before: before.map(<[u8]>::to_vec),
    });
    Next::Reported(Box::new(output))
}

/// Adds to a result that the tool wrote the file because the editor did not.
pub(super) fn written_here(mut output: ToolOutput, why: Option<&ClientFailure>) -> ToolOutput {
    if let Some(why) = why.filter(|_| output.success) {
        let _ = write!(
            output.text,
            "; the editor did not write it ({why}), so it was written on disk: the editor may show older text"
        );
    }
    output
}

#[cfg(test)]
#[path = "editor_write_tests.rs"]
mod tests;
