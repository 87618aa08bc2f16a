//! Lines.

use bobbin_framing::{Encode, Limits, LineDecoder, LineEncoder};
use bytes::BytesMut;

use crate::support::{decode, errors, good};

fn lines(limit: usize, input: &[u8]) -> (Vec<String>, Vec<String>) {
    let items = decode(
        LineDecoder::new(Limits::default().with_max_body_bytes(limit)),
        &[input],
    );
    (good(&items), errors(&items))
}

/// Checklist 128.
#[test]
fn both_line_ends_count_and_blank_lines_do_not() {
    let (good, errors) = lines(100, b"{\"a\":1}\r\n\n   \r\n{\"b\":2}\n\r\n");
    assert_eq!(good, [r#"{"a":1}"#, r#"{"b":2}"#]);
    assert!(errors.is_empty());
}

/// Checklist 128.
#[test]
fn a_last_line_without_end_is_delivered() {
    assert_eq!(lines(100, b"1\n2").0, ["1", "2"]);
    assert_eq!(lines(100, b"1\n  ").0, ["1"]);
}

/// Checklist 128.
#[test]
fn an_over_long_line_is_one_error_and_the_next_line_is_served() {
    let mut input = vec![b'x'; 1000];
    input.extend_from_slice(b"\n{}\n");
    let (good, errors) = lines(10, &input);
    assert_eq!(good, ["{}"]);
    assert_eq!(errors.len(), 1);
}

#[test]
fn an_over_long_line_is_not_buffered() {
    let mut decoder = LineDecoder::new(Limits::default().with_max_body_bytes(10));
    let mut buf = BytesMut::new();
    for _ in 0..1000 {
        buf.extend_from_slice(&[b'x'; 100]);
        assert!(bobbin_framing::Decode::decode(&mut decoder, &mut buf).is_none());
        assert!(buf.len() <= 111);
    }
}

#[test]
fn an_over_long_last_line_is_reported() {
    let (good, errors) = lines(3, b"12345");
    assert!(good.is_empty());
    assert_eq!(errors.len(), 1);
}

#[test]
fn a_line_of_exactly_the_limit_passes_with_either_end() {
    assert_eq!(lines(5, b"12345\n12345\r\n").0, ["12345", "12345"]);
    assert_eq!(lines(5, b"123456\n").1.len(), 1);
}

/// Found by fuzzing: in one piece the blanks were cut off first, in several the line was too long.
#[test]
fn blanks_count_as_part_of_a_line() {
    let (good, errors) = lines(5, b"     1\n2\n   3 \r\n");
    assert_eq!((good, errors.len()), (vec!["2".to_owned(), "3".to_owned()], 1));
}

/// Checklist 129.
#[test]
fn written_lines_hold_no_raw_line_end() {
    let mut out = BytesMut::new();
    LineEncoder.encode(b"{\n\t\"a\": \"b\\n\"\r\n}", &mut out);
    LineEncoder.encode(b"[]", &mut out);
    assert_eq!(&out[..], b"{ \t\"a\": \"b\\n\"  }\n[]\n");
}
