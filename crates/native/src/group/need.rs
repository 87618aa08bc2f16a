//! The right that a method needs of its caller.

pub use bobbin_model::Need;

/// A member of the params that needs more of a caller than its method does, by its path: `config.approvalPolicy`.
///
/// Such a member loosens what is asked or confined, or it starts, opens or writes something.
pub type Member = (&'static str, Need);
