//! Paths as `file:` URIs and back. Pure.

use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// What is escaped in a file's URI.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?');

/// Returns the URI of a path.
pub fn uri_of(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("file://{}", utf8_percent_encode(&text, ESCAPED))
}

/// Returns the path of a `file:` URI; a plain path is taken as it is.
pub fn path_of(uri: &str) -> PathBuf {
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

    #[test]
    fn a_path_becomes_a_uri_and_comes_back() {
        let uri = uri_of(Path::new("/srv/my pot/é#1?"));
        assert_eq!(uri, "file:///srv/my%20pot/%C3%A9%231%3F");
        assert_eq!(path_of(&uri), Path::new("/srv/my pot/é#1?"));
    }
}
