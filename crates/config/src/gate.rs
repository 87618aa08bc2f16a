//! The gate for values of a folder's configuration that could loosen something.

use bobbin_agent_api::trust::{TrustItem, TrustKind};
use serde_json::Value;

use crate::fingerprint::of_setting;
use bobbin_workspace::TrustRecord;

/// Most bytes of a value that are shown. The user sees how many bytes are left out.
const MAX_DETAIL: usize = 4 << 10;

/// Decides whether values of one file count, and records those of a folder.
pub(crate) struct Gate<'a> {
    /// `None`: the user's own file.
    record: Option<&'a TrustRecord>,
    file: &'a Value,
    items: Vec<TrustItem>,
}

impl<'a> Gate<'a> {
    /// Returns the gate of the user's own file, of which everything counts.
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

    /// Returns the content of the file, with the schema's spelling of names and words.
    pub(crate) fn file(&self) -> &'a Value {
        self.file
    }

    /// Whether this is the gate of a folder's file.
    pub(crate) fn is_of_folder(&self) -> bool {
        self.record.is_some()
    }

    /// Whether texts of the file reach users and the model.
    pub(crate) fn trusts_texts(&self) -> bool {
        self.record.is_none_or(|record| record.trusted)
    }

    /// Whether the value at a dotted path counts although it loosens something. `false` if the file has no such
    /// value.
    pub(crate) fn passes(&mut self, path: &str) -> bool {
        let value = path.split('.').try_fold(self.file, |value, name| value.get(name));
        value.is_some_and(|value| self.passes_shown(path, value, value.to_string()))
    }

    /// Whether a value counts. The user is shown `detail` of it.
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

    /// Returns the items that the gate was asked about, in order.
    pub(crate) fn into_items(self) -> Vec<TrustItem> {
        self.items
    }
}
