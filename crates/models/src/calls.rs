//! Recorded calls in a form that every provider accepts: allowed characters in names, ids of our own. Pure.
//!
//! The record has the names and ids that the model wrote. Another provider may refuse such an id, say
//! `functions.shell:0`, in every later request of the Thread. So each request numbers the ids in the order of its
//! calls. Two requests with the same beginning get the same text, so a provider's cache stays valid.

use std::borrow::Cow;
use std::collections::HashMap;

/// Longest tool name that every wire accepts.
const MAX_NAME: usize = 64;

/// Ids of the calls of one conversation. Bounded by the conversation.
#[derive(Debug, Default)]
pub(crate) struct CallIds<'a> {
    newest: HashMap<&'a str, usize>,
    count: usize,
}

impl<'a> CallIds<'a> {
    /// Returns the id of the next call. An earlier call with the same recorded id no longer gets results.
    pub(crate) fn next(&mut self, recorded: &'a str) -> String {
        self.count += 1;
        self.newest.insert(recorded, self.count);
        id(self.count)
    }

    /// Returns the id of the call that a result belongs to; `None` for a result without a call, which no provider
    /// accepts.
    pub(crate) fn of_result(&self, recorded: &str) -> Option<String> {
        self.newest.get(recorded).copied().map(id)
    }
}

/// Nine letters and digits: the only form that one of the providers accepts, and valid for all others.
fn id(number: usize) -> String {
    format!("c{number:08}")
}

/// Returns a name that can be sent. Models also write names that providers refuse to take back.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    let taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts_well && name.len() <= MAX_NAME && name.chars().all(taken) {
        return Cow::Borrowed(name);
    }
    let front = if starts_well { "" } else { "_" };
    let rest = name.chars().map(|c| if taken(c) { c } else { '_' });
    Cow::Owned(front.chars().chain(rest).take(MAX_NAME).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("ReadFile", "ReadFile")]
    #[case("mcp__a-b__c", "mcp__a-b__c")]
    #[case("multi_tool_use.parallel", "multi_tool_use_parallel")]
    #[case("größe lesen", "gr__e_lesen")]
    #[case("0x", "_0x")]
    #[case("", "_")]
    fn names_are_altered_only_where_they_must_be(#[case] name: &str, #[case] sent: &str) {
        assert_eq!(tool_name(name), sent);
    }

    proptest! {
        #[test]
        fn any_name_can_be_sent(name in "\\PC{0,100}") {
            let sent = tool_name(&name);
            prop_assert!((1..=64).contains(&sent.len()), "{sent:?}");
            prop_assert!(sent.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')));
            prop_assert_eq!(tool_name(&sent), &*sent);
        }
    }

    #[test]
    fn calls_are_numbered_and_results_have_the_number_of_the_newest() {
        let mut ids = CallIds::default();
        assert_eq!(ids.next("call_0"), "c00000001");
        assert_eq!(ids.next("functions.shell:1"), "c00000002");
        assert_eq!(ids.of_result("call_0").unwrap(), "c00000001");
        assert_eq!(ids.next("call_0"), "c00000003");
        assert_eq!(ids.of_result("call_0").unwrap(), "c00000003");
        assert_eq!(ids.of_result("nobody's"), None);
    }
}
