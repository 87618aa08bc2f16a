//! Recorded calls as every provider takes them: names in the alphabet of names, ids that are ours. Pure.
//!
//! A record keeps what a model wrote. Another model may read it: what one provider calls `functions.shell:0` another
//! refuses, and would go on refusing for as long as the Thread has it. So ids are numbered by each request, in the
//! order of its calls: what two requests begin with is written the same way in both, and a provider's cache holds.

use std::borrow::Cow;
use std::collections::HashMap;

/// Longest name of a tool that every wire takes.
const MAX_NAME: usize = 64;

/// Ids of the calls of one conversation. Bounded by the conversation.
#[derive(Debug, Default)]
pub(crate) struct CallIds<'a> {
    newest: HashMap<&'a str, usize>,
    count: usize,
}

impl<'a> CallIds<'a> {
    /// Returns the id of the next call. A call that has the same id on record is no longer meant by it.
    pub(crate) fn begin(&mut self, recorded: &'a str) -> String {
        self.count += 1;
        self.newest.insert(recorded, self.count);
        id(self.count)
    }

    /// Returns the id of the call that a result belongs to; none for a result without a call, which no provider takes.
    pub(crate) fn of_result(&self, recorded: &str) -> Option<String> {
        self.newest.get(recorded).copied().map(id)
    }
}

/// Nine letters and digits: all that one provider takes, and all others do.
fn id(number: usize) -> String {
    format!("c{number:08}")
}

/// Returns a name as it can be sent: models also write names that no provider takes back.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    let taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && name.len() <= MAX_NAME && name.chars().all(taken) {
        return Cow::Borrowed(name);
    }
    let front = if begins { "" } else { "_" };
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
        assert_eq!(ids.begin("call_0"), "c00000001");
        assert_eq!(ids.begin("functions.shell:1"), "c00000002");
        assert_eq!(ids.of_result("call_0").unwrap(), "c00000001");
        assert_eq!(ids.begin("call_0"), "c00000003");
        assert_eq!(ids.of_result("call_0").unwrap(), "c00000003");
        assert_eq!(ids.of_result("nobody's"), None);
    }
}
