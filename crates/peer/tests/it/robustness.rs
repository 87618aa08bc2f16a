//! Garbage, echoes, and every interleaving of ends. Checklist 132, 133 and 136.

use std::sync::Arc;
use std::time::Duration;

use bobbin_framing::Limits;
use bobbin_peer::{
    EofPolicy, Handlers, Mode, NoParams, ParseErrorReply, Peer, PeerOptions, Phase, Responder, StreamFraming,
    Transport,
};
use parking_lot::Mutex;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use tokio::io::{AsyncWriteExt, duplex, split};

use crate::support::{Wire, connected, eventually, within};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
}

/// Bytes, JSON in pieces, and messages that are nearly right.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        vec(any::<u8>(), 0..40),
        prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            "\"",
            ":",
            ",",
            "\n",
            "\r\n",
            "null",
            "1e999",
            "\"jsonrpc\":\"2.0\"",
            "\"id\":1",
            "\"method\":\"probe\"",
            "Content-Length: 5\r\n\r\n",
            "\u{feff}",
            "\\ud800",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"probe\"}\n",
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"probe\"}]\n",
            "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}\n",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Checklist 132.
    #[test]
    fn any_input_ends_in_an_orderly_stop(input in input(), lines in any::<bool>()) {
        runtime().block_on(async {
            let framing = if lines { StreamFraming::Lines } else { StreamFraming::ContentLength };
            let options = PeerOptions { parse_error_reply: ParseErrorReply::Always, ..PeerOptions::default() };
            let handlers = |_| Handlers::new().on_call("probe", |_, _: NoParams| async { Ok("here") });
            let (peer, mut far) = Peer::pair_raw(framing, 1 << 16, options, handlers).unwrap();
            far.write(&input).await.unwrap();
            far.end_input().await.unwrap();
            while let Some(frame) = within(far.recv()).await {
                // Whatever the peer writes is a message.
                let message: Value = serde_json::from_slice(&frame.unwrap()).unwrap();
                assert!(message.is_object() || message.is_array());
            }
            within(peer.closed()).await;
        });
    }
}

/// The next of a fixed row of random numbers (xorshift64*).
fn random(state: &mut u64) -> usize {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    usize::try_from(state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap()
}

/// A short byte string: noise, or noise between things that mean something.
fn random_bytes(state: &mut u64, out: &mut Vec<u8>) {
    const WORDS: [&[u8]; 8] = [
        b"\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"probe\"}",
        b"Content-Length: 2\r\n\r\n",
        b"\r\n",
        b"[{\"id\":",
        b"\"\xff\xc0",
        b"}]",
        b"Content-Length: 64\n",
    ];
    for _ in 0..random(state) % 4 {
        if random(state).is_multiple_of(2) {
            out.extend_from_slice(WORDS[random(state) % WORDS.len()]);
        }
        out.extend((0..random(state) % 12).map(|_| u8::try_from(random(state) & 0xff).unwrap()));
    }
}

/// Checklist 132: a million strings, in a fixed row, half of them over each framing of streams.
#[tokio::test]
async fn a_million_random_strings_break_nothing_and_grow_nothing() {
    for framing in [StreamFraming::Lines, StreamFraming::ContentLength] {
        let options = PeerOptions {
            parse_error_reply: ParseErrorReply::Always,
            max_consecutive_errors: u32::MAX,
            ..PeerOptions::default()
        };
        let (near, far) = duplex(1 << 16);
        let (read, write) = split(near);
        let limits = Limits::default().with_max_body_bytes(1 << 16);
        let transport = match framing {
            StreamFraming::Lines => Transport::lines(read, write, limits),
            StreamFraming::ContentLength => Transport::content_length(read, write, limits),
        };
        let handlers = |_| Handlers::new().on_call("probe", |_, _: NoParams| async { Ok("here") });
        let peer = Peer::start(transport, options, handlers).unwrap();
        let (mut read, mut write) = split(far);
        let answers = tokio::spawn(async move { tokio::io::copy(&mut read, &mut tokio::io::sink()).await });
        let (mut state, mut chunk) = (0x5eed_u64, Vec::new());
        for _ in 0..500 {
            (0..1000).for_each(|_| random_bytes(&mut state, &mut chunk));
            write.write_all(&chunk).await.unwrap();
            chunk.clear();
            let stats = peer.stats();
            assert!(stats.write_queue_bytes < 1 << 20, "{stats:?}");
        }
        // What is good is still understood: enough of it to end whatever body was announced last.
        let probe = "\nContent-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"probe\"}\n";
        let before = peer.stats().messages_read;
        write.write_all(probe.repeat(3000).as_bytes()).await.unwrap();
        write.shutdown().await.unwrap();
        within(peer.closed()).await;
        assert!(peer.stats().messages_read > before + 1000, "{:?}", peer.stats());
        assert!(answers.await.unwrap().unwrap() > 0);
    }
}

/// Checklist 133.
#[tokio::test]
async fn two_peers_do_not_answer_each_others_errors() {
    for wire in [Wire::Lines, Wire::ContentLength, Wire::WebSocket] {
        let (near, far) = connected(wire, 1 << 16).await;
        let options = PeerOptions {
            parse_error_reply: ParseErrorReply::Always,
            ..PeerOptions::default()
        };
        let near = Peer::start(near, options.clone(), |_| Handlers::new()).unwrap();
        let far = Peer::start(far, options, |_| Handlers::new()).unwrap();
        for text in [
            "7",
            "[]",
            "[1]",
            "{}",
            r#"{"id":1}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            "not json",
        ] {
            near.send_batch(vec![text.into()]).await.unwrap();
        }
        let settled = |peer: &Peer| (peer.stats().messages_read, peer.stats().messages_written);
        eventually(|| far.stats().messages_read >= 7).await;
        let mut before = (settled(&near), settled(&far));
        within(async {
            loop {
                tokio::time::sleep(Duration::from_millis(20)).await;
                let now = (settled(&near), settled(&far));
                if now == before {
                    break;
                }
                before = now;
            }
        })
        .await;
        assert!(before.0.1 + before.1.1 < 20, "{before:?}");
    }
}

/// What can happen to a connection, in any order.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A request whose handler ends when dropped.
    Sleep,
    /// A request whose answer is given later, by `Answer`.
    Hold,
    /// A request in a lane behind whatever is there.
    InLane,
    /// A request that asks the other side.
    AskBack,
    Notify,
    Cancel(u8),
    Answer,
    Shutdown,
    EndOfInput,
    BreakOutput,
    Call,
    Wait(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Sleep),
        4 => Just(Step::Hold),
        3 => Just(Step::InLane),
        2 => Just(Step::AskBack),
        2 => Just(Step::Notify),
        3 => (0u8..12).prop_map(Step::Cancel),
        4 => Just(Step::Answer),
        1 => Just(Step::Shutdown),
        1 => Just(Step::EndOfInput),
        1 => Just(Step::BreakOutput),
        2 => Just(Step::Call),
        3 => (0u8..20).prop_map(Step::Wait),
    ]
}

fn model_handlers(held: &Arc<Mutex<Vec<Responder>>>, me: bobbin_peer::PeerHandle) -> Handlers {
    let hold = Arc::clone(held);
    Handlers::new()
        .on_call("sleep", |_, _: NoParams| async {
            std::future::pending::<()>().await;
            Ok(())
        })
        .on_call_deferred("hold", Mode::ordered("a"), move |_, responder| {
            hold.lock().push(responder);
            async {}
        })
        .on_call_with("lane", Mode::ordered("a"), |_, _: NoParams| async {
            tokio::time::sleep(Duration::from_millis(3)).await;
            Ok(())
        })
        .on_call("ask", move |_, _: NoParams| {
            let me = me.clone();
            async move { Ok(me.call::<Value>("back", ()).await?) }
        })
        .on_notification("told", |_, _: NoParams| async {
            tokio::time::sleep(Duration::from_millis(2)).await;
            Ok(())
        })
}

/// Plays the steps, then ends the connection; every promise about ends must hold.
async fn play(steps: &[Step], eof_policy: EofPolicy, small_pipe: bool) {
    let held = Arc::new(Mutex::new(Vec::new()));
    let options = PeerOptions {
        eof_policy,
        max_running_requests: 8,
        ..PeerOptions::default()
    };
    let pipe = if small_pipe { 300 } else { 1 << 16 };
    let (peer, far) = Peer::pair_raw(StreamFraming::Lines, pipe, options, |me| {
        model_handlers(&held, me)
    })
    .unwrap();
    let mut far = Some(far);
    let mut calls = Vec::new();
    let mut phases = vec![peer.phase()];
    let me = peer.handle();
    let waiter = tokio::spawn(async move { me.closed().await });
    for (number, step) in steps.iter().enumerate() {
        let method = match step {
            Step::Sleep => "sleep",
            Step::Hold => "hold",
            Step::InLane => "lane",
            Step::AskBack => "ask",
            Step::Notify => "told",
            _ => "",
        };
        let message = match step {
            Step::Notify => r#"{"jsonrpc":"2.0","method":"told"}"#.to_owned(),
            Step::Cancel(id) => {
                format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#)
            }
            _ => format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{method}"}}"#, number % 12),
        };
        match step {
            Step::Sleep | Step::Hold | Step::InLane | Step::AskBack | Step::Notify | Step::Cancel(_) => {
                if let Some(far) = &mut far {
                    // A peer that has let its input go, or that waits for its output to be read.
                    let _not_taken = tokio::time::timeout(Duration::from_millis(1), far.send(&message)).await;
                }
            }
            Step::Answer => {
                let responder = held.lock().pop();
                if let Some(responder) = responder {
                    responder.ok(number);
                }
            }
            Step::Shutdown => peer.start_shutdown(),
            Step::EndOfInput => {
                if let Some(far) = &mut far {
                    let _broken = far.end_input().await;
                }
            }
            Step::BreakOutput => far = None,
            Step::Call => {
                let me = peer.handle();
                calls.push(tokio::spawn(async move { me.call::<Value>("ask", ()).await }));
            }
            Step::Wait(millis) => tokio::time::sleep(Duration::from_millis(u64::from(*millis))).await,
        }
        phases.push(peer.phase());
    }
    peer.start_shutdown();
    // Whoever holds answers gives them, or drops them.
    held.lock().clear();
    tokio::time::sleep(Duration::from_millis(50)).await;
    held.lock().clear();
    within(peer.shutdown()).await;
    within(waiter).await.unwrap();
    phases.push(peer.phase());
    assert!(phases.is_sorted(), "no way back: {phases:?}");
    let stats = peer.stats();
    assert_eq!(stats.phase, Phase::Stopped);
    assert_eq!(stats.running_inbound_request_count, 0, "{stats:?}");
    assert_eq!(stats.queued_inbound_count, 0, "{stats:?}");
    assert_eq!(
        (
            stats.pending_outbound_call_count,
            stats.write_queue_length,
            stats.write_queue_bytes
        ),
        (0, 0, 0)
    );
    for call in calls {
        assert_eq!(within(call).await.unwrap().unwrap_err().code(), -32099);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Checklist 136.
    #[test]
    fn every_interleaving_of_ends_stops_in_order(
        steps in vec(step(), 0..40),
        drain in any::<bool>(),
        small_pipe in any::<bool>(),
    ) {
        let policy = if drain { EofPolicy::DrainFirst(Duration::from_millis(20)) } else { EofPolicy::CancelNow };
        runtime().block_on(play(&steps, policy, small_pipe));
    }
}
