//! Pictures that go with a prompt: files by their paths.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bobbin_native_wire::turn::input_types::LocalImagePart;

/// Largest picture.
const MAX_BYTES: u64 = 20 << 20;

/// Returns the part of an input that sends a picture along.
///
/// # Errors
/// The file is no picture, too large, or cannot be read.
pub fn picture(path: &Path) -> anyhow::Result<LocalImagePart> {
    let shown = path.display();
    let Some(media_type) = media_type(path) else {
        bail!("{shown} does not end as a picture does: .png, .jpg, .gif or .webp");
    };
    let path = path
        .canonicalize()
        .with_context(|| format!("the picture {shown} cannot be read"))?;
    let found = path.metadata()?;
    if !found.is_file() {
        bail!("{shown} is no file");
    }
    if found.len() > MAX_BYTES {
        bail!(
            "{shown} has {} bytes, and a picture may have {MAX_BYTES}",
            found.len()
        );
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(text) = path.to_str() else {
        bail!("the name of {shown} is no UTF-8 text");
    };
    Ok(LocalImagePart {
        path: text.to_owned(),
        mime_type: Some(media_type.to_owned()),
        file_name: Some(name.into_owned()),
    })
}

/// Returns the media type of a picture by the end of its name.
pub(crate) fn media_type(path: &Path) -> Option<&'static str> {
    let end = path.extension()?.to_str()?;
    let types = [
        ("png", "image/png"),
        ("gif", "image/gif"),
        ("webp", "image/webp"),
        ("jpg", "image/jpeg"),
        ("jpeg", "image/jpeg"),
    ];
    types
        .into_iter()
        .find_map(|(known, media_type)| end.eq_ignore_ascii_case(known).then_some(media_type))
}

/// Returns the picture that a pasted text names: terminals paste the path of a file that is dropped on them.
pub(crate) fn dropped(text: &str) -> Option<PathBuf> {
    let text = text.trim();
    if text.contains('\n') {
        return None;
    }
    let quoted = ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    let path = match quoted {
        Some(path) => path.to_owned(),
        None => unescaped(text.strip_prefix("file://").unwrap_or(text)),
    };
    let path = PathBuf::from(path);
    (path.is_absolute() && picture(&path).is_ok()).then_some(path)
}

/// Returns a path without the backslashes that terminals put before blanks.
fn unescaped(text: &str) -> String {
    let mut path = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        path.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_a_file_that_is_there() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a pot.PNG");
        assert!(picture(&path).is_err());
        std::fs::write(&path, "x").unwrap();
        assert_eq!(picture(&path).unwrap().mime_type.as_deref(), Some("image/png"));
        assert!(picture(place.path()).is_err());
        let text = path.to_str().unwrap();
        for pasted in [
            format!("'{text}'"),
            format!("{} ", text.replace(' ', "\\ ")),
            format!("file://{text}"),
        ] {
            assert_eq!(dropped(&pasted).as_ref(), Some(&path), "{pasted}");
        }
        assert_eq!(dropped("a pot.PNG"), None, "a word is no drop");
        assert_eq!(dropped(&format!("{text}\nmore")), None);
    }
}
