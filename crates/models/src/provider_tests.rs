//! Tests of attempts and of the pieces handed over. The provider is a list of answers; there is no socket, and the
//! test drives the clock.

use std::collections::VecDeque;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use super::*;
use crate::http::Body;
use crate::{Key, Limits, ModelFacts, ModelSet, Proxies, Wire};
use bobbin_agent_api::TurnGone;
use bobbin_agent_api::model::{Instructions, Message, Model as _, ModelEvent, Pictures, Stop};
use bobbin_model::{InputPart, TurnId};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Map, json};

static NETWORK: LazyLock<Network> = LazyLock::new(|| Network::new(&Proxies::default()).unwrap());

/// The provider's answer to one request.
type Answer = Result<Vec<Result<Bytes, ProviderError>>, ProviderError>;

#[derive(Default)]
struct Answers {
    left: Mutex<VecDeque<Answer>>,
    asked: Mutex<Vec<Instant>>,
}

impl Exchange for Answers {
    fn post<'a>(
        &'a self,
        _: &'a str,
        _: Bytes,
        _: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<Body, ProviderError>> {
        self.asked.lock().unwrap().push(Instant::now());
        let answer = self.left.lock().unwrap().pop_front().expect("no further attempt");
        async move { answer.map(|pieces| stream::iter(pieces).boxed()) }.boxed()
    }
}

fn provider(wire: Wire, answers: impl IntoIterator<Item = Answer>) -> (Provider, Arc<Answers>) {
    named("p", wire, answers)
}

fn named(name: &str, wire: Wire, answers: impl IntoIterator<Item = Answer>) -> (Provider, Arc<Answers>) {
    let settings = ProviderSettings {
        name: name.into(),
        wire,
        base_url: "http://127.0.0.1:1/v1".into(),
        models: Vec::new(),
        offered: true,
        key: Some(Key::new("open-sesame")),
        key_variable: None,
        needs_key: false,
        key_source: "P_KEY".into(),
        headers: Vec::new(),
        max_output_tokens: None,
        web_search: false,
        body: Map::new(),
        facts: ModelFacts::default(),
        model_facts: std::collections::BTreeMap::new(),
        limits: Limits::default(),
    };
    let answers = Arc::new(Answers {
        left: Mutex::new(answers.into_iter().collect()),
        ..Answers::default()
    });
    let http = Arc::new(Http::new(settings, &NETWORK).unwrap());
    (
        Provider {
            http,
            exchange: answers.clone(),
            memory: Arc::default(),
        },
        answers,
    )
}

/// Accepts the first `room` pieces; refuses all others.
struct Sink {
    pieces: Vec<ModelEvent>,
    room: usize,
}

impl ModelSink for Sink {
    fn event(&mut self, event: ModelEvent) -> BoxFuture<'_, Result<(), ModelError>> {
        async move {
            if self.pieces.len() == self.room {
                return Err(TurnGone.into());
            }
            // Tests of `retry` cover those lines.
            if !matches!(event, ModelEvent::Waiting(_)) {
                self.pieces.push(event);
            }
            Ok(())
        }
        .boxed()
    }
}

async fn ask(provider: &Provider, room: usize) -> (Result<ModelReply, ModelError>, Vec<ModelEvent>) {
    let mut sink = Sink {
        pieces: Vec::new(),
        room,
    };
    let instructions = Instructions::default();
    let messages = hi();
    let reply = provider
        .answer("m", request(&instructions, &messages, true), &mut sink)
        .await;
    (reply, sink.pieces)
}

/// Asks a set of models, at the start of a Turn or in its middle.
async fn ask_all(models: &ModelSet, is_first: bool) -> (Result<ModelReply, ModelError>, Vec<ModelEvent>) {
    let mut sink = Sink {
        pieces: Vec::new(),
        room: 9,
    };
    let instructions = Instructions::default();
    let messages = hi();
    let reply = models
        .respond(request(&instructions, &messages, is_first), &mut sink)
        .await;
    (reply, sink.pieces)
}

fn hi() -> [Message; 1] {
    [Message::User {
        parts: vec![InputPart::Text { text: "hi".into() }],
    }]
}

static NO_PICTURES: LazyLock<Pictures> = LazyLock::new(Pictures::default);

fn request<'a>(instructions: &'a Instructions, messages: &'a [Message], is_first: bool) -> ModelRequest<'a> {
    ModelRequest {
        effort: None,
        turn: TurnId(3),
        is_first,
        conversation: None,
        model: None,
        keys: None,
        instructions,
        messages,
        pictures: &NO_PICTURES,
        tools: &[],
        web_search: false,
    }
}

fn limited(seconds: Option<u64>) -> ProviderError {
    ProviderError::RateLimited {
        name: "p/m".into(),
        retry_after: seconds.map(Duration::from_secs),
        said: String::new(),
    }
}

fn events(events: &[serde_json::Value]) -> String {
    let lines: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    lines.concat()
}

fn text(text: &str) -> serde_json::Value {
    json!({ "choices": [{ "delta": { "content": text } }] })
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "one of several functions with the same type"
)]
fn whole(pieces: &str) -> Answer {
    let piece = Ok(Bytes::copy_from_slice(pieces.as_bytes()));
    Answer::Ok(vec![piece])
}

fn hello() -> Answer {
    let stop = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] });
    whole(&(events(&[text("hello"), stop]) + "data: [DONE]\n\n"))
}

fn said(text: &str) -> Vec<ModelEvent> {
    vec![ModelEvent::Text(text.into())]
}

#[tokio::test(start_paused = true)]
async fn a_passing_failure_is_tried_again_when_the_provider_says() {
    let (provider, answers) = provider(
        Wire::ChatCompletions,
        [Err(limited(Some(7))), Err(limited(Some(20))), hello()],
    );
    let began = Instant::now();
    let (reply, pieces) = ask(&provider, 9).await;
    let note = |seconds: u8| ModelEvent::Note {
        code: "model_retry",
        text: format!(
            "{} It is asked again in {seconds} seconds.",
            limited(Some(seconds.into()))
        ),
    };
    let told = [vec![note(7), note(20)], said("hello")].concat();
    assert_eq!((reply.unwrap().stop, pieces), (Stop::Done, told));
    let at = answers
        .asked
        .lock()
        .unwrap()
        .iter()
        .map(|at| (*at - began).as_secs())
        .collect::<Vec<_>>();
    assert_eq!(at, [0, 7, 27]);
}

#[tokio::test(start_paused = true)]
async fn attempts_end_after_four_and_their_pauses_grow() {
    let (provider, answers) = provider(Wire::ChatCompletions, vec![Err(limited(None)); 4]);
    let (reply, pieces) = ask(&provider, 9).await;
    assert_eq!((reply, pieces), (Err(limited(None).into()), Vec::new()));
    let asked = answers.asked.lock().unwrap();
    let pauses: Vec<u128> = asked
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_millis())
        .collect();
    for (pause, most) in pauses.iter().zip([500, 1000, 2000]) {
        assert!((most / 2..=most + 1).contains(pause), "{pauses:?}");
    }
    assert_eq!(asked.len(), 4);
}

#[rstest]
#[case::wait_too_long(Err(limited(Some(31))))]
#[case::not_passing(Err(ProviderError::Filtered { name: "p/m".into() }))]
#[case::cut_after_text(Ok(vec![
    Ok(Bytes::from(events(&[text("he")]))),
    Err(ProviderError::Truncated { name: "p/m".into() }),
]))]
#[case::ended_after_text(whole(&events(&[text("he")])))]
#[case::error_after_text(whole(&events(&[text("he"), json!({ "error": { "message": "no" } })])))]
#[case::malformed("data: {\n\n")]
#[tokio::test(start_paused = true)]
async fn other_failures_are_told_at_once(#[case] answer: impl Into<Unrepeated>) {
    let Unrepeated(answer) = answer.into();
    let (provider, answers) = provider(Wire::ChatCompletions, [answer]);
    let (reply, _) = ask(&provider, 9).await;
    assert!(
        matches!(reply, Err(ModelError::Failed(_) | ModelError::Refused(_))),
        "{reply:?}"
    );
    assert_eq!(answers.asked.lock().unwrap().len(), 1);
}

struct Unrepeated(Answer);

impl From<Answer> for Unrepeated {
    fn from(answer: Answer) -> Self {
        Self(answer)
    }
}

impl From<&str> for Unrepeated {
    fn from(text: &str) -> Self {
        Self(whole(text))
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_breaks_before_it_says_anything_is_asked_for_again() {
    let overloaded = json!({ "error": { "type": "overloaded_error", "message": "busy" } });
    let (provider, answers) = provider(
        Wire::ChatCompletions,
        [
            whole(&events(&[overloaded])),
            Ok(vec![Err(ProviderError::Truncated { name: "p/m".into() })]),
            whole(""),
            hello(),
        ],
    );
    let (reply, pieces) = ask(&provider, 9).await;
    assert_eq!((reply.unwrap().stop, pieces), (Stop::Done, said("hello")));
    assert_eq!(answers.asked.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_turn_that_takes_no_more_ends_the_reply() {
    let (provider, _) = provider(
        Wire::ChatCompletions,
        [whole(&events(&[text("a"), text("b"), text("c")]))],
    );
    let (reply, pieces) = ask(&provider, 1).await;
    assert_eq!((reply, pieces), (Err(TurnGone.into()), said("a")));
}

#[tokio::test]
async fn a_key_that_a_provider_repeats_is_not_passed_on() {
    let error =
        json!({ "error": { "type": "invalid_request_error", "message": "bad key open-sesame in request" } });
    let (provider, _) = provider(Wire::ChatCompletions, [whole(&events(&[text("a"), error]))]);
    let Err(ModelError::Refused(said)) = ask(&provider, 9).await.0 else {
        panic!("it fails");
    };
    assert!(
        said.contains("bad key [key] in request") && !said.contains("sesame"),
        "{said}"
    );
}

/// One reply with text, reasoning and a call, as each wire writes it.
fn full(wire: Wire) -> String {
    let arguments = "{\"a\":\"ü\"}";
    let (left, right) = arguments.split_at(5);
    match wire {
        Wire::ChatCompletions => {
            let delta = |delta: serde_json::Value| json!({ "choices": [{ "delta": delta }] });
            let call = |function: serde_json::Value| delta(json!({ "tool_calls": [function] }));
            let all = [
                delta(json!({ "reasoning_content": "hmm" })),
                text("so"),
                call(json!({ "index": 0, "id": "c", "function": { "name": "t", "arguments": left } })),
                call(json!({ "index": 0, "function": { "arguments": right } })),
                json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] }),
                json!({ "choices": [], "usage": { "prompt_tokens": 5, "completion_tokens": 6 } }),
            ];
            events(&all) + "data: [DONE]\n\n"
        }
        Wire::Messages => events(&[
            json!({ "type": "message_start", "message": { "usage": { "input_tokens": 5 } } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "hmm" } }),
            json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "so" } }),
            json!({ "type": "content_block_start", "index": 2, "content_block": { "type": "tool_use", "id": "c", "name": "t", "input": {} } }),
            json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "input_json_delta", "partial_json": left } }),
            json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "input_json_delta", "partial_json": right } }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 6 } }),
            json!({ "type": "message_stop" }),
        ]),
        Wire::Responses => events(&[
            json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hmm" }),
            json!({ "type": "response.output_text.delta", "output_index": 1, "delta": "so" }),
            json!({ "type": "response.output_item.added", "output_index": 2, "item": { "type": "function_call", "call_id": "c", "name": "t" } }),
            json!({ "type": "response.function_call_arguments.delta", "output_index": 2, "delta": left }),
            json!({ "type": "response.function_call_arguments.delta", "output_index": 2, "delta": right }),
            json!({ "type": "response.completed", "response": { "usage": { "input_tokens": 5, "output_tokens": 6 } } }),
        ]),
    }
}

#[rstest]
#[case(Wire::ChatCompletions)]
#[case(Wire::Messages)]
#[case(Wire::Responses)]
#[tokio::test]
async fn more_calls_than_anybody_runs_end_the_reply_on_every_wire(#[case] wire: Wire) {
    let call = |n: usize| match wire {
        Wire::ChatCompletions => {
            let call =
                json!({ "index": n, "id": format!("c{n}"), "function": { "name": "t", "arguments": "{}" } });
            json!({ "choices": [{ "delta": { "tool_calls": [call] } }] })
        }
        Wire::Messages => {
            json!({ "type": "content_block_start", "index": n, "content_block": { "type": "tool_use", "id": "c", "name": "t", "input": { "a": 1 } } })
        }
        Wire::Responses => {
            json!({ "type": "response.output_item.done", "output_index": n, "item": { "type": "function_call", "call_id": "c", "name": "t", "arguments": "{}" } })
        }
    };
    let calls: Vec<_> = (0..200).map(call).collect();
    let (provider, _) = provider(wire, [whole(&events(&calls))]);
    let (reply, pieces) = ask(&provider, 9999).await;
    assert!(
        matches!(&reply, Err(ModelError::Failed(said)) if said.contains("more than 128 calls")),
        "{reply:?}"
    );
    let begun = pieces
        .iter()
        .filter(|piece| matches!(piece, ModelEvent::CallStarted { .. }));
    // One more call than the engine runs: the engine reports it first.
    assert_eq!(begun.count(), 129);
}

/// A body that ends in one of three untidy ways.
#[derive(Debug, Clone, Copy)]
enum Untidy {
    Silent,
    Comments,
    Reset,
}

impl Exchange for Untidy {
    fn post<'a>(
        &'a self,
        _: &'a str,
        _: Bytes,
        _: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<Body, ProviderError>> {
        let stop = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] });
        let usage = json!({ "choices": [], "usage": { "prompt_tokens": 5, "completion_tokens": 6 } });
        let said = events(&[text("hello"), stop, usage]);
        let said = stream::iter([Ok(Bytes::from(said))]);
        let rest = match self {
            Self::Silent => stream::pending().boxed(),
            Self::Comments => stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Some((Ok(Bytes::from_static(b": still here\n\n")), ()))
            })
            .boxed(),
            Self::Reset => stream::iter([Err(ProviderError::Truncated { name: "p/m".into() })]).boxed(),
        };
        async move { Ok(said.chain(rest).boxed()) }.boxed()
    }
}

#[rstest]
#[case(Untidy::Silent, 5)]
#[case(Untidy::Comments, 5)]
#[case(Untidy::Reset, 0)]
#[tokio::test(start_paused = true)]
async fn a_reply_that_is_over_stays_so_however_its_connection_ends(
    #[case] untidy: Untidy,
    #[case] waited: u64,
) {
    let (mut provider, _) = provider(Wire::ChatCompletions, []);
    provider.exchange = Arc::new(untidy);
    let began = Instant::now();
    let (reply, pieces) = ask(&provider, 9).await;
    let reply = reply.unwrap();
    assert_eq!((reply.stop, pieces), (Stop::Done, said("hello")));
    assert_eq!(reply.usage.unwrap().tokens.output_tokens, 6);
    assert_eq!(began.elapsed().as_secs(), waited);
}

/// Runs a future that needs the clock only.
fn now<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(future)
}

proptest! {
    #[test]
    fn bytes_cut_anywhere_give_the_same_reply(
        wire in prop::sample::select(vec![Wire::ChatCompletions, Wire::Messages, Wire::Responses]),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        carriage_returns in any::<bool>(),
    ) {
        let mut bytes = full(wire);
        if carriage_returns {
            bytes = bytes.replace('\n', "\r\n");
        }
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|ends| Ok(Bytes::copy_from_slice(&bytes.as_bytes()[ends[0]..ends[1]])));
        let (provider, _) = provider(wire, [Ok(pieces.collect())]);
        let (reply, mut pieces) = now(ask(&provider, 99));
        // The data to send back depends on the wire.
        pieces.retain(|piece| !matches!(piece, ModelEvent::ProviderState(_)));
        let (id, arguments) = ("c".to_owned(), "{\"a\":\"ü\"}");
        let (left, right) = arguments.split_at(5);
        let piece = |text: &str| ModelEvent::CallArguments { id: id.clone(), text: text.into() };
        prop_assert_eq!(pieces, vec![
            ModelEvent::Reasoning("hmm".into()),
            ModelEvent::Text("so".into()),
            ModelEvent::CallStarted { id: id.clone(), tool: "t".into() },
            piece(left),
            piece(right),
            ModelEvent::CallEnded { id: id.clone() },
        ]);
        let tokens = reply.unwrap().usage.unwrap().tokens;
        prop_assert_eq!((tokens.input_tokens, tokens.output_tokens), (5, 6));
    }

    #[test]
    fn garbage_in_any_wire_is_an_error_and_no_panic(
        wire in prop::sample::select(vec![Wire::ChatCompletions, Wire::Messages, Wire::Responses]),
        position in any::<prop::sample::Index>(),
        garbage in prop::collection::vec(any::<u8>(), 1..8),
    ) {
        let mut bytes = full(wire).into_bytes();
        let position = position.index(bytes.len());
        bytes.splice(position..bytes.len().min(position + garbage.len()), garbage);
        let filtered = Err(ProviderError::Filtered { name: "p/m".into() });
        let (provider, _) = provider(wire, [Ok(vec![Ok(Bytes::from(bytes))]), filtered]);
        // The reply ends in each case; a passing failure is retried.
        if let (Err(error), _) = now(ask(&provider, 99)) {
            prop_assert!(matches!(error, ModelError::Failed(_)));
        }
    }
}

/// Two providers `p` and `q`. The first has the default model, the second is the fallback.
fn two(
    first: impl IntoIterator<Item = Answer>,
    second: impl IntoIterator<Item = Answer>,
) -> (ModelSet, Arc<Answers>, Arc<Answers>) {
    let (first, asked_first) = named("p", Wire::ChatCompletions, first);
    let (second, asked_second) = named("q", Wire::ChatCompletions, second);
    let models = ModelSet::new(
        std::sync::Arc::new(bobbin_offline::Offline),
        vec![first, second],
        Some("p/m".into()),
    );
    (
        models.with_fallbacks(vec!["q/m".into()]),
        asked_first,
        asked_second,
    )
}

fn stalled() -> ProviderError {
    ProviderError::Stalled {
        name: "p/m".into(),
        idle: Duration::from_mins(3),
    }
}

fn steps_in(text: String) -> Vec<ModelEvent> {
    let note = ModelEvent::Note {
        code: "model_fallback",
        text,
    };
    [vec![note], said("hello")].concat()
}

#[tokio::test(start_paused = true)]
async fn a_model_that_failed_is_asked_last_until_some_time_has_passed() {
    let (models, first, second) = two([Err(stalled()), hello()], [hello(), hello(), hello()]);
    let asked = || {
        (
            first.asked.lock().unwrap().len(),
            second.asked.lock().unwrap().len(),
        )
    };
    let (reply, pieces) = ask_all(&models, true).await;
    assert!(reply.is_ok());
    assert_eq!(pieces, steps_in(format!("{} Going on with \"q/m\".", stalled())));
    // The next round of the same Turn: no wait, and no second note.
    let (reply, pieces) = ask_all(&models, false).await;
    assert_eq!((reply.is_ok(), pieces, asked()), (true, said("hello"), (1, 2)));
    // Another Turn gets one note.
    let (_, pieces) = ask_all(&models, true).await;
    let told = "The model \"p/m\" failed a moment ago. Going on with \"q/m\".";
    assert_eq!((pieces, asked()), (steps_in(told.to_owned()), (1, 3)));
    tokio::time::advance(Duration::from_mins(5)).await;
    let (reply, pieces) = ask_all(&models, true).await;
    assert_eq!((reply.is_ok(), pieces, asked()), (true, said("hello"), (2, 3)));
}

#[tokio::test(start_paused = true)]
async fn where_all_have_failed_the_first_is_asked_first() {
    let quota = || {
        Err(ProviderError::Quota {
            name: "q/m".into(),
            said: String::new(),
        })
    };
    let (models, first, second) = two([Err(stalled()), hello()], [quota()]);
    let (reply, _) = ask_all(&models, true).await;
    assert!(matches!(reply, Err(ModelError::Failed(why)) if why.contains("quota")));
    let (reply, pieces) = ask_all(&models, false).await;
    assert_eq!((reply.is_ok(), pieces), (true, said("hello")));
    assert_eq!(
        (
            first.asked.lock().unwrap().len(),
            second.asked.lock().unwrap().len()
        ),
        (2, 1)
    );
}
