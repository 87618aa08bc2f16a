//! One configuration file while the features read their sections: which of its values count, and what it reports.

use std::path::Path;

use bobbin_agent_api::trust::{TrustItem, TrustKind};
use bobbin_model::ServerOrigin;
use bobbin_workspace::TrustRecord;
use serde_json::Value;

use crate::{Declared, of_setting};

/// Most bytes of a value that are shown. The user sees how many bytes are left out.
const MAX_DETAIL: usize = 4 << 10;

/// A configuration file. All of the user's own counts; of a workspace's, what the user trusts.
#[derive(Debug)]
pub struct Source<'a> {
    /// The file.
    pub path: &'a Path,
    /// The home or the workspace that it belongs to.
    pub root: &'a Path,
    /// The user's home.
    pub home: Option<&'a Path>,
    /// The owner of the file. It is the workspace for the user's own file, too, where the workspace is the home.
    pub origin: ServerOrigin,
    /// Mistakes in the file that stop nothing, and members that are not used.
    pub warnings: Vec<String>,
    /// `None`: the user's own file.
    record: Option<&'a TrustRecord>,
    value: &'a Value,
    items: Vec<TrustItem>,
}

impl<'a> Source<'a> {
    /// Returns the user's own file with the content `value`, or settings that count as if they were in it.
    pub fn of_user(path: &'a Path, root: &'a Path, value: &'a Value) -> Self {
        Self {
            path,
            root,
            home: Some(root),
            origin: ServerOrigin::User,
            warnings: Vec::new(),
            record: None,
            value,
            items: Vec::new(),
        }
    }

    /// Returns the file of the workspace `root` with the content `value`.
    pub fn of_folder(
        path: &'a Path,
        root: &'a Path,
        home: Option<&'a Path>,
        value: &'a Value,
        record: &'a TrustRecord,
    ) -> Self {
        Self {
            home,
            origin: ServerOrigin::Workspace,
            record: Some(record),
            ..Self::of_user(path, root, value)
        }
    }

    /// Returns the content of the file, with the schema's spelling of names and words.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// Whether this is a workspace's file, which another author may have written.
    pub fn is_of_folder(&self) -> bool {
        self.record.is_some()
    }

    /// Returns the user's decisions about the workspace; `None` for the user's own file.
    pub fn record(&self) -> Option<&'a TrustRecord> {
        self.record
    }

    /// Whether texts of the file reach users and the model.
    pub fn trusts_texts(&self) -> bool {
        self.record.is_none_or(|record| record.trusted)
    }

    /// Whether the value at a dotted path counts although it loosens something. `false` if the file has no such
    /// value.
    pub fn passes(&mut self, path: &str) -> bool {
        let value = path
            .split('.')
            .try_fold(self.value, |value, name| value.get(name));
        value.is_some_and(|value| self.passes_shown(path, value, value.to_string()))
    }

    /// Whether a value counts. The user is shown `detail` of it.
    pub fn passes_shown(&mut self, name: impl Into<String>, value: &Value, detail: String) -> bool {
        let Some(record) = self.record else {
            return true;
        };
        let name = name.into();
        let fingerprint = of_setting(&name, value);
        let trusted = record.has(&fingerprint);
        self.add_item(Some(TrustItem {
            kind: TrustKind::Setting,
            name,
            detail,
            fingerprint: Some(fingerprint),
            trusted,
        }));
        trusted
    }

    /// Sets a value if the file has one and it counts: if it is `strict`, which no trust is needed for, or if the user
    /// trusts it.
    pub fn set<T>(
        &mut self,
        known: &mut T,
        said: Option<T>,
        path: &str,
        strict: impl FnOnce(&T, &T) -> bool,
    ) {
        if let Some(said) = said
            && (strict(known, &said) || self.passes(path))
        {
            *known = said;
        }
    }

    /// Sets a bound. A narrower one needs no trust.
    pub fn narrow<T: Ord>(&mut self, known: &mut Option<T>, said: Option<T>, path: &str) {
        self.set(known, said.map(Some), path, |known, said| {
            known.is_none() || said <= known
        });
    }

    /// Returns an entry of the file. Blocks on the disk where `fingerprint` does.
    pub fn declared<T>(&self, config: T, fingerprint: impl FnOnce(&T, &Path) -> String) -> Declared<T> {
        match self.record {
            Some(record) => {
                let fingerprint = fingerprint(&config, self.root);
                Declared::of_folder(config, fingerprint, record)
            }
            None => Declared::own(config, self.origin),
        }
    }

    /// Adds an item that needs trust.
    pub fn add_item(&mut self, item: Option<TrustItem>) {
        self.items.extend(item.map(|mut item| {
            let detail = &mut item.detail;
            if detail.len() > MAX_DETAIL {
                let left_out = detail.len() - MAX_DETAIL;
                detail.truncate(detail.floor_char_boundary(MAX_DETAIL));
                *detail = format!("{detail}… [{left_out} more bytes: read the file before you trust it]");
            }
            item
        }));
    }

    /// Returns the items that need trust, in order, and the warnings.
    pub fn into_parts(self) -> (Vec<TrustItem>, Vec<String>) {
        (self.items, self.warnings)
    }
}
