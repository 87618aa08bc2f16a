//! Failures of a provider: the error for the user, the record, the number of attempts.

use std::collections::BTreeMap;
use std::time::Duration;

use bobbin_model::{ClientKeys, ItemBody, Turn, TurnStatus};
use bobbin_models::Wire;
use bobbin_testkit::{ModelServer, Part, Reply, Script, TestWorkspace};
use rstest::rstest;
use serde_json::json;

use crate::support::{Bench, KEY, WIRES, settings};

/// Runs one Turn against replies; returns it and the number of requests.
async fn run(wire: Wire, replies: Vec<Reply>) -> (Turn, usize) {
    let server = ModelServer::start(Script::of(replies)).await.unwrap();
    let workspace = TestWorkspace::default();
    let bench = Bench::of(&workspace, wire, &server).await;
    let turn = bench.run("hello").await;
    (turn, server.asked().len())
}

fn text(turn: &Turn) -> String {
    let texts = turn.items.iter().filter_map(|item| match &item.body {
        ItemBody::AgentMessage { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn says(text: &str, then: Part) -> Reply {
    Reply::of([Part::Text(text.to_owned()), then])
}

fn page(status: u16) -> Reply {
    Reply {
        body: Some("<html>bad gateway</html>".into()),
        ..Reply::error(status, "", "")
    }
}

fn with_header(reply: Reply, name: &str, value: &str) -> Reply {
    let headers = [(name.to_owned(), value.to_owned())].into();
    Reply { headers, ..reply }
}

#[rstest]
#[case::wrong_key(Reply::error(401, "invalid_api_key", "Incorrect API key provided: sk-sesame-0123456789."),
    &["does not accept the key", "check the variable P_KEY"], 1)]
#[case::may_not(Reply::error(403, "permission_error", "no access to this region"), &["refuses access", "region"], 1)]
#[case::unknown_model(Reply::error(404, "model_not_found", "The model `m` does not exist"),
    &["does not know \"m\"", "does not exist", "Check Model and BaseUrl"], 1)]
#[case::quota(Reply::error(429, "insufficient_quota", "You exceeded your current quota"), &["quota is used up", "billing"], 1)]
#[case::limited(with_header(Reply::error(429, "rate_limit_error", "slow"), "retry-after", "0"), &["limits the rate", "Try again later"], 2)]
#[case::limited_for_long(with_header(Reply::error(429, "rate_limit_error", "slow"), "retry-after", "3600"),
    &["for 3600 more seconds"], 1)]
#[case::limited_in_words(with_header(Reply::error(429, "rate_limit_error", "Number of input tokens"), "retry-after", "0"),
    &["limits the rate", "Number of input tokens", "Try again later"], 2)]
#[case::larger_than_a_minute(Reply::error(429, "tokens", "Request too large for m on tokens per min (TPM): Limit 30000, Requested 35000."),
    &["takes in a minute", "Requested 35000", "Start a new thread"], 1)]
#[case::down_for_long(with_header(Reply::error(503, "server_error", "down"), "retry-after", "3600"),
    &["status 503): down. Try again in 3600 seconds"], 1)]
#[case::payment(Reply::error(402, "payment_required", "Add credits"), &["quota is used up: Add credits", "billing"], 1)]
#[case::too_slow(Reply::error(408, "timeout", "took too long"), &["status 408", "took too long", "Try again later"], 2)]
#[case::too_large(Reply::error(413, "request_too_large", "Request exceeds the maximum size"),
    &["longer than the window", "maximum size", "Start a new thread"], 1)]
#[case::conflict(Reply::error(409, "conflict", "busy"), &["status 409", "busy"], 2)]
#[case::too_long_for_messages(Reply::error(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 9 + 8 > 10"),
    &["longer than the window", "9 + 8 > 10"], 1)]
#[case::too_long_for_a_small_server(Reply::error(400, "exceed_context_size_error", "the request exceeds the available context size"),
    &["longer than the window"], 1)]
#[case::too_long_for_another(Reply::error(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number of tokens allowed (8)."),
    &["longer than the window", "(9)"], 1)]
#[case::error_as_success(Reply { body: Some(r#"{"error":{"message":"Insufficient credits","code":402}}"#.into()), ..Reply::default() },
    &["quota is used up", "Insufficient credits"], 1)]
#[case::other_error_as_success(Reply { body: Some(r#"{"error":{"message":"no such region"}}"#.into()), ..Reply::default() },
    &["refuses the request", "no such region"], 1)]
#[case::number_in_the_stream(Reply::of([Part::Error(error("401", "No auth credentials found"))]),
    &["does not accept the key"], 1)]
#[case::wrong_in_the_stream(Reply::of([Part::Error(error("invalid_request_error", "bad tool"))]),
    &["refuses the request (status 400): bad tool"], 1)]
#[case::prompt_refused_in_the_stream(Reply::of([Part::Error(error("invalid_prompt", "no"))]), &["refuses the request"], 1)]
#[case::server_fault(Reply::error(500, "server_error", "oops"), &["status 500", "oops", "Try again later"], 2)]
#[case::overloaded(Reply::error(529, "overloaded_error", "Overloaded"), &["status 529", "Overloaded"], 2)]
#[case::gateway(page(502), &["status 502). Try again later"], 2)]
#[case::too_long(Reply::error(400, "context_length_exceeded", "This model's maximum context length is 8 tokens"),
    &["longer than the window", "Start a new thread"], 1)]
#[case::too_long_by_words(Reply::error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
    &["longer than the window", "9 tokens > 8"], 1)]
#[case::refused(Reply::error(400, "invalid_request_error", "tools.0: bad schema"), &["refuses the request (status 400): tools.0"], 1)]
#[case::redirected(with_header(Reply::error(308, "", ""), "location", "https://elsewhere.example/v2"),
    &["redirects to https://elsewhere.example/v2", "BaseUrl"], 1)]
#[case::cut_at_once(Reply::of([Part::Cut]), &["ended in the middle"], 2)]
#[case::cut(says("Half of", Part::Cut), &["ended in the middle", "Try again"], 1)]
#[case::ended_too_early(says("Half of", Part::Close), &["ended in the middle"], 1)]
#[case::malformed(says("Half of", Part::Raw("data: {\"choices\": oops\n\n".into())), &["cannot be read", "no JSON", "Check that Wire"], 1)]
#[case::no_text(says("Half of", Part::Raw("data: \u{0}[1]\n\n".into())), &["cannot be read"], 1)]
#[case::overloaded_at_once(Reply::of([Part::Error(error("overloaded_error", "Overloaded"))]), &["status 529", "Overloaded"], 2)]
#[case::broken_off(says("Half of", Part::Error(error("server_error", "sk-sesame-0123456789 exploded"))),
    &["broke off its reply", "[key] exploded", "Try again"], 1)]
#[case::no_stream(Reply { body: Some("{\"object\":\"chat.completion\"}".into()), ..Reply::default() },
    &["application/json, no stream of events"], 1)]
#[case::at_its_limit(Reply { length: true, ..Reply::of([Part::Text("Half of".into())]) }, &["cut at its limit of tokens", "MaxOutputTokens"], 1)]
#[case::empty(Reply::of([]), &["an empty reply"], 1)]
#[tokio::test]
async fn a_failure_has_its_words_its_record_and_its_attempts(
    #[case] reply: Reply,
    #[case] words: &[&str],
    #[case] attempts: usize,
) {
    let kept = reply.parts.iter().any(|part| matches!(part, Part::Text(_)));
    for wire in WIRES {
        let (turn, asked) = run(wire, vec![reply.clone()]).await;
        let error = turn.error.clone().unwrap_or_default();
        assert_eq!(turn.status, TurnStatus::Failed, "{wire:?}");
        for word in words {
            assert!(error.contains(word), "{wire:?} {word}: {error}");
        }
        assert!(
            !error.contains(KEY) && !format!("{turn:?}").contains(KEY),
            "{wire:?}: {error}"
        );
        assert_eq!(asked, attempts, "{wire:?}: {error}");
        // The failure is the last Item of the record.
        let last = turn.items.last().map(|item| &item.body);
        let expected = ItemBody::Error {
            message: error.clone(),
            code: "agent_error".to_owned(),
            fatal: true,
        };
        assert_eq!(last, Some(&expected), "{wire:?}");
        // Text that was shown stays.
        assert_eq!(text(&turn), if kept { "Half of" } else { "" }, "{wire:?}");
    }
}

#[tokio::test]
async fn a_reply_that_was_filtered_says_so() {
    let raw = |event: &serde_json::Value| Part::Raw(format!("data: {event}\n\n"));
    for wire in WIRES {
        let end = match wire {
            Wire::ChatCompletions => {
                json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "content_filter" }] })
            }
            Wire::Responses => {
                let details = json!({ "reason": "content_filter" });
                json!({ "type": "response.incomplete", "response": { "status": "incomplete", "incomplete_details": details } })
            }
            Wire::Messages => json!({ "type": "message_delta", "delta": { "stop_reason": "refusal" } }),
        };
        for (parts, kept) in [
            (vec![raw(&end)], ""),
            (vec![Part::Text("Half of".into()), raw(&end)], "Half of"),
        ] {
            let (turn, asked) = run(wire, vec![Reply::of(parts)]).await;
            let error = turn.error.clone().unwrap_or_default();
            assert_eq!((turn.status, asked), (TurnStatus::Failed, 1), "{wire:?}");
            assert!(
                error.contains("its provider filtered the reply"),
                "{wire:?}: {error}"
            );
            assert_eq!(text(&turn), kept, "{wire:?}");
            let fatal = |item: &bobbin_model::Item| matches!(&item.body, ItemBody::Error { code, fatal: true, .. } if code == "agent_error");
            assert!(turn.items.last().is_some_and(fatal), "{wire:?}");
        }
    }
}

#[tokio::test]
async fn a_provider_that_takes_the_request_and_says_nothing_at_all_is_given_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            held.push(connection);
        }
    });
    for wire in WIRES {
        let workspace = TestWorkspace::default();
        let mut settings = settings(wire, &format!("http://{address}/v1"));
        settings.limits.idle = Duration::from_millis(300);
        let turn = Bench::with(&workspace, settings, None).await.run("hello").await;
        let error = turn.error.clone().unwrap_or_default();
        assert!(
            error.contains("silent for 0.3 seconds") && error.contains("IdleSeconds"),
            "{wire:?}: {error}"
        );
        assert_eq!((turn.status, text(&turn).as_str()), (TurnStatus::Failed, ""));
    }
    accepting.abort();
}

fn error(kind: &str, message: &str) -> bobbin_testkit::ErrorPart {
    bobbin_testkit::ErrorPart {
        kind: kind.into(),
        message: message.into(),
    }
}

#[tokio::test]
async fn a_passing_failure_is_not_seen_by_the_user() {
    for wire in WIRES {
        let limited = with_header(Reply::error(429, "rate_limit_error", "slow"), "retry-after", "0");
        let (turn, asked) = run(wire, vec![limited, Reply::of([Part::Text("There.".into())])]).await;
        assert_eq!(
            (turn.status, text(&turn), asked),
            (TurnStatus::Completed, "There.".to_owned(), 2),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn without_a_key_the_user_is_told_where_to_put_one() {
    let script = Script {
        key: Some(KEY.into()),
        ..Script::default()
    };
    let server = ModelServer::start(script).await.unwrap();
    for (wire, needs_key) in WIRES.into_iter().zip([false, true, false]) {
        let workspace = TestWorkspace::default();
        let settings = bobbin_models::ProviderSettings {
            key: None,
            needs_key,
            key_source: "set the variable P_KEY".into(),
            ..settings(wire, &server.base_url())
        };
        let bench = Bench::with(&workspace, settings, None).await;
        let error = bench.run("hello").await.error.unwrap();
        assert!(
            error.contains("wants a key and there is none: set the variable P_KEY"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn nobody_there_and_a_name_nobody_has_are_told() {
    // A port that was free a moment ago.
    let address = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let workspace = TestWorkspace::default();
    let gone = settings(Wire::Responses, &format!("http://{address}/v1"));
    let error = Bench::with(&workspace, gone, None)
        .await
        .run("hello")
        .await
        .error
        .unwrap();
    assert!(
        error.contains("cannot be reached") && error.contains("refused"),
        "{error}"
    );
    let workspace = TestWorkspace::default();
    let some = settings(Wire::Responses, &format!("http://{address}/v1"));
    let error = Bench::with(&workspace, some, Some("q/x"))
        .await
        .run("hello")
        .await
        .error
        .unwrap();
    assert!(
        error.contains("no model \"q/x\"") && error.contains("p/m") && error.contains("offline"),
        "{error}"
    );
}

#[tokio::test]
async fn a_provider_that_goes_silent_is_given_up() {
    let server = ModelServer::start(Script::of([says("Half of", Part::Stall)]))
        .await
        .unwrap();
    let workspace = TestWorkspace::default();
    let mut settings = settings(Wire::Messages, &server.base_url());
    settings.limits.idle = Duration::from_millis(300);
    let turn = Bench::with(&workspace, settings, None).await.run("hello").await;
    let error = turn.error.clone().unwrap();
    assert!(
        error.contains("silent for 0.3 seconds") && error.contains("IdleSeconds"),
        "{error}"
    );
    assert_eq!(text(&turn), "Half of");
    server.until_abandoned(1).await;
}

#[rstest]
#[case::chat(Wire::ChatCompletions)]
#[case::messages(Wire::Messages)]
#[tokio::test]
async fn a_client_has_the_key_that_is_missing_here(#[case] wire: Wire) {
    let script = Script {
        key: Some(KEY.to_owned()),
        ..Script::default()
    };
    let server = ModelServer::start(script).await.unwrap();
    let workspace = TestWorkspace::default();
    let keyless = bobbin_models::ProviderSettings {
        key: None,
        key_variable: Some("P_KEY".into()),
        needs_key: true,
        key_source: "set the variable P_KEY".into(),
        ..settings(wire, &server.base_url())
    };
    let bench = Bench::with(&workspace, keyless, None).await;
    let keys = |name: &str, key: &str| {
        ClientKeys::from(
            [(name.to_owned(), key.to_owned())]
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
        )
    };
    let failed = bench.run("hello").await.error.unwrap();
    assert!(failed.contains("P_KEY"), "{failed}");
    let other = bench.run_with_keys("hello", keys("OTHER_KEY", KEY)).await;
    assert_eq!(other.error, Some(failed));
    assert_eq!(server.asked_count(), 0);
    let turn = bench.run_with_keys("hello", keys("P_KEY", KEY)).await;
    assert_eq!(turn.status, TurnStatus::Completed, "{:?}", turn.error);
}

#[tokio::test]
async fn a_clients_key_is_in_no_error() {
    let refusal = Reply::error(
        401,
        "invalid_api_key",
        "Incorrect API key provided: sk-of-the-client.",
    );
    let server = ModelServer::start(Script::of(vec![refusal])).await.unwrap();
    let workspace = TestWorkspace::default();
    let keyless = bobbin_models::ProviderSettings {
        key: None,
        key_variable: Some("P_KEY".into()),
        ..settings(Wire::ChatCompletions, &server.base_url())
    };
    let bench = Bench::with(&workspace, keyless, None).await;
    let keys = BTreeMap::from([("P_KEY".to_owned(), "sk-of-the-client".to_owned())]);
    let error = bench.run_with_keys("hello", keys.into()).await.error.unwrap();
    assert!(!error.contains("sk-of-the-client"), "{error}");
}
