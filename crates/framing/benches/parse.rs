//! Cutting messages of 200 bytes out of a stream of a thousand, beside a search for their ends alone.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up should stop loudly"
)]

use std::hint::black_box;

use bobbin_framing::{
    ContentLengthDecoder, ContentLengthEncoder, ContentType, Decode, Encode, Limits, LineDecoder, LineEncoder,
};
use bytes::{Buf, BytesMut};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const MESSAGES: usize = 1000;

fn stream(encoder: &impl Encode) -> BytesMut {
    let body = format!(
        r#"{{"jsonrpc":"2.0","method":"item/delta","params":{{"text":"{}"}}}}"#,
        "x".repeat(141)
    );
    assert_eq!(body.len(), 200);
    let mut out = BytesMut::new();
    (0..MESSAGES).for_each(|_| encoder.encode(body.as_bytes(), &mut out));
    out
}

/// Takes everything out of the buffer and returns how many messages that was.
fn drain(decoder: &mut impl Decode, buf: &mut BytesMut) -> usize {
    let mut count = 0;
    while let Some(frame) = decoder.decode(buf) {
        black_box(frame.unwrap());
        count += 1;
    }
    count
}

/// As little as one can do for lines.
fn bare_lines(buf: &mut BytesMut) -> usize {
    let mut count = 0;
    while let Some(end) = memchr::memchr(b'\n', buf) {
        black_box(buf.split_to(end + 1).freeze());
        count += 1;
    }
    count
}

/// As little as one can do for header blocks with nothing but a length.
fn bare_content_length(buf: &mut BytesMut) -> usize {
    let mut count = 0;
    while let Some(end) = memchr::memchr(b'\n', buf) {
        let digits = &buf["Content-Length: ".len()..end - 1];
        let length: usize = std::str::from_utf8(digits).unwrap().parse().unwrap();
        buf.advance(end + 3);
        black_box(buf.split_to(length).freeze());
        count += 1;
    }
    count
}

fn parse(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse");
    group.throughput(Throughput::Elements(MESSAGES as u64));
    let limits = Limits::default();
    let lines = stream(&LineEncoder);
    let headed = stream(&ContentLengthEncoder::new(ContentType::Omit));
    let mut case = |name: &str, input: &BytesMut, take: &dyn Fn(&mut BytesMut) -> usize| {
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || input.clone(),
                |buf| assert_eq!(take(buf), MESSAGES),
                BatchSize::SmallInput,
            );
        });
    };
    case("lines/bare", &lines, &bare_lines);
    case("lines/framing", &lines, &|buf| {
        drain(&mut LineDecoder::new(limits), buf)
    });
    case("content-length/bare", &headed, &bare_content_length);
    case("content-length/framing", &headed, &|buf| {
        drain(&mut ContentLengthDecoder::new(limits), buf)
    });
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
