//! The contract for new ids. No other code of the core uses randomness.

use std::sync::atomic::{AtomicI64, Ordering};

use bobbin_model::{ApprovalId, QueuedInputId, ThreadId, UnixMillis};
use jiff::{Timestamp, tz::TimeZone};

/// Makes new ids.
pub trait Ids: Send + Sync + 'static {
    /// Returns `thread_` + UTC date + six characters (AppServer protocol 02 §1), never the same id twice.
    fn thread(&self, now: UnixMillis) -> ThreadId;
    /// Returns `queued_` + UTC time to the millisecond + six random characters.
    fn queued_input(&self, now: UnixMillis) -> QueuedInputId;
    /// Returns twelve hexadecimal digits.
    fn approval(&self) -> ApprovalId;
}

/// Makes the ids of a workspace, which has one process.
///
/// Six random characters would not be enough for a Thread: of workspaces with fifty thousand Threads a day, every second one
/// would get the same id twice. So these characters count slots, twenty-five for each millisecond, and never go back. They
/// are shuffled so that ids in sequence do not look alike. The next process continues with later slots, as its clock is
/// later. No id is a secret. Other ids are random, from the operating system's generator.
#[derive(Debug, Default)]
pub struct RandomIds {
    /// The last slot used, counted since 1970.
    last: AtomicI64,
}

/// Number of values of six characters of `[a-z0-9]`.
const SUFFIXES: i64 = 36 * 36 * 36 * 36 * 36 * 36;
const DAY_MILLIS: i64 = 24 * 3600 * 1000;
/// Slots of a millisecond: the most that give each slot of a day a different suffix.
const SLOTS_PER_MILLI: i64 = SUFFIXES / DAY_MILLIS;
/// Shuffles suffixes: about the golden section of their number, without a common divisor with it.
const SHUFFLE: i64 = 1_345_325_471;

impl RandomIds {
    /// Returns a slot that was never used.
    fn slot(&self, now: UnixMillis) -> i64 {
        let wanted = now.0.saturating_mul(SLOTS_PER_MILLI);
        let next = |last: i64| wanted.max(last.saturating_add(1));
        let before = self
            .last
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
        next(before.unwrap_or_else(|last| last))
    }
}

impl Ids for RandomIds {
    fn thread(&self, now: UnixMillis) -> ThreadId {
        let slot = self.slot(now);
        // The date of the slot, not of `now`: the day's suffixes start again with the first slot after midnight.
        let date = stamp(UnixMillis(slot.div_euclid(SLOTS_PER_MILLI)), "%Y%m%d");
        let of_the_day = slot.rem_euclid(DAY_MILLIS * SLOTS_PER_MILLI);
        let shuffled = of_the_day * SHUFFLE % SUFFIXES;
        let suffix: String = (0..6)
            .scan(shuffled, |rest, _| {
                let digit = usize::try_from(*rest % 36).ok()?;
                *rest /= 36;
                ALPHABET.get(digit).copied().map(char::from)
            })
            .collect();
        ThreadId::new(format!("thread_{date}_{suffix}"))
    }

    fn queued_input(&self, now: UnixMillis) -> QueuedInputId {
        QueuedInputId::new(format!("queued_{}_{}", stamp(now, "%Y%m%d%H%M%S%3f"), suffix()))
    }

    fn approval(&self) -> ApprovalId {
        let bytes = uuid::Uuid::new_v4().into_bytes();
        ApprovalId::new(hex::encode(&bytes[..6]))
    }
}

fn stamp(now: UnixMillis, format: &str) -> String {
    Timestamp::from_millisecond(now.0)
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_zoned(TimeZone::UTC)
        .strftime(format)
        .to_string()
}

const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Returns six characters of `[a-z0-9]`: about two thousand million values for each time.
fn suffix() -> String {
    let bytes = uuid::Uuid::new_v4().into_bytes();
    // Two random bytes for each character limit the bias of the remainder to 0.1 %.
    [0, 2, 4, 9, 11, 13]
        .map(|i| char::from(ALPHABET[usize::from(u16::from_be_bytes([bytes[i], bytes[i + 1]])) % 36]))
        .iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_forms_of_the_protocol() {
        let now = UnixMillis(1_798_971_300_123);
        let ids = RandomIds::default();
        let thread = ids.thread(now).to_string();
        assert!(
            thread.starts_with("thread_20270103_") && thread.len() == 22,
            "{thread}"
        );
        let queued = ids.queued_input(now).to_string();
        assert!(
            queued.starts_with("queued_20270103") && queued.len() == 31,
            "{queued}"
        );
        let approval = ids.approval().to_string();
        assert!(
            approval.len() == 12 && approval.bytes().all(|b| b.is_ascii_hexdigit()),
            "{approval}"
        );
    }
    #[test]
    fn no_thread_is_named_twice_whatever_the_clock_does() {
        let start = 1_798_971_300_123;
        let ids = RandomIds::default();
        let standing = std::iter::repeat_n(start, 20_000);
        let going = (0..20_000).map(|step| start + step * 86);
        let back = (0..20_000).map(|step| start - step);
        let overnight = (0..20_000).map(|step| start + DAY_MILLIS / 2 + step * 2000);
        let mut seen = std::collections::HashSet::new();
        for now in standing.chain(going).chain(back).chain(overnight) {
            let id = ids.thread(UnixMillis(now));
            assert!(seen.insert(id.clone()), "{id} twice");
        }
    }

    #[test]
    fn the_next_process_names_other_threads() {
        let now = 1_798_971_300_123;
        let before = RandomIds::default();
        // Even a fast disk stores far fewer than twenty-five Threads in a millisecond.
        let old: Vec<_> = (0..10_000)
            .map(|n| before.thread(UnixMillis(now + n / 20)))
            .collect();
        let after = RandomIds::default();
        assert!((0..10_000).all(|n| !old.contains(&after.thread(UnixMillis(now + 501 + n)))));
    }

    #[test]
    fn neighbours_do_not_look_alike() {
        let ids = RandomIds::default();
        let [one, two] = [(); 2].map(|()| ids.thread(UnixMillis(1_798_971_300_123)).to_string());
        let same = one
            .bytes()
            .zip(two.bytes())
            .skip(16)
            .filter(|(a, b)| a == b)
            .count();
        assert!(same < 4, "{one} {two}");
    }
}
