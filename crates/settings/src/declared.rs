//! An entry of a configuration file that runs something or instructs a model.

use bobbin_agent_api::trust::{TrustItem, TrustKind};
use bobbin_model::ServerOrigin;
use bobbin_workspace::TrustRecord;

/// An entry, the owner of its file, and whether the user trusts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared<T> {
    /// The entry.
    pub config: T,
    /// The owner of its file.
    pub origin: ServerOrigin,
    /// The fingerprint of its content; `None` in a file that only the user writes.
    pub fingerprint: Option<String>,
    /// Whether it counts.
    pub trusted: bool,
}

impl<T> Declared<T> {
    /// Returns an entry of the user's own file.
    pub fn own(config: T, origin: ServerOrigin) -> Self {
        Self {
            config,
            origin,
            fingerprint: None,
            trusted: true,
        }
    }

    /// Returns an entry of a folder's file.
    pub fn of_folder(config: T, fingerprint: String, record: &TrustRecord) -> Self {
        Self {
            config,
            origin: ServerOrigin::Workspace,
            trusted: record.has(&fingerprint),
            fingerprint: Some(fingerprint),
        }
    }

    /// Whether `now`, the present fingerprint, is the one that the user trusts.
    pub fn is_unchanged(&self, now: impl FnOnce(&T) -> String) -> bool {
        let own = self.fingerprint.as_ref();
        own.is_none_or(|own| *own == now(&self.config))
    }

    /// Whether clients may not change it. They write the workspace's file only.
    pub fn is_read_only(&self) -> bool {
        self.origin == ServerOrigin::User
    }

    /// Returns its trust item; `None` for an entry of the user's own file.
    pub fn item(&self, kind: TrustKind, name: String, detail: String) -> Option<TrustItem> {
        Some(TrustItem {
            kind,
            name,
            detail,
            fingerprint: Some(self.fingerprint.clone()?),
            trusted: self.trusted,
        })
    }
}
