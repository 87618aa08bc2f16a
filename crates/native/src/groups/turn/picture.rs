//! Pictures that clients send as bytes; they are stored with their Thread.
//!
//! A picture's bytes determine its type, not the name or type that a client gives. The limit of a frame bounds the
//! size.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_agent_api::picture::PictureFiles;
use bobbin_model::ThreadId;
use bobbin_native_wire::RpcError;
use bobbin_native_wire::turn::input_types::{InputPart, LocalImagePart};

/// Longest name that is stored, in characters.
const MAX_NAME: usize = 120;

/// Replaces each picture that comes as bytes by the name of a stored file.
///
/// # Errors
/// `-32602` for bytes that are no picture or cannot be stored.
pub(super) async fn stored(
    mut parts: Vec<InputPart>,
    thread: &ThreadId,
    files: Option<&dyn PictureFiles>,
) -> Result<Vec<InputPart>, RpcError> {
    for part in &mut parts {
        let InputPart::Image(image) = part else {
            continue;
        };
        let Some(data) = data(&image.url) else { continue };
        let refused = |why: &str| {
            let detail = format!("A picture cannot be taken: {why}.");
            RpcError::invalid_params(detail)
        };
        let files = files.ok_or_else(|| refused("this server stores none"))?;
        let data = data.to_owned();
        let bytes = tokio::task::spawn_blocking(move || STANDARD.decode(data)).await;
        let bytes = bytes
            .ok()
            .and_then(Result::ok)
            .ok_or_else(|| refused("its 'url' is no base64"))?;
        let picture = files.put(thread, bytes).await;
        let picture = picture.map_err(|error| refused(&error.to_string()))?;
        *part = InputPart::LocalImage(LocalImagePart {
            path: picture.path,
            mime_type: Some(picture.media_type.to_owned()),
            file_name: Some(shown(image.file_name.as_deref())),
        });
    }
    Ok(parts)
}

/// Returns the base64 of a `data:` URL.
fn data(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_at_checked("data:".len())?;
    if !scheme.eq_ignore_ascii_case("data:") {
        return None;
    }
    // Without the marker the text is no base64; "?" fails to decode.
    Some(rest.split_once(";base64,").map_or("?", |(_, data)| data))
}

fn shown(name: Option<&str>) -> String {
    let name = name.map(str::trim).filter(|name| !name.is_empty());
    name.unwrap_or("picture").chars().take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bobbin_agent_api::picture::{PictureError, StoredPicture, media_type};
    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;

    use super::*;

    /// Accepts files whose first bytes are a picture's.
    struct Shelf;

    impl PictureFiles for Shelf {
        fn put(
            &self,
            thread: &ThreadId,
            bytes: Vec<u8>,
        ) -> BoxFuture<'static, Result<StoredPicture, PictureError>> {
            let path = format!("/state/{thread}/picture_{}", bytes.len());
            let stored = media_type(&bytes).map(|media_type| StoredPicture { path, media_type });
            async move { stored.ok_or(PictureError::Unknown) }.boxed()
        }

        fn get(&self, _: &ThreadId, _: &str) -> BoxFuture<'static, Result<Option<Vec<u8>>, PictureError>> {
            async { Ok(None) }.boxed()
        }
    }

    #[tokio::test]
    async fn a_picture_that_comes_as_bytes_becomes_a_file_of_its_thread() {
        let thread = ThreadId::new("thread_1");
        let take = async |url: &str, name: Option<&str>, files: Option<&dyn PictureFiles>| {
            let mut image = BTreeMap::from([("type", "image"), ("url", url)]);
            image.extend(name.map(|name| ("fileName", name)));
            let parts = serde_json::to_string(&[image]).unwrap();
            stored(serde_json::from_str(&parts).unwrap(), &thread, files)
                .await
                .map(|parts| serde_json::to_value(&parts[0]).unwrap())
                .map_err(|error| error.detail().to_owned())
        };
        let kinds = [
            ("image/png", b"\x89PNG\r\n\x1a\nrest".as_slice()),
            ("image/jpeg", b"\xff\xd8\xff\xe0rest"),
            ("image/gif", b"GIF89arest"),
            ("image/webp", b"RIFF\0\0\0\0WEBPVP8 "),
        ];
        for (kind, bytes) in kinds {
            // The name that the client gives does not matter.
            let url = format!("DATA:text/html;base64,{}", STANDARD.encode(bytes));
            let expected = serde_json::json!({
                "type": "localImage", "path": format!("/state/thread_1/picture_{}", bytes.len()),
                "mimeType": kind, "fileName": "pot",
            });
            assert_eq!(take(&url, Some(" pot "), Some(&Shelf)).await, Ok(expected));
        }
        for (url, why) in [
            ("data:image/png;base64,PHN2Zy8+", "no PNG, JPEG, GIF or WebP"),
            ("data:image/png;base64,%%", "no base64"),
            ("data:image/png,abcd", "no base64"),
        ] {
            let refused = take(url, None, Some(&Shelf)).await.unwrap_err();
            assert!(refused.contains(why), "{url}: {refused}");
        }
        let none = take("data:image/png;base64,AA==", None, None).await.unwrap_err();
        assert!(none.contains("stores none"));
        let web = take("https://tea.example/pot.png", None, None).await.unwrap();
        assert_eq!(web["url"], "https://tea.example/pot.png");
        assert_eq!(shown(Some(&"x".repeat(200))).len(), MAX_NAME);
        assert_eq!(shown(Some(" ")), "picture");
    }
}
