//! Codes of the protocol's errors, beside those of JSON-RPC.

/// The message is no JSON.
pub const PARSE: i64 = -32_700;
/// The message is no request.
pub const INVALID_REQUEST: i64 = -32_600;
/// No such method, or one that was not offered.
pub const METHOD_NOT_FOUND: i64 = -32_601;
/// The parameters are wrong.
pub const INVALID_PARAMS: i64 = -32_602;
/// The request failed.
pub const INTERNAL: i64 = -32_603;
/// The request was cancelled by `$/cancel_request`.
pub const CANCELLED: i64 = -32_800;
/// A login is needed first.
pub const AUTHENTICATION_REQUIRED: i64 = -32_000;
/// No such session, or no such file.
pub const NOT_FOUND: i64 = -32_002;
