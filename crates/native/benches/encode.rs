//! Encodes and decodes the most frequent messages, beside a minimal baseline for the same bytes.
//!
//! `bare` joins a Delta's notification as text and escapes only its text. For reading, it finds the same members in an
//! untyped tree.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up should stop loudly"
)]

use std::hint::black_box;

use bobbin_native_wire::item::delta::AgentMessageDeltaNotification;
use bobbin_native_wire::turn::params::TurnStartParams;
use bobbin_native_wire::{encode_notification, lenient};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::Value;
use serde_json::value::RawValue;

const THREAD: &str = "thread_20261121_k3v9xw";
const TEXT: &str = "another \"word\" ";
const PARAMS: &str = r#"{"threadId":"thread_20261121_k3v9xw","input":[{"type":"text","text":"Say something about the weather of tomorrow, please."}]}"#;

fn bare_delta(text: &str) -> Vec<u8> {
    let text = serde_json::to_string(text).unwrap();
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"item/agentMessage/delta\",\"params\":{{\"threadId\":\"{THREAD}\",\
         \"turnId\":\"turn_001\",\"itemId\":\"item_002\",\"deltaKind\":\"agentMessage\",\"delta\":{text}}}}}"
    )
    .into_bytes()
}

fn wire_delta(text: &str) -> Vec<u8> {
    let params = AgentMessageDeltaNotification::new(THREAD, "turn_001", "item_002", text);
    encode_notification("item/agentMessage/delta", &params).unwrap()
}

fn messages(criterion: &mut Criterion) {
    assert_eq!(bare_delta(TEXT), wire_delta(TEXT), "both make the same message");
    let mut group = criterion.benchmark_group("wire");
    group.bench_function("delta/bare", |bencher| {
        bencher.iter(|| bare_delta(black_box(TEXT)));
    });
    group.bench_function("delta/wire", |bencher| {
        bencher.iter(|| wire_delta(black_box(TEXT)));
    });

    let raw: Box<RawValue> = serde_json::from_str(PARAMS).unwrap();
    group.bench_function("turn start/bare", |bencher| {
        bencher.iter(|| {
            let tree: Value = serde_json::from_str(black_box(&raw).get()).unwrap();
            tree["threadId"].as_str().unwrap().len() + tree["input"][0]["text"].as_str().unwrap().len()
        });
    });
    group.bench_function("turn start/wire", |bencher| {
        bencher.iter(|| {
            let params: TurnStartParams = lenient::params(Some(black_box(&raw))).unwrap();
            params.thread_id.len() + params.input.len()
        });
    });
    group.finish();
}

criterion_group!(benches, messages);
criterion_main!(benches);
