//! What holds for every message: no byte is lost, an edit stays in its place, undo takes back exactly.

use bobbin_hl7::{Document, Format, Limits, Message, Patch, Path, Shape, Value};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::document;

/// Separators in the headers of the messages: usual, own, without escape and subcomponents, with truncation.
const HEADERS: [&str; 5] = ["MSH|^~\\&", "MSH*:!%$", "MSH|^", "MSH|^~", "MSH|^~\\&#"];

/// Pieces of a field: all separators of all headers, sequences, what formats treat in their own way.
const PIECES: [&str; 39] = [
    "|",
    "^",
    "~",
    "\\",
    "&",
    "#",
    "*",
    ":",
    "!",
    "%",
    "$",
    "\\F\\",
    "\\S\\",
    "\\T\\",
    "\\R\\",
    "\\E\\",
    "\\H\\",
    "\\X0D\\",
    "\\X41\\",
    "\\.br\\",
    "\\Zx\\",
    "%F%",
    "a",
    "B2",
    " ",
    "007",
    "null",
    "\"",
    "'",
    "\u{fc}",
    "\u{85}",
    "\u{1F600}",
    "\t",
    "\u{b}",
    "{",
    "[",
    "-",
    "=",
    "\u{2028}",
];

fn line() -> impl Strategy<Value = String> {
    let name = select(vec!["PID", "OBX", "OBR", "NK1", "ZZ1", "MSH", "pid", "", "junk"]);
    let body = proptest::collection::vec(select(&PIECES[..]), 0..12).prop_map(|pieces| pieces.concat());
    let end = select(vec!["\r", "\n", "\r\n", "\r\r", "\n\r\n"]);
    (name, select(vec!["|", "*", ""]), body, end)
        .prop_map(|(name, first, body, end)| format!("{name}{first}{body}{end}"))
}

fn text() -> impl Strategy<Value = String> {
    let lines = proptest::collection::vec(line(), 0..6);
    (select(&HEADERS[..]), line(), lines, any::<bool>()).prop_map(|(header, first, lines, ended)| {
        // The rest of the header is fields, so it begins with the separator.
        let fields = first.trim_start_matches(|c: char| c.is_alphanumeric() || "|*".contains(c));
        let text = format!("{header}{}{}{}", &header[3..4], fields, lines.concat());
        if ended { text } else { text.trim_end().to_owned() }
    })
}

fn path() -> impl Strategy<Value = String> {
    let part = |from: &'static str| {
        (any::<bool>(), 1..5_u16).prop_map(move |(some, n)| {
            if some {
                from.replace('n', &n.to_string())
            } else {
                String::new()
            }
        })
    };
    let name = select(vec!["PID", "OBX", "NK1", "ZZ1", "MSH"]);
    (name, part("[n]"), 1..9_u16, part("[n]"), part(".n"), part(".n")).prop_map(
        |(name, occurrence, field, repetition, component, sub)| {
            let sub = if component.is_empty() { String::new() } else { sub };
            format!("{name}{occurrence}.{field}{repetition}{component}{sub}")
        },
    )
}

fn value() -> impl Strategy<Value = String> {
    proptest::collection::vec(select(&PIECES[..]), 1..5).prop_map(|pieces| pieces.concat())
}

fn patch() -> impl Strategy<Value = Patch> {
    (path(), value(), 0..6_u8).prop_map(|(path, value, kind)| match kind {
        0 => Patch::remove(path.split('.').next().unwrap_or_default()),
        1 => Patch::create(path.split('.').next().unwrap_or_default()),
        2 => Patch {
            create: true,
            ..Patch::set(path, value)
        },
        _ => Patch::set(path, value),
    })
}

proptest! {
    #[test]
    fn behaviour_34_any_bytes_come_back_as_they_were(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for file in [bytes.clone(), [&b"MSH|^~\\&||||||||||||||||8859/5|"[..], &bytes].concat(), [&b"\xff\xfeM\0S\0"[..], &bytes].concat()] {
            let document = Document::open(&file, Limits::default()).unwrap();
            prop_assert_eq!(document.to_bytes().unwrap(), file);
        }
    }

    #[test]
    fn behaviour_34_any_message_comes_back_as_it_was(text in text()) {
        if let Ok(message) = Message::parse(&text) {
            prop_assert_eq!(message.to_string(), text);
        }
    }

    #[test]
    fn behaviour_34_reading_and_writing_a_structured_format_changes_nothing(text in text()) {
        let mut document = document(&text);
        for format in [Format::Json, Format::Yaml, Format::Toml] {
            for shape in [Shape::Segments, Shape::Keyed] {
                let Ok(structured) = document.get(format, shape) else { continue };
                let changed = document.set(&structured, format);
                prop_assert_eq!(changed, Ok(false), "{}", structured);
                prop_assert_eq!(document.text(), &text);
            }
        }
    }

    /// The value is there afterwards, and every other place reads as before.
    #[test]
    fn behaviour_37_a_patch_changes_only_the_place_it_addresses(text in text(), path in path(), value in value()) {
        let mut document = document(&text);
        let Ok(before) = document.message() else { return Ok(()) };
        let report = document.patch(&[Patch::set(&path, &value)]).unwrap();
        let after = document.message().unwrap();
        if !report.success {
            prop_assert_eq!(document.text(), &text);
            return Ok(());
        }
        let parsed: Path = path.parse().unwrap();
        prop_assert_eq!(after.get(&parsed), Some(Value::from(&*value)), "{} in {:?}", path, document.text());
        // The other segments have the same bytes.
        let nth = before.segments().iter().enumerate()
            .filter(|(_, s)| s.name(before.separators()).eq_ignore_ascii_case(parsed.segment.as_str()))
            .nth(usize::from(parsed.occurrence) - 1).map(|(at, _)| at).unwrap();
        prop_assert_eq!(before.segments().len(), after.segments().len());
        for (at, (one, other)) in before.segments().iter().zip(after.segments()).enumerate() {
            prop_assert!(at == nth || one == other);
            prop_assert_eq!(one.end(), other.end());
        }
        // In the segment, what is before and after the place is the same, but for separators up to a new place.
        let (old, new) = (before.segments()[nth].body(), after.segments()[nth].body());
        let raw = after.raw(&parsed).unwrap();
        let start = raw.as_ptr() as usize - new.as_ptr() as usize;
        let tail = &new[start + raw.len()..];
        prop_assert!(old.ends_with(tail));
        if let Some(former) = before.raw(&parsed) {
            prop_assert_eq!(format!("{}{}{}", &new[..start], former, tail), old);
        } else {
            let front = &old[..old.len() - tail.len()];
            let added = new[..start].strip_prefix(front).unwrap();
            let marks = format!("{}{}", before.separators().field(), before.separators().encoding_characters());
            prop_assert!(added.chars().all(|c| marks.contains(c)), "{added:?}");
        }
    }

    /// A segment that structured data changes keeps the bytes of the fields that it does not change.
    #[test]
    fn behaviour_37_structured_data_changes_only_what_it_says(text in text(), value in value()) {
        let mut document = document(&text);
        let Ok(before) = document.message() else { return Ok(()) };
        let json = document.get(Format::Json, Shape::Segments).unwrap();
        let mut data: serde_json::Value = serde_json::from_str(&json).unwrap();
        let segments = data["segments"].as_array_mut().unwrap();
        let last = segments.len() - 1;
        segments[last]["fields"]["4"] = value.clone().into();
        if document.set(&data.to_string(), Format::Json).is_err() {
            prop_assert_eq!(document.text(), &text);
            return Ok(());
        }
        let after = document.message().unwrap();
        prop_assert_eq!(&before.segments()[..last], &after.segments()[..last]);
        let mark = before.separators().field();
        let fields = |m: &Message| -> Vec<String> {
            m.segments()[last].body().split(mark).map(str::to_owned).collect()
        };
        let (old, new) = (fields(&before), fields(&after));
        let changed = if old[0] == "MSH" { 3 } else { 4 };
        for n in (0..old.len().max(new.len())).filter(|n| *n != changed) {
            let empty = String::new();
            prop_assert_eq!(old.get(n).unwrap_or(&empty), new.get(n).unwrap_or(&empty));
        }
    }

    #[test]
    fn undo_takes_back_exactly_what_was_done(text in text(), calls in proptest::collection::vec(proptest::collection::vec(patch(), 1..4), 1..5)) {
        let mut document = document(&text);
        prop_assume!(document.message().is_ok());
        let mut states = vec![text];
        for patches in calls {
            let version = document.version();
            document.patch(&patches).unwrap();
            let changed = document.text() != states.last().unwrap();
            prop_assert_eq!(document.version(), version + u64::from(changed));
            if changed {
                states.push(document.text().to_owned());
            }
            prop_assert_eq!(document.message().unwrap().to_string(), document.text());
        }
        for state in states.iter().rev().skip(1) {
            prop_assert!(document.undo());
            prop_assert_eq!(document.text(), state);
        }
        prop_assert!(!document.undo() && !document.is_dirty());
        for state in &states[1..] {
            prop_assert!(document.redo());
            prop_assert_eq!(document.text(), state);
        }
        prop_assert!(!document.redo());
    }

    #[test]
    fn no_text_of_any_format_is_too_strange_to_be_refused(text in "\\PC{0,80}", format in select(vec![Format::Hl7, Format::Json, Format::Yaml, Format::Toml])) {
        let mut document = document("MSH|^~\\&|A\rPID|1");
        if document.set(&text, format).is_err() {
            prop_assert_eq!(document.text(), "MSH|^~\\&|A\rPID|1");
        }
    }

    #[test]
    fn a_path_is_written_as_it_is_read(path in path()) {
        let parsed: Path = path.parse().unwrap();
        prop_assert_eq!(parsed.to_string().parse::<Path>(), Ok(parsed));
        prop_assert_eq!(parsed.to_string(), path.replacen("[1].", ".", usize::from(path.find("[1].") == Some(3))));
    }
}
