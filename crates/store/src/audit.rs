//! The audit of a workspace: who did what, in one chain of hashes.
//!
//! An entry is stored as the text that its hash is made of, so that any later change of a row shows.

use bobbin_model::{ApprovalKind, Decision, Person, ThreadId, TurnId, UnixMillis};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// An entry: one deed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// When it was recorded.
    pub at: UnixMillis,
    /// The person who did it; absent for the owner of the server, and for what the server did by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Person>,
    /// The name of the client, as the client says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The Thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The Turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The deed.
    pub deed: Deed,
}

/// A deed. No text of a conversation is in it but what was approved and the command that a user typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Deed {
    /// A Turn started.
    TurnStarted {
        /// The channel that it came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
        /// The command that a user typed, which the Turn runs in the place of a model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
    },
    /// A request for an approval was settled.
    Answered {
        /// The answer.
        decision: Decision,
        /// The cause, if no client has answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
        /// The kind of the operation.
        kind: ApprovalKind,
        /// The operation, if it was approved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operation: Option<String>,
        /// The directory or file of the operation, if it was approved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// The rule that the answer makes: for the Thread, or for ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
    },
    /// A client asked for something that takes the right to approve or to own. Recorded before its handler gets it.
    Requested {
        /// The method.
        method: String,
    },
    /// The older entries were removed.
    Cut {
        /// The number of the last one that was removed.
        up_to: u64,
        /// Its hash, on which the oldest entry that is left builds.
        hash: String,
    },
}

/// The cause of an answer that no client has given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// The answer to another request covered this one.
    SameScope,
    /// The Turn was stopped.
    Interrupt,
    /// Nobody answered in time.
    Timeout,
    /// Nobody could be asked.
    Policy,
    /// The call ended.
    CallEnded,
}

/// A stored entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number, from 1 without gaps.
    pub seq: u64,
    /// The entry as JSON.
    pub entry: String,
    /// The hash of the row before, the number and the entry.
    pub hash: String,
}

/// The newest row of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditHead {
    /// Its number; 0 if there is none.
    pub seq: u64,
    /// Its hash; empty if there is none.
    pub hash: String,
}

impl AuditHead {
    /// Returns the row of the next entry, and is its head from then on.
    ///
    /// # Errors
    /// The entry cannot be written as JSON.
    pub fn next(&mut self, entry: &AuditEntry) -> Result<AuditRow, serde_json::Error> {
        let entry = serde_json::to_string(entry)?;
        let seq = self.seq + 1;
        let hash = hash(&self.hash, seq, &entry);
        *self = Self {
            seq,
            hash: hash.clone(),
        };
        Ok(AuditRow { seq, entry, hash })
    }
}

fn hash(before: &str, seq: u64, entry: &str) -> String {
    hex::encode(Sha256::digest(format!("{before}\n{seq}\n{entry}")))
}

/// Why the rows of an audit are not a whole chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A row is missing, or was put in.
    #[error("entry {0} is missing")]
    Missing(u64),
    /// A row was changed, or one before it.
    #[error("entry {0} or the one before it was changed")]
    Changed(u64),
    /// The oldest rows are missing, and no entry says that they were removed.
    #[error("the entries before {0} are missing, and no entry says that they were removed")]
    NotCut(u64),
}

/// Checks rows one by one, oldest first.
#[derive(Debug, Default)]
pub struct AuditCheck {
    head: AuditHead,
    /// The oldest row that is left, until an entry is found that names the one before it as removed.
    uncut: Option<AuditRow>,
}

impl AuditCheck {
    /// Takes the next row.
    ///
    /// # Errors
    /// It does not follow the one before.
    pub fn take(&mut self, row: &AuditRow) -> Result<(), Broken> {
        let expected = self.head.seq + 1;
        if self.head.seq == 0 && row.seq > 1 {
            self.uncut = Some(row.clone());
        } else if row.seq != expected {
            return Err(Broken::Missing(expected));
        } else if row.hash != hash(&self.head.hash, row.seq, &row.entry) {
            return Err(Broken::Changed(row.seq));
        }
        self.head = AuditHead {
            seq: row.seq,
            hash: row.hash.clone(),
        };
        let Some(AuditEntry {
            deed: Deed::Cut { up_to, hash: before },
            ..
        }) = decoded(row)
        else {
            return Ok(());
        };
        match self.uncut.take_if(|first| first.seq == up_to + 1) {
            Some(first) if first.hash != hash(&before, first.seq, &first.entry) => {
                Err(Broken::Changed(first.seq))
            }
            _ => Ok(()),
        }
    }

    /// Ends the check. Returns the newest row, whose hash stands for all of them.
    ///
    /// # Errors
    /// The oldest rows are missing.
    pub fn finish(self) -> Result<AuditHead, Broken> {
        match self.uncut {
            Some(first) => Err(Broken::NotCut(first.seq)),
            None => Ok(self.head),
        }
    }
}

/// Returns an entry as it was stored; `None` for one of a later version.
pub fn decoded(row: &AuditRow) -> Option<AuditEntry> {
    serde_json::from_str(&row.entry).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(deed: Deed) -> AuditEntry {
        AuditEntry {
            at: UnixMillis(1),
            actor: None,
            client: None,
            thread: None,
            turn: None,
            deed,
        }
    }

    fn requested(method: &str) -> AuditEntry {
        let method = method.to_owned();
        entry(Deed::Requested { method })
    }

    fn check(rows: &[AuditRow]) -> Result<AuditHead, Broken> {
        let mut check = AuditCheck::default();
        for row in rows {
            check.take(row)?;
        }
        check.finish()
    }

    #[test]
    fn a_row_that_is_changed_removed_or_put_in_shows() {
        let mut head = AuditHead::default();
        assert_eq!(check(&[]), Ok(head.clone()));
        let mut rows: Vec<_> = ["a", "b", "c"]
            .map(|method| head.next(&requested(method)).unwrap())
            .to_vec();
        assert_eq!(check(&rows), Ok(head.clone()));
        assert_eq!(decoded(&rows[1]), Some(requested("b")));
        for index in 0..3 {
            let mut changed = rows.clone();
            changed[index].entry = changed[index].entry.replace("method", "other");
            assert_eq!(check(&changed), Err(Broken::Changed(index as u64 + 1)));
        }
        let mut gap = rows.clone();
        gap.remove(1);
        assert_eq!(check(&gap), Err(Broken::Missing(2)));
        assert_eq!(check(&rows[1..]), Err(Broken::NotCut(2)));
        let cut = entry(Deed::Cut {
            up_to: 2,
            hash: rows[1].hash.clone(),
        });
        rows.push(head.next(&cut).unwrap());
        assert_eq!(check(&rows), Ok(head.clone()));
        assert_eq!(check(&rows[2..]), Ok(head.clone()));
        assert_eq!(check(&rows[1..]), Err(Broken::NotCut(2)));
        let mut forged = rows[2..].to_vec();
        forged[0].entry = forged[0].entry.replace("method", "other");
        assert_eq!(check(&forged), Err(Broken::Changed(3)));
    }
}
