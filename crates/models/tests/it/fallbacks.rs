//! Another model continues when a provider fails, and the Turn has a note of it.

use bobbin_model::{ItemBody, Turn, TurnStatus};
use bobbin_models::{ModelSet, Network, Provider, ProviderSettings, Proxies, Wire};
use bobbin_testkit::{ModelServer, Part, Reply, Script, TestWorkspace};

use crate::support::{Bench, settings};

/// Returns the models `p/m`, the default one, and `q/n`, with fallbacks.
fn models_of(first: &ModelServer, other: &ModelServer, fallbacks: &[&str]) -> ModelSet {
    let second = ProviderSettings {
        name: "q".into(),
        ..settings(Wire::Messages, &other.base_url())
    };
    let network = Network::new(&Proxies::default()).unwrap();
    let both = [settings(Wire::Responses, &first.base_url()), second];
    let both = both.map(|settings| Provider::new(settings, &network).unwrap());
    let names = fallbacks.iter().map(|name| (*name).to_owned()).collect();
    ModelSet::new(
        std::sync::Arc::new(bobbin_offline::Offline),
        both.to_vec(),
        Some("p/m".into()),
    )
    .with_fallbacks(names)
}

/// Runs a Turn with `p/m`, which gives a reply, and a fallback that says hello.
async fn run(reply: Reply, fallbacks: &[&str]) -> (Turn, usize) {
    let failing = ModelServer::start(Script::of([reply])).await.unwrap();
    let other = ModelServer::start(Script::of([Reply::of([Part::Text("Hello.".into())])]))
        .await
        .unwrap();
    let models = models_of(&failing, &other, fallbacks);
    let workspace = TestWorkspace::default();
    let turn = Bench::with_models(&workspace, models, None)
        .await
        .run("say hi")
        .await;
    (turn, other.asked().len())
}

fn notes(turn: &Turn) -> Vec<&str> {
    let notes = turn.items.iter().filter_map(|item| match &item.body {
        ItemBody::Error {
            message,
            code,
            fatal: false,
        } if code == "model_fallback" => Some(message.as_str()),
        _ => None,
    });
    notes.collect()
}

#[tokio::test]
async fn a_provider_that_fails_is_replaced_and_the_turn_says_so() {
    for reply in [
        Reply::error(503, "server_error", "down"),
        Reply::error(429, "insufficient_quota", "spent"),
        Reply::of([Part::Cut]),
    ] {
        let (turn, asked) = run(reply, &["nobody/x", "p/m", "q/n"]).await;
        assert_eq!(
            (turn.status, asked),
            (TurnStatus::Completed, 1),
            "{:?}",
            turn.error
        );
        let notes = notes(&turn);
        assert!(
            notes.len() == 1 && notes[0].contains("p/m") && notes[0].ends_with("Going on with \"q/n\"."),
            "{notes:?}"
        );
    }
    let (turn, _) = run(Reply::error(503, "server_error", "down"), &["offline"]).await;
    assert_eq!(turn.status, TurnStatus::Completed);
}

#[tokio::test]
async fn what_another_provider_cannot_mend_is_told() {
    for reply in [
        Reply::error(401, "invalid_api_key", "no"),
        Reply::error(400, "context_length_exceeded", "too long"),
        Reply::of([Part::Text("Half of".into()), Part::Cut]),
    ] {
        let (turn, asked) = run(reply, &["q/n"]).await;
        assert_eq!((turn.status, asked), (TurnStatus::Failed, 0), "{:?}", turn.error);
        assert!(notes(&turn).is_empty());
    }
}

#[tokio::test]
async fn a_fallback_with_a_wrong_key_is_told_and_not_asked_before_the_model_that_was_chosen() {
    let down = || Reply::error(503, "server_error", "down");
    let hello = Reply::of([Part::Text("Hello.".into())]);
    // Each Turn asks twice while it is down.
    let first = ModelServer::start(Script::of([down(), down(), hello]))
        .await
        .unwrap();
    let other = ModelServer::start(Script::of([Reply::error(401, "invalid_api_key", "no")]))
        .await
        .unwrap();
    let workspace = TestWorkspace::default();
    let bench = Bench::with_models(&workspace, models_of(&first, &other, &["q/n"]), None).await;
    let turn = bench.run("say hi").await;
    let error = turn.error.clone().unwrap_or_default();
    assert_eq!(turn.status, TurnStatus::Failed);
    assert!(
        error.contains("q/n") && error.contains("does not accept the key"),
        "{error}"
    );
    assert_eq!(notes(&turn).len(), 1);
    let turn = bench.run("say hi").await;
    assert_eq!(
        (turn.status, other.asked().len()),
        (TurnStatus::Completed, 1),
        "{:?}",
        turn.error
    );
    assert!(notes(&turn).is_empty(), "{:?}", notes(&turn));
}
