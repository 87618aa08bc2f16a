//! The seams for time and chance: nothing else in the core asks the machine for either.

use std::fmt::Write as _;

use bobbin_model::{ApprovalId, QueuedInputId, ThreadId, UnixMillis};
use jiff::{Timestamp, tz::TimeZone};

/// Tells the wall-clock time.
pub trait Clock: Send + Sync + 'static {
    /// Returns now.
    fn now(&self) -> UnixMillis;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixMillis {
        UnixMillis(Timestamp::now().as_millisecond())
    }
}

/// Makes fresh ids.
pub trait Ids: Send + Sync + 'static {
    /// Returns `thread_` + UTC date + six random characters (AppServer protocol 02 §1).
    fn thread(&self, now: UnixMillis) -> ThreadId;
    /// Returns `queued_` + UTC time to the millisecond + six random characters.
    fn queued_input(&self, now: UnixMillis) -> QueuedInputId;
    /// Returns twelve hexadecimal digits.
    fn approval(&self) -> ApprovalId;
}

/// Random ids from the operating system's generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn thread(&self, now: UnixMillis) -> ThreadId {
        ThreadId::new(format!("thread_{}_{}", stamp(now, "%Y%m%d"), suffix()))
    }

    fn queued_input(&self, now: UnixMillis) -> QueuedInputId {
        QueuedInputId::new(format!("queued_{}_{}", stamp(now, "%Y%m%d%H%M%S%3f"), suffix()))
    }

    fn approval(&self) -> ApprovalId {
        let bytes = uuid::Uuid::new_v4().into_bytes();
        let mut text = String::with_capacity(12);
        for byte in &bytes[..6] {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        ApprovalId::new(text)
    }
}

fn stamp(now: UnixMillis, format: &str) -> String {
    Timestamp::from_millisecond(now.0)
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_zoned(TimeZone::UTC)
        .strftime(format)
        .to_string()
}

/// Six of `[a-z0-9]`: about two thousand million values beside the date.
fn suffix() -> String {
    const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let bytes = uuid::Uuid::new_v4().into_bytes();
    // Two random bytes a character keep the bias of the remainder under 0.1 %.
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
        let thread = RandomIds.thread(now).to_string();
        assert!(
            thread.starts_with("thread_20270103_") && thread.len() == 22,
            "{thread}"
        );
        let queued = RandomIds.queued_input(now).to_string();
        assert!(
            queued.starts_with("queued_20270103") && queued.len() == 31,
            "{queued}"
        );
        let approval = RandomIds.approval().to_string();
        assert!(
            approval.len() == 12 && approval.bytes().all(|b| b.is_ascii_hexdigit()),
            "{approval}"
        );
    }
}
