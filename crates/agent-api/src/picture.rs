//! Pictures that arrive as bytes: the formats that models accept, and the store of a Thread's pictures.

use bobbin_model::ThreadId;
use futures_util::future::BoxFuture;

/// Largest file of a picture, in bytes: the providers' limit before Base64.
pub const MAX_PICTURE_BYTES: usize = 3_750_000;

/// A stored picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPicture {
    /// The file, absolute. A Thread's Items name it, and its Turns read it without a question.
    pub path: String,
    /// Its media type, detected from its bytes.
    pub media_type: &'static str,
}

/// Reason why a picture is not stored. The texts are half sentences for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// The format is none that models accept.
    #[error("it is no PNG, JPEG, GIF or WebP file")]
    Unknown,
    /// It is too large for the providers.
    #[error("it has more than {MAX_PICTURE_BYTES} bytes; make it smaller")]
    TooLarge,
    /// The workspace's pictures have reached their limit.
    #[error("there is no room for it; delete conversations with pictures")]
    NoRoom,
    /// The disk failed.
    #[error("it cannot be stored ({0})")]
    Disk(String),
}

/// Stores the pictures of Threads. They outlive the server and are deleted with their Thread.
pub trait PictureFiles: Send + Sync + 'static {
    /// Stores a picture. A Thread stores the same bytes once.
    fn put(
        &self,
        thread: &ThreadId,
        bytes: Vec<u8>,
    ) -> BoxFuture<'static, Result<StoredPicture, PictureError>>;

    /// Returns the bytes of a Thread's picture, by the path that [`PictureFiles::put`] returned. `None` for other paths.
    fn get(&self, thread: &ThreadId, path: &str)
    -> BoxFuture<'static, Result<Option<Vec<u8>>, PictureError>>;
}

/// Returns the media type by a file's first bytes: one of four that every provider accepts.
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
