//! Content-Length: what is read, what is survived, what is written.

use bobbin_framing::{
    ContentLengthDecoder, ContentLengthEncoder, ContentType, Decode, Encode, FramingError, Limits,
};
use bytes::BytesMut;
use rstest::rstest;

use crate::support::{Item, decode, errors, good};

fn read(input: &[u8]) -> Vec<Item> {
    decode(ContentLengthDecoder::new(Limits::default()), &[input])
}

fn read_limited(limit: usize, input: &[u8]) -> Vec<Item> {
    decode(
        ContentLengthDecoder::new(Limits::default().with_max_body_bytes(limit)),
        &[input],
    )
}

/// Checklist 108.
#[test]
fn output_counts_bytes_not_characters() {
    let mut out = BytesMut::new();
    ContentLengthEncoder::new(ContentType::Omit).encode("\"ü€\"".as_bytes(), &mut out);
    assert_eq!(&out[..], "Content-Length: 7\r\n\r\n\"ü€\"".as_bytes());
}

#[test]
fn the_content_type_is_written_when_asked_for() {
    let mut out = BytesMut::new();
    ContentLengthEncoder::new(ContentType::VscodeJsonRpc).encode(b"{}", &mut out);
    let text = String::from_utf8_lossy(&out);
    assert_eq!(
        text,
        "Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}"
    );
    assert_eq!(good(&read(text.as_bytes())), ["{}"]);
}

/// Checklist 109, 110 and 111.
#[rstest]
#[case::any_case("CONTENT-length: 2\r\n\r\n{}")]
#[case::blanks("Content-Length \t:\t 2  \r\n\r\n{}")]
#[case::no_blank("Content-Length:2\r\n\r\n{}")]
#[case::charset_before("Content-Type: a/b; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}")]
#[case::charset_after("Content-Length: 2\r\nContent-Type: a/b; charset=UTF8\r\n\r\n{}")]
#[case::ten_unknown(
    "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\nF: 6\r\nG: 7\r\nH: 8\r\nI: 9\r\nJ: 10\r\nContent-Length: 2\r\n\r\n{}"
)]
#[case::line_feeds("Content-Length: 2\n\n{}")]
#[case::mixed("A: 1\nContent-Length: 2\r\nB: 1\n\r\n{}")]
#[case::blank_lines_first("\r\n\n\r\nContent-Length: 2\r\n\r\n{}")]
#[case::same_length_twice("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}")]
fn a_credible_header_block_is_accepted(#[case] input: &str) {
    let items = read(input.as_bytes());
    assert_eq!((good(&items), errors(&items)), (vec!["{}".to_owned()], vec![]));
}

/// Checklist 112, 113, 114, 115 and 116: one error, and the next good message is served.
#[rstest]
#[case::missing("Other: 1\r\n\r\n{\"a\":1}")]
#[case::empty("Content-Length: \r\n\r\n{\"a\":1}")]
#[case::negative("Content-Length: -1\r\n\r\n{\"a\":1}")]
#[case::plus("Content-Length: +5\r\n\r\n{\"a\":1}")]
#[case::hex("Content-Length: 0x7\r\n\r\n{\"a\":1}")]
#[case::trailing("Content-Length: 7x\r\n\r\n{\"a\":1}")]
#[case::twenty_digits("Content-Length: 99999999999999999999\r\n\r\n{\"a\":1}")]
#[case::over_2_to_53("Content-Length: 9007199254740993\r\n\r\n{\"a\":1}")]
#[case::two_lengths("Content-Length: 7\r\nContent-Length: 8\r\n\r\n{\"a\":1}")]
#[case::zero("Content-Length: 0\r\n\r\n")]
#[case::log_text("starting up, please wait\n")]
#[case::log_text_with_colon("listening on port: 80\n")]
#[case::bare_json("{\"a\":1}")]
#[case::bare_json_lines("{\"a\":1}\n{\"b\":1}\n")]
#[case::length_in_prose("see content-length: none, and Content-length:")]
fn a_framing_error_costs_one_entry_and_no_message(#[case] garbage: &str) {
    let input =
        format!("Content-Length: 1\r\n\r\n1{garbage}Content-Length: 2\r\n\r\n{{}}Content-Length: 1\r\n\r\n2");
    let items = read(input.as_bytes());
    assert_eq!(good(&items), ["1", "{}", "2"]);
    assert_eq!(errors(&items).len(), 1, "{:?}", errors(&items));
}

#[test]
fn a_foreign_charset_costs_its_own_message_only() {
    let items = read(
        b"Content-Length: 3\r\nContent-Type: a/b; charset=latin1\r\n\r\n\"\xe4\"Content-Length: 2\r\n\r\n{}",
    );
    assert_eq!(good(&items), ["{}"]);
    assert!(matches!(&items[0], Err(FramingError::Charset(name)) if name == "latin1"));
}

/// Checklist 118.
#[test]
fn an_announced_length_allocates_nothing_by_itself() {
    let mut decoder = ContentLengthDecoder::new(Limits::default().with_max_body_bytes(4 << 30));
    let mut buf = BytesMut::from(&b"Content-Length: 2147483648\r\n\r\n0123456789"[..]);
    assert!(decoder.decode(&mut buf).is_none());
    assert!(buf.capacity() < 1 << 16);
    assert!(matches!(
        decoder.finish(&mut buf),
        Some(Err(FramingError::Truncated { have: 10 }))
    ));
    assert!(decoder.finish(&mut buf).is_none());
}

/// Checklist 119.
#[test]
fn a_body_over_the_limit_is_skipped_and_the_next_message_served() {
    let items = read_limited(
        5,
        b"Content-Length: 10\r\n\r\n0123456789Content-Length: 5\r\n\r\n12345",
    );
    assert!(matches!(items[0], Err(FramingError::TooLarge { limit: 5 })));
    assert_eq!(good(&items), ["12345"]);
}

/// Checklist 125.
#[rstest]
#[case::in_a_line("Content-Len")]
#[case::between_lines("Content-Length: 5\r\n")]
#[case::in_the_body("Content-Length: 5\r\n\r\n123")]
#[case::in_a_skipped_body("Content-Length: 99999999\r\nContent-Type: a;charset=x\r\n\r\n123")]
fn input_that_ends_inside_a_message_is_one_error(#[case] rest: &str) {
    let items = read(format!("Content-Length: 2\r\n\r\n{{}}{rest}").as_bytes());
    assert_eq!(good(&items), ["{}"]);
    assert!(matches!(items[1], Err(FramingError::Truncated { .. })));
    assert_eq!(items.len(), 2);
}

#[test]
fn input_that_ends_between_messages_is_no_error() {
    assert_eq!(read(b"Content-Length: 2\r\n\r\n{}\r\n\n").len(), 1);
    assert!(read(b"").is_empty());
}

#[test]
fn an_over_long_header_line_is_an_error_and_survived() {
    let mut input = vec![b'x'; 20_000];
    input.extend_from_slice(b": y\r\nContent-Length: 2\r\n\r\n{}");
    for chunk in [1, 7, 4096, input.len()] {
        let chunks: Vec<_> = input.chunks(chunk).collect();
        let items = decode(ContentLengthDecoder::new(Limits::default()), &chunks);
        assert_eq!(good(&items), ["{}"]);
        assert_eq!(errors(&items).len(), 1);
    }
}

#[test]
fn too_many_header_lines_are_an_error_and_survived() {
    let mut input = "A: 1\r\n".repeat(65).into_bytes();
    input.extend_from_slice(b"Content-Length: 2\r\n\r\n{}");
    let items = read(&input);
    assert_eq!(good(&items), ["{}"]);
    assert_eq!(errors(&items).len(), 1);
}

#[test]
fn a_stream_that_never_speaks_the_framing_is_given_up() {
    let limits = Limits {
        max_resync_bytes: 1000,
        ..Limits::default()
    };
    let garbage = vec![b'z'; 5000];
    let chunks: Vec<_> = garbage.chunks(100).collect();
    let items = decode(
        ContentLengthDecoder::new(limits),
        &[&b"no header\n"[..], &chunks.concat()]
            .concat()
            .chunks(64)
            .collect::<Vec<_>>(),
    );
    assert!(matches!(items.last(), Some(Err(FramingError::Lost { dropped })) if *dropped > 1000));
    assert!(
        items
            .last()
            .is_some_and(|item| item.as_ref().is_err_and(FramingError::is_fatal))
    );
}

/// Peer spec 18-A: what is found after a loss may be anything; what follows it whole is a message again.
#[test]
fn boundaries_are_in_doubt_for_the_first_message_after_a_loss_only() {
    let mut decoder = ContentLengthDecoder::new(Limits::default());
    let mut buf = BytesMut::new();
    buf.extend_from_slice(
        b"Content-Length: 1\r\n\r\n1a print\nContent-Length: 1\r\n\r\n2Content-Length: 1\r\n\r\n3",
    );
    let mut told = Vec::new();
    while let Some(item) = decoder.decode(&mut buf) {
        told.push((item.is_ok(), decoder.preserves_boundaries()));
    }
    assert_eq!(told, [(true, true), (false, false), (true, false), (true, true)]);
}
