//! The parts of FineCode's protocol that both ends need: the [`Dialect`], the framing, and the text of [`Document`]s.
//!
//! A manager uses it (`finecode`), and a program that is a runner (`clients/finecode-runner`). It knows no method.

use bobbin_framing::{
    ContentLengthDecoder, ContentLengthEncoder, ContentType, Limits, StreamReader, StreamWriter, Transport,
};
use tokio::io::{AsyncRead, AsyncWrite};

mod dialect;
mod document;

pub use dialect::Dialect;
pub use document::{Document, EditError, Position, Range};

/// JSON that is passed on unread.
pub type Json = Box<serde_json::value::RawValue>;

/// Returns a transport with the framing that managers and runners read.
pub fn framed(
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) -> Transport {
    let encoder = ContentLengthEncoder::new(ContentType::VscodeJsonRpc);
    Transport {
        reader: Box::new(StreamReader::new(
            read,
            ContentLengthDecoder::new(Limits::default()),
        )),
        writer: Box::new(StreamWriter::new(write, encoder)),
    }
}
