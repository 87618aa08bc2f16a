//! What files were before Turns changed them, so that a Turn can be undone.
//!
//! Before each call that may change files, and after it, what may change is kept in a bare git repository of the
//! server's own: outside of the workspace, outside of the user's repository, without the user's configuration, hooks
//! and filters. A call that says which files it writes costs those files; a call of which nobody knows what it
//! does (a command, somebody else's tool) costs a look over the workspace. The pair of states makes a *step*, a
//! ref of that repository; the steps of a Turn are its *ledger*, and undoing a Turn is putting back what its ledger
//! says of each file.
//!
//! * [`git`]: the program git, run with nothing of the user's.
//! * [`survey`]: which files of a workspace are kept, and when there are too many of them.
//! * [`ledger`]: steps as they are written down, and what several of them come to. Pure.
//! * [`shadow`], [`contents`], [`prepare`]: the repository: looks and steps, contents, the directory; [`open_looks`]: looks
//!   whose call still runs.
//! * [`windows`]: which calls ran side by side, so that nobody is said to have done what another did; [`alive`]: which
//!   steps somebody still works at; [`clock`]: how long that takes.
//! * [`keeper`]: what the agent's loop calls around a call; [`step`]: what comes of it.
//! * [`found`]: what lies at a path now; [`unseen`]: what a look had not seen.
//! * [`revert`]: what the core calls when a Turn is to be undone.
//! * [`tidy`]: what is forgotten, and when.
//!
//! Not kept, and said so: what git ignores and no file tool wrote; files over [`survey::MAX_FILE_BYTES`]; anything
//! in `.git` and `.craft`; what a command changes outside of the workspace, or after its call has ended.

mod alive;
mod clock;
mod contents;
mod found;
mod git;
mod keeper;
mod known_git;
mod ledger;
mod open_looks;
mod prepare;
mod revert;
mod shadow;
mod step;
mod survey;
mod tidy;
mod unseen;
mod windows;

pub(crate) use keeper::{Begun, TurnKeeper};
pub use shadow::{CheckpointError, Checkpoints};
pub(crate) use step::Ended;
