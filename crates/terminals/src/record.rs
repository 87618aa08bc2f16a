//! The record of a terminal, for the time after a restart.

use std::io;
use std::sync::Arc;

use bobbin_model::{TerminalFacts, TerminalStatus, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::output_files::OutputFiles;

/// A terminal as its file describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    /// For later versions of the server.
    pub(crate) version: u32,
    pub(crate) facts: Arc<TerminalFacts>,
    pub(crate) end: End,
}

/// The state of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct End {
    pub(crate) status: TerminalStatus,
    pub(crate) exit_code: Option<i32>,
    pub(crate) completed_at: Option<UnixMillis>,
    pub(crate) output_chars: u64,
}

/// The only version there is.
const VERSION: u32 = 1;

impl Record {
    /// Returns the record of a terminal.
    pub(crate) fn new(facts: Arc<TerminalFacts>, end: End) -> Self {
        Self {
            version: VERSION,
            facts,
            end,
        }
    }

    /// Writes the record; it is on disk when this returns.
    pub(crate) fn save(&self, output_files: &OutputFiles) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        output_files.write_record(self.facts.thread.as_str(), &self.facts.id, &text)
    }

    /// Reads the record of `id`. `None` if there is none or an invalid one: commands can write here.
    pub(crate) fn load(output_files: &OutputFiles, thread: &str, id: &str) -> Option<Self> {
        let text = output_files.read_record(thread, id).ok()?;
        let mut record: Self = serde_json::from_slice(&text).ok()?;
        let ours =
            record.version == VERSION && record.facts.thread.as_str() == thread && record.facts.id == id;
        let facts = Arc::make_mut(&mut record.facts);
        // The workspace may have moved since.
        facts.output_path = output_files.log_path(thread, id).to_string_lossy().into_owned();
        ours.then_some(record)
    }
}
