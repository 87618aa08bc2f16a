//! Pictures of Threads: files beside the outputs of their commands, within the same limit, removed with the Thread.
//!
//! A picture does not expire: an old conversation shows it. At the limit, the oldest files go first.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use bobbin_agent_api::picture::{MAX_PICTURE_BYTES, PictureError, PictureFiles, StoredPicture, media_type};
use bobbin_model::ThreadId;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use sha2::{Digest as _, Sha256};

use crate::Terminals;
use crate::output_files::{OutputFiles, PICTURE};
use crate::terminals::Inner;

/// Bytes of the hash in a name.
const HASH_BYTES: usize = 16;

impl PictureFiles for Terminals {
    fn put(
        &self,
        thread: &ThreadId,
        bytes: Vec<u8>,
    ) -> BoxFuture<'static, Result<StoredPicture, PictureError>> {
        let (inner, thread) = (self.inner(), thread.to_string());
        async move {
            let media_type = media_type(&bytes).ok_or(PictureError::Unknown)?;
            if bytes.len() > MAX_PICTURE_BYTES {
                return Err(PictureError::TooLarge);
            }
            let output_files = inner.output_files.clone().ok_or(PictureError::NoRoom)?;
            inner.tidy().await;
            let stored =
                tokio::task::spawn_blocking(move || store(&output_files, &thread, media_type, &bytes));
            stored
                .await
                .unwrap_or_else(|error| Err(PictureError::Disk(error.to_string())))
        }
        .boxed()
    }

    fn get(
        &self,
        thread: &ThreadId,
        path: &str,
    ) -> BoxFuture<'static, Result<Option<Vec<u8>>, PictureError>> {
        let (inner, thread, path) = (self.inner(), thread.to_string(), PathBuf::from(path));
        async move {
            let Some(output_files) = inner.output_files.clone() else {
                return Ok(None);
            };
            let read = tokio::task::spawn_blocking(move || output_files.read_picture(&thread, &path));
            match read.await {
                Ok(Ok(bytes)) => Ok(Some(bytes)),
                Ok(Err(error)) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => {
                    Ok(None)
                }
                Ok(Err(error)) => Err(PictureError::Disk(error.to_string())),
                Err(error) => Err(PictureError::Disk(error.to_string())),
            }
        }
        .boxed()
    }
}

fn store(
    output_files: &OutputFiles,
    thread: &str,
    media_type: &'static str,
    bytes: &[u8],
) -> Result<StoredPicture, PictureError> {
    let hash = hex::encode(&Sha256::digest(bytes)[..HASH_BYTES]);
    let ending = media_type.strip_prefix("image/").unwrap_or(media_type);
    let path = output_files
        .put_picture(thread, &format!("{PICTURE}{hash}"), ending, bytes)
        .map_err(|error| PictureError::Disk(error.to_string()))?
        .ok_or(PictureError::NoRoom)?;
    Ok(StoredPicture {
        path: path.to_string_lossy().into_owned(),
        media_type,
    })
}

impl Inner {
    /// Returns the Threads that have pictures.
    pub(crate) async fn threads_with_pictures(self: &Arc<Self>) -> BTreeSet<ThreadId> {
        let Some(output_files) = self.output_files.clone() else {
            return BTreeSet::new();
        };
        let found = tokio::task::spawn_blocking(move || {
            let pictures = output_files
                .items()
                .into_iter()
                .filter(crate::output_files::Item::is_picture);
            pictures.map(|item| ThreadId::new(item.thread)).collect()
        });
        found.await.unwrap_or_default()
    }
}
