//! The gate that each value of a folder's configuration passes which could loosen something.

use bobbin_agent_api::trust::{TrustItem, TrustKind};
use serde_json::Value;

use crate::fingerprint::of_setting;
use bobbin_workspace::TrustRecord;

/// Most bytes of a value that are shown; a longer one says how much is missing.
const MAX_DETAIL: usize = 4 << 10;

/// Decides whether values of one file count, and remembers those of a folder.
pub(crate) struct Gate<'a> {
    /// `None`: the user's own file.
    record: Option<&'a TrustRecord>,
    file: &'a Value,
    items: Vec<TrustItem>,
}

impl<'a> Gate<'a> {
    /// Returns the gate of the user's own file: everything counts.
    pub(crate) fn of_user(file: &'a Value) -> Self {
        Self {
            record: None,
            file,
            items: Vec::new(),
        }
    }

    /// Returns the gate of a folder's file.
    pub(crate) fn of_folder(file: &'a Value, record: &'a TrustRecord) -> Self {
        Self {
            record: Some(record),
            file,
            items: Vec::new(),
        }
    }

    /// Returns what the file says, as its user wrote it but for the case of names and words.
    pub(crate) fn file(&self) -> &'a Value {
        self.file
    }

    /// Whether it is the gate of a folder's file.
    pub(crate) fn is_of_folder(&self) -> bool {
        self.record.is_some()
    }

    /// Whether texts of the file count.
    pub(crate) fn trusts_texts(&self) -> bool {
        self.record.is_none_or(|record| record.trusted)
    }

    /// Whether the value at a dotted path, which would loosen something, counts. What the file does not say does not.
    pub(crate) fn passes(&mut self, path: &str) -> bool {
        let value = path.split('.').try_fold(self.file, |value, name| value.get(name));
        value.is_some_and(|value| self.passes_shown(path, value, value.to_string()))
    }

    /// Whether a value counts; `detail` is what the user is shown of it.
    pub(crate) fn passes_shown(
        &mut self,
        name: impl Into<String>,
        value: &Value,
        mut detail: String,
    ) -> bool {
        let Some(record) = self.record else {
            return true;
        };
        let name = name.into();
        let fingerprint = of_setting(&name, value);
        let trusted = record.has(&fingerprint);
        if detail.len() > MAX_DETAIL {
            let left_out = detail.len() - MAX_DETAIL;
            detail.truncate(detail.floor_char_boundary(MAX_DETAIL));
            detail = format!("{detail}… [{left_out} more bytes: read the file before you trust it]");
        }
        self.items.push(TrustItem {
            kind: TrustKind::Setting,
            name,
            detail,
            fingerprint: Some(fingerprint),
            trusted,
        });
        trusted
    }

    /// Returns what was asked about, in order.
    pub(crate) fn into_items(self) -> Vec<TrustItem> {
        self.items
    }
}
