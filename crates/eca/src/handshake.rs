//! What `initialize` says, as this crate works with it (sections 4.2 and 4.6). Pure.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use crate::dialect::Chosen;
use crate::wire::lifecycle::{InitializationOptions, WorkspaceFolder};
use crate::{Offer, Wanted, wire};

/// Returns what is wanted of the workspace.
pub(crate) fn wanted(folders: &[WorkspaceFolder], options: &InitializationOptions) -> Wanted {
    Wanted {
        root: folders.first().map(|folder| path_of(&folder.uri)),
        pure_config: options.pure_config.unwrap_or(false),
    }
}

/// Returns what the options choose for chats that say nothing (4.6).
pub(crate) fn chosen(options: InitializationOptions, offer: &Offer) -> Chosen {
    let trust = options.trust();
    let mode = options.chat_agent.or(options.chat_behavior);
    Chosen {
        mode: mode.as_deref().map(wire::mode_of),
        model: options.default_model.filter(|model| offer.models.contains(model)),
        trust,
    }
}

/// Returns the path of a `file:` URI; a plain path is taken as it is.
fn path_of(uri: &str) -> PathBuf {
    let Some(rest) = uri.strip_prefix("file://") else {
        return PathBuf::from(uri);
    };
    // The authority, empty or a host name, ends with the first slash.
    let path = rest.find('/').map_or(rest, |at| &rest[at..]);
    PathBuf::from(percent_decode_str(path).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_uris_become_paths() {
        for (uri, path) in [
            ("file:///srv/teapot", "/srv/teapot"),
            ("file:///srv/my%20pot/%C3%A9", "/srv/my pot/é"),
            ("file://localhost/srv", "/srv"),
            ("/srv/teapot", "/srv/teapot"),
        ] {
            assert_eq!(path_of(uri), PathBuf::from(path), "{uri}");
        }
    }
}
