//! The parts that stores on SQL databases share: rows and their decoding, the text that searches find, what counts as usage, the
//! figures of a writer. It has no statement: each database has its own.

mod row;
mod searchable;
mod stats;
mod usage;

use bobbin_model::Seq;

pub use row::{EventRow, ItemRow, ThreadRow, TurnRow};
pub use searchable::SearchText;
pub use stats::WriterStats;
pub use usage::{SumRow, Used, signed, unsigned};

/// How long a named request is remembered, in milliseconds: a week, longer than any client retries.
pub const REQUEST_MEMORY: i64 = 7 * 24 * 3600 * 1000;

/// Returns a Seq as databases have it.
pub fn number(seq: Seq) -> i64 {
    signed(seq.0)
}
