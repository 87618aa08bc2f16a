//! What becomes of a file that an editor was asked to write, where its answer does not say (AppServer protocol 04 §8).
//!
//! The file itself is asked then: what is already as it should be is done, and what somebody changed is not written
//! over. Where the editor may still do it, it is not done a second time here.

use std::path::Path;

use bobbin_agent_api::client::ClientFailure;
use bobbin_agent_api::tool::{ChangedFile, ToolOutput};

use super::arguments::failed;
use super::blocking::FileWork;
use super::editor::{EditorOf, Written};

/// What is to be done with a file that an editor was asked to write.
pub(super) enum Next {
    /// Nothing: the editor has written it.
    Nothing,
    /// It has not: the tool writes it.
    Here,
    /// It has not, as far as the file shows: the tool writes it if it still is as it was.
    HereIfUnchanged,
    /// Nothing: the result says what is known.
    Told(Box<ToolOutput>),
}

/// Has an editor write a file. `before` is what stood in it on the disk, `shown` is its name for the model.
pub(super) async fn write(
    editor: &EditorOf,
    work: &FileWork,
    path: &Path,
    before: Option<&[u8]>,
    content: &str,
    shown: &str,
) -> Next {
    let why = match editor.write(path, content).await {
        Written::Yes => return Next::Nothing,
        Written::No => return Next::Here,
        Written::Unknown(why) => why,
    };
    let now = work.before(path).await;
    let seen = match &now {
        Some(now) if now.as_deref() == Some(content.as_bytes()) => return Next::Nothing,
        Some(now) if now.as_deref() == before => match why {
            // Nothing of it can come any more, or it has come to nothing.
            ClientFailure::Gone | ClientFailure::Unusable(_) => return Next::HereIfUnchanged,
            _ => "the file is as it was, and it was not written here, as the editor may still write it",
        },
        Some(_) => {
            "the file is neither as it was nor as it should be, and nothing was written over what stands there"
        }
        None => "the file cannot be read, and nothing was written here",
    };
    let text = format!(
        "it is not known whether the editor wrote {shown} ({why}): {seen}; read it before you write again"
    );
    let mut output = failed(text);
    output.changed.push(ChangedFile {
        path: path.to_owned(),
        before: before.map(<[u8]>::to_vec),
    });
    Next::Told(Box::new(output))
}

#[cfg(test)]
#[path = "editor_write_tests.rs"]
mod tests;
