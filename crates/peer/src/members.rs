//! The members of an object's JSON text, one after the other, each value as raw text.
//!
//! This code reads the object's structure and the short values of an envelope; `serde_json` reads all other values
//! and unusual text. Accepts exactly what `serde_json` accepts, but reports no reason for a refusal. Pure.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The next token in an object.
pub(crate) enum Next<'a> {
    /// A member of this name; take its value before continuing.
    Member(Cow<'a, str>),
    /// The end of the object and the text.
    End,
}

/// Returns the value at the end of a path of member names; of duplicates the last counts. Needs no memory for other
/// members.
pub(crate) fn at_path<'a>(object: &'a RawValue, path: &[String]) -> Option<&'a RawValue> {
    let mut value = object;
    for name in path {
        let mut members = Members::of(value.get())?;
        let mut found = None;
        while let Next::Member(next) = members.next()? {
            let value = members.value()?;
            if next == name.as_str() {
                found = Some(value);
            }
        }
        value = found?;
    }
    Some(value)
}

/// A walk through one object. `None` from any method means that the text is not JSON.
pub(crate) struct Members<'a> {
    text: &'a str,
    at: usize,
    /// Whether a comma must come before the next member.
    behind_one: bool,
}

/// Bytes that end the run of ordinary ones in a string.
const ENDS_RUN: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < b' ' as usize {
        ends[byte] = true;
        byte += 1;
    }
    ends[b'"' as usize] = true;
    ends[b'\\' as usize] = true;
    ends
};

impl<'a> Members<'a> {
    /// Starts at the opening brace.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        let mut members = Self {
            text,
            at: 0,
            behind_one: false,
        };
        members.take(b'{')?;
        Some(members)
    }

    /// Continues after the first members, which are known.
    pub(crate) fn behind(text: &'a str, first: &str) -> Self {
        Self {
            text,
            at: first.len(),
            behind_one: true,
        }
    }

    /// Skips a comma and a member name, if the text has exactly these here.
    pub(crate) fn skip(&mut self, head: &str) -> bool {
        let bytes = self.text.as_bytes();
        let found = self.behind_one
            && bytes
                .get(self.at..)
                .is_some_and(|rest| rest.starts_with(head.as_bytes()));
        if found {
            self.at += head.len();
        }
        found
    }

    /// The name of the next member, or the end when nothing but blanks follows the object.
    pub(crate) fn next(&mut self) -> Option<Next<'a>> {
        if self.peek()? == b'}' {
            self.at += 1;
            return self.peek().is_none().then_some(Next::End);
        }
        if std::mem::replace(&mut self.behind_one, true) {
            self.take(b',')?;
        }
        self.peek().filter(|&byte| byte == b'"')?;
        let start = self.at;
        let name = if self.string()? {
            Cow::Borrowed(self.text.get(start + 1..self.at - 1)?)
        } else {
            Cow::Owned(serde_json::from_str(self.text.get(start..self.at)?).ok()?)
        };
        self.take(b':')?;
        Some(Next::Member(name))
    }

    /// The member's value, whatever it is.
    pub(crate) fn value(&mut self) -> Option<&'a RawValue> {
        self.peek()?;
        let mut rest = serde_json::Deserializer::from_str(self.text.get(self.at..)?);
        let value = <&RawValue>::deserialize(&mut rest).ok()?;
        self.at += value.get().len();
        Some(value)
    }

    /// As [`value`](Self::value), for values that are strings without escapes or plain numbers most of the time.
    pub(crate) fn short(&mut self) -> Option<&'a str> {
        let first = self.peek()?;
        let start = self.at;
        if first == b'"' {
            if self.string()? {
                return self.text.get(start..self.at);
            }
        } else if matches!(first, b'1'..=b'9') {
            let digits = self.text.as_bytes().get(start..)?.iter();
            let end = start + digits.take_while(|byte| byte.is_ascii_digit()).count();
            self.at = end;
            if matches!(self.peek()?, b',' | b'}') {
                return self.text.get(start..end);
            }
        }
        self.at = start;
        self.value().map(RawValue::get)
    }

    /// Skips the string that starts here. Returns whether it has no escapes. A string with escapes is not checked
    /// further.
    fn string(&mut self) -> Option<bool> {
        let bytes = self.text.as_bytes();
        let (mut at, mut plain) = (self.at + 1, true);
        loop {
            at += bytes
                .get(at..)?
                .iter()
                .position(|&byte| ENDS_RUN[usize::from(byte)])?;
            match bytes[at] {
                b'"' => break,
                b'\\' => {
                    plain = false;
                    at += 2;
                }
                _ => return None,
            }
        }
        self.at = at + 1;
        Some(plain)
    }

    /// Skips white space; returns the byte after it, if there is one.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if byte > b' ' || !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use proptest::prelude::*;
    use serde::de::{MapAccess, Visitor};
    use serde::{Deserialize, Deserializer};
    use serde_json::value::RawValue;

    use super::{Members, Next};

    /// The members as `serde_json` reads them.
    #[derive(Debug, PartialEq)]
    struct Received(Vec<(String, String)>);

    impl<'de> Deserialize<'de> for Received {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct All;
            impl<'de> Visitor<'de> for All {
                type Value = Received;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Received, A::Error> {
                    let mut all = Vec::new();
                    while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                        all.push((name, value.get().to_owned()));
                    }
                    Ok(Received(all))
                }
            }
            deserializer.deserialize_map(All)
        }
    }

    fn walked(text: &str) -> Option<Received> {
        let mut members = Members::of(text)?;
        let mut all = Vec::new();
        while let Next::Member(name) = members.next()? {
            // Both ways of taking a value must see the same.
            let short = all.len() % 2 == 0;
            let value = if short {
                members.short()?
            } else {
                members.value()?.get()
            };
            all.push((name.into_owned(), value.to_owned()));
        }
        Some(Received(all))
    }

    fn blank() -> impl Strategy<Value = String> {
        "[ \\t\\r\\n]{0,2}"
    }

    fn string() -> impl Strategy<Value = String> {
        r#""([a-z é{}\[\],:]|\\u00e9|\\ud800|\\["\\/n]|\\x){0,4}""#
    }

    fn value() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            string(),
            "-?(0|[1-9][0-9]{0,3})([.][0-9]{1,2})?([eE][+-]?[0-9]{1,3})?",
            "0[0-9]|[+.][0-9]|nul|tru",
            "null|true|false",
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(|all| format!("[{}]", all.join(","))),
                prop::collection::vec((string(), inner), 0..3).prop_map(|all| object(&all)),
            ]
        })
    }

    fn object(members: &[(String, String)]) -> String {
        let members: Vec<_> = members
            .iter()
            .map(|(name, value)| format!("{name}:{value}"))
            .collect();
        format!("{{{}}}", members.join(","))
    }

    fn text() -> impl Strategy<Value = String> {
        let member = (blank(), string(), blank(), blank(), value(), blank());
        let member = member.prop_map(|(a, name, b, c, value, d)| format!("{a}{name}{b}:{c}{value}{d}"));
        let members = prop::collection::vec(member, 0..4);
        (blank(), members, blank()).prop_map(|(a, members, b)| format!("{a}{{{}}}{b}", members.join(",")))
    }

    proptest! {
        #[test]
        fn objects_are_walked_as_serde_json_reads_them(text in text()) {
            prop_assert_eq!(walked(&text), serde_json::from_str(&text).ok(), "{}", text);
        }

        #[test]
        fn damaged_objects_are_told_as_serde_json_tells_them(
            text in text(),
            at in any::<prop::sample::Index>(),
            put in prop::sample::select(vec!["", "{", "}", ",", ":", "\"", "\\", "1", " ", "\u{1}", "\u{c}"]),
        ) {
            let mut all: Vec<char> = text.chars().collect();
            let at = at.index(all.len());
            all.splice(at..=at, put.chars());
            let text: String = all.into_iter().collect();
            prop_assert_eq!(walked(&text), serde_json::from_str(&text).ok(), "{}", text);
        }
    }
}
