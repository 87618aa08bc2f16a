//! Ids of Threads as UUIDs, which the client needs, and back. The same in every process.

use std::collections::HashMap;

use bobbin_model::ThreadId;
use parking_lot::Mutex;
use uuid::Uuid;

/// Start of our own ids.
const PREFIX: &str = "thread_";
/// The fields between the date and the suffix: version 8, and nothing else.
const MIDDLE: &str = "0000-8000-8000";
/// Most ids of another form that a connection remembers.
const MAX_OTHERS: usize = 10_000;

/// The ids of another form that a connection was shown.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    others: Mutex<HashMap<Uuid, ThreadId>>,
}

impl Ids {
    /// Returns a Thread's UUID. One of `thread_`, a date and six letters is computed both ways; another one is a digest.
    pub(crate) fn uuid(&self, id: &ThreadId) -> String {
        if let Some(uuid) = computed(id.as_str()) {
            return uuid;
        }
        let uuid = Uuid::new_v5(&Uuid::NAMESPACE_OID, id.as_str().as_bytes());
        let mut others = self.others.lock();
        if others.len() < MAX_OTHERS {
            others.insert(uuid, id.clone());
        }
        uuid.to_string()
    }

    /// Returns the Thread of a UUID that [`Ids::uuid`] has made.
    pub(crate) fn thread(&self, uuid: &str) -> Option<ThreadId> {
        let uuid = Uuid::parse_str(uuid).ok()?;
        if let Some(id) = self.others.lock().get(&uuid) {
            return Some(id.clone());
        }
        let text = uuid.to_string();
        let (date, rest) = text.split_once('-')?;
        let suffix = rest.strip_prefix(MIDDLE)?.strip_prefix('-')?;
        let suffix: Option<String> = (0..6)
            .map(|at| {
                u8::from_str_radix(suffix.get(2 * at..2 * at + 2)?, 16)
                    .ok()
                    .map(char::from)
            })
            .collect();
        let id = ThreadId::new(format!("{PREFIX}{date}_{}", suffix?));
        // Only what is computed back to the same text is one of ours.
        (computed(id.as_str())? == text).then_some(id)
    }
}

fn computed(id: &str) -> Option<String> {
    let (date, suffix) = id.strip_prefix(PREFIX)?.split_once('_')?;
    let is_date = date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit());
    let is_suffix = suffix.len() == 6
        && suffix
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
    if !is_date || !is_suffix {
        return None;
    }
    let digits: String = suffix
        .bytes()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .concat();
    Some(format!("{date}-{MIDDLE}-{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_ids_are_computed_both_ways_and_others_are_remembered() {
        let ids = Ids::default();
        let ours = ThreadId::new("thread_20270104_q9w3k1");
        let uuid = ids.uuid(&ours);
        assert_eq!(uuid, "20270104-0000-8000-8000-713977336b31");
        assert_eq!(Ids::default().thread(&uuid), Some(ours));
        let other = ThreadId::new("thread_1");
        let uuid = ids.uuid(&other);
        assert!(Uuid::parse_str(&uuid).is_ok());
        assert_eq!(ids.thread(&uuid), Some(other));
        assert_eq!(Ids::default().thread(&uuid), None);
        for none in [
            "",
            "thread_20270104_q9w3k1",
            "20270104-0000-8000-8000-ffffffffffff",
        ] {
            assert_eq!(ids.thread(none), None, "{none}");
        }
    }
}
