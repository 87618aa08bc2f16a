//! The native protocol's JSON shapes and error codes, with their encoding and decoding.
//!
//! The shapes of messages lie in the folders of their groups. AppServer protocol 01 to 05 defines the shapes. Additions to
//! it are marked "extension".
//!
//! * [`decode::params`] reads messages of clients, as leniently as AppServer protocol 01 §1.1 requires.
//! * [`encode::encode_notification`] encodes notifications of the server.
//! * [`error::RpcError`] has one constructor for every row of the error table.

pub mod decode;
pub mod encode;
pub mod error;
pub mod nullable;
pub mod timestamp;

pub use decode::DecodeError;
pub use encode::{EncodeError, encode_notification};
pub use error::{ErrorCode, ErrorData, RpcError};
pub use nullable::Nullable;
pub use timestamp::Timestamp;
