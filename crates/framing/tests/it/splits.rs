//! Whatever the split of the input, the messages are the same; garbage costs nothing but itself.

use bobbin_framing::{ContentLengthDecoder, Decode, Limits, LineDecoder};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{decode, good};

fn limits() -> Limits {
    Limits {
        max_body_bytes: 200,
        max_header_line_bytes: 64,
        max_header_lines: 8,
        max_resync_bytes: 10_000,
    }
}

/// The same input, whole and cut at the given places.
fn same_in_any_split<D: Decode>(make: impl Fn() -> D, input: &[u8], cuts: &[usize]) -> Vec<String> {
    let whole = decode(make(), &[input]);
    let mut places: Vec<_> = cuts.iter().map(|cut| cut % (input.len() + 1)).collect();
    places.sort_unstable();
    let mut chunks = Vec::new();
    let mut start = 0;
    for place in places {
        chunks.push(&input[start..place]);
        start = place;
    }
    chunks.push(&input[start..]);
    let split = decode(make(), &chunks);
    let bytes: Vec<_> = input.chunks(1).collect();
    let dripped = decode(make(), &bytes);
    assert_eq!(good(&whole), good(&split));
    assert_eq!(good(&whole), good(&dripped));
    good(&whole)
}

fn message() -> impl Strategy<Value = String> {
    "[a-zäö€ \"{}]{1,40}".prop_filter("not blank", |text| !text.trim().is_empty())
}

/// Text that is no header and does not look like one.
fn garbage() -> impl Strategy<Value = String> {
    "[a-zA-Z {}\":,\r\n]{0,60}".prop_filter("no header", |text| {
        !text.to_lowercase().contains("content-length")
    })
}

fn framed(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

proptest! {
    /// Checklist 117.
    #[test]
    fn content_length_messages_survive_any_split(bodies in vec(message(), 1..8), cuts in vec(0usize..2000, 0..12)) {
        let input: String = bodies.iter().map(|body| framed(body)).collect();
        let got = same_in_any_split(|| ContentLengthDecoder::new(limits()), input.as_bytes(), &cuts);
        prop_assert_eq!(got, bodies);
    }

    /// Checklist 128.
    #[test]
    fn lines_survive_any_split(bodies in vec(message(), 1..8), cuts in vec(0usize..2000, 0..12)) {
        let input = bodies.join("\n") + "\n";
        let got = same_in_any_split(|| LineDecoder::new(limits()), input.as_bytes(), &cuts);
        let want: Vec<_> = bodies.iter().map(|body| body.trim_matches(' ').to_owned()).collect();
        prop_assert_eq!(got, want);
    }

    /// Checklist 115 and 116.
    #[test]
    fn garbage_before_a_message_never_costs_the_message(trash in garbage(), body in message(), cuts in vec(0usize..500, 0..6)) {
        // A line end in front: a word of the garbage must not become part of the header's name, and a
        // blank line would end a block that the garbage may have begun.
        let input = format!("{trash}\n{}{}", framed(&body), framed("last"));
        let got = same_in_any_split(|| ContentLengthDecoder::new(limits()), input.as_bytes(), &cuts);
        prop_assert!(got.ends_with(&["last".to_owned()]), "{got:?}");
        prop_assert!(got.contains(&body), "{got:?}");
    }

    /// Checklist 132, as far as bytes go.
    #[test]
    fn any_bytes_in_any_split_end_without_panic(input in vec(any::<u8>(), 0..600), cuts in vec(0usize..600, 0..8)) {
        same_in_any_split(|| ContentLengthDecoder::new(limits()), &input, &cuts);
        same_in_any_split(|| LineDecoder::new(limits()), &input, &cuts);
    }

    #[test]
    fn header_like_bytes_in_any_split_end_without_panic(
        parts in vec(prop_oneof![
            Just("Content-Length:"), Just("content-length"), Just(" "), Just("3"), Just("-"), Just("\r\n"),
            Just("\n"), Just("abc"), Just("{}"), Just(":"), Just("Content-Type: a;charset=x"),
        ], 0..60),
        cuts in vec(0usize..600, 0..8),
    ) {
        same_in_any_split(|| ContentLengthDecoder::new(limits()), parts.concat().as_bytes(), &cuts);
    }
}
