//! Lists of models.

use std::time::Duration;

use bobbin_models::{ModelSet, Network, Provider, ProviderError, ProviderSettings, Proxies, Wire};
use bobbin_testkit::{ModelServer, Script};

use crate::support::{KEY, WIRES, models, settings};

fn script() -> Script {
    Script {
        models: vec!["m".into(), "n".into()],
        key: Some(KEY.into()),
        ..Script::default()
    }
}

async fn ids(models: &ModelSet) -> Vec<String> {
    let listed = models.list().await.unwrap();
    listed.into_iter().map(|model| model.id).collect()
}

#[tokio::test]
async fn a_provider_is_asked_once_and_settings_add_to_what_it_says() {
    for wire in WIRES {
        let server = ModelServer::start(script()).await.unwrap();
        let mut settings = settings(wire, &server.base_url());
        settings.models = vec!["mine".into(), "n".into()];
        let models = models(settings);
        let expected = ["offline", "p/mine", "p/n", "p/m"];
        assert_eq!(ids(&models).await, expected);
        drop(server);
        assert_eq!(ids(&models).await, expected, "from the cache");
    }
}

#[tokio::test]
async fn failures_are_typed_and_not_kept() {
    let server = ModelServer::start(script()).await.unwrap();
    let keyless = ProviderSettings {
        key: None,
        ..settings(Wire::Messages, &server.base_url())
    };
    assert!(matches!(
        models(keyless).list().await,
        Err(ProviderError::NoKey { .. })
    ));
    let wrong = ProviderSettings {
        key: Some(bobbin_models::Key::new("sk-other-key")),
        ..settings(Wire::ChatCompletions, &server.base_url())
    };
    let error = models(wrong).list().await.unwrap_err();
    assert!(
        matches!(error, ProviderError::WrongKey { .. }) && !error.to_string().contains("sk-other-key"),
        "{error}"
    );
    let elsewhere = settings(
        Wire::ChatCompletions,
        &server.base_url().replace("/v1", "/v1/models/deep"),
    );
    let elsewhere = models(elsewhere).list().await;
    assert!(
        elsewhere.is_ok(),
        "the list is found below any path: {elsewhere:?}"
    );
}

#[tokio::test]
async fn a_provider_that_fails_is_left_out_unless_all_do() {
    let server = ModelServer::start(script()).await.unwrap();
    let network = Network::new(&Proxies::default()).unwrap();
    let good = settings(Wire::Responses, &server.base_url());
    let mut bad = settings(Wire::Responses, "http://127.0.0.1:9/v1");
    bad.name = "q".into();
    bad.limits.idle = Duration::from_secs(2);
    let both = [bad.clone(), good].map(|settings| Provider::new(settings, &network).unwrap());
    let both = ModelSet::new(std::sync::Arc::new(bobbin_offline::Offline), both.to_vec(), None);
    assert_eq!(ids(&both).await, ["offline", "p/m", "p/n"]);
    let alone = ModelSet::new(
        std::sync::Arc::new(bobbin_offline::Offline),
        vec![Provider::new(bad.clone(), &network).unwrap()],
        None,
    );
    assert!(matches!(
        alone.list().await,
        Err(ProviderError::Unreachable { .. })
    ));
    bad.offered = false;
    let hidden = ModelSet::new(
        std::sync::Arc::new(bobbin_offline::Offline),
        vec![Provider::new(bad, &network).unwrap()],
        None,
    );
    assert_eq!(ids(&hidden).await, ["offline"]);
}

#[tokio::test]
async fn a_listed_model_is_known_and_understood_by_its_bare_name_if_one_provider_has_it() {
    let server = ModelServer::start(script()).await.unwrap();
    let network = Network::new(&Proxies::default()).unwrap();
    let named = |name: &str, models: &[&str]| {
        let mut settings = settings(Wire::ChatCompletions, &server.base_url());
        settings.name = name.into();
        settings.models = models.iter().map(|&model| model.into()).collect();
        Provider::new(settings, &network).unwrap()
    };
    let providers = vec![named("p", &[]), named("q", &["own"])];
    let offline = std::sync::Arc::new(bobbin_offline::Offline);
    let models = ModelSet::new(offline.clone(), providers.clone(), None);
    assert_eq!(models.known(), ["offline", "q/own"]);
    models.list().await.unwrap();
    assert_eq!(models.known(), ["offline", "q/own", "p/m", "p/n", "q/m", "q/n"]);
    for (name, full) in [
        ("own", Some("q/own")),
        ("p/m", Some("p/m")),
        ("Q/n", Some("q/n")),
        ("OFFLINE", Some("offline")),
        // Two providers have it, and neither is the default model's.
        ("m", None),
        ("tea", None),
    ] {
        assert_eq!(models.full_name(name).as_deref(), full, "{name}");
    }
    let models = ModelSet::new(offline.clone(), providers, Some("q/own".into()));
    models.list().await.unwrap();
    assert_eq!(models.full_name("m").as_deref(), Some("q/m"));
    let models = ModelSet::new(offline, vec![named("p", &[])], None);
    models.list().await.unwrap();
    assert_eq!(models.full_name("n").as_deref(), Some("p/n"));
}

#[tokio::test]
async fn a_usual_model_that_nobody_has_is_an_error_with_the_names_that_exist() {
    let offline = std::sync::Arc::new(bobbin_offline::Offline);
    let models = ModelSet::new(offline, Vec::new(), Some("nobody/m".into()));
    assert_eq!(models.known(), ["offline"]);
    let error = models.choose(None).unwrap_err();
    assert_eq!((&*error.name, &*error.known), ("nobody/m", "offline"));
}
