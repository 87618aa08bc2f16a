//! Keys of providers (20.6, 21.5).

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use bobbin_agent_api::ConfigValueNews;
use bobbin_agent_api::model_providers::{
    ConfiguredProvider, KeySource, ModelProviders, ProviderDraft, ProviderEdit, ProviderError, ProviderTest,
};
use bobbin_core::Threads;
use bobbin_model::ProviderProtocol;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending, ready};
use serde_json::{Value, json};

use crate::support::{Kiln, Server, transcript};

/// The key of these tests.
const KEY: &str = "sk-of-the-oven";

/// A file of providers in memory.
struct Drawer {
    threads: Arc<Threads>,
    models: Arc<Kiln>,
    /// The key of `oven`.
    key: Mutex<Option<String>>,
    edits: Mutex<Vec<(&'static str, ProviderEdit)>>,
    /// Whether the file cannot be written.
    is_locked: bool,
}

fn provider(id: &str, offered: bool, has_key: bool, key_source: KeySource) -> ConfiguredProvider {
    ConfiguredProvider {
        id: id.to_owned(),
        display_name: (id == "oven").then(|| "The oven".to_owned()),
        protocol: ProviderProtocol::ChatCompletions,
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        has_key,
        key_source,
        offered,
        max_output_tokens: None,
        idle_ms: 1000,
        retries: 0,
    }
}

impl ModelProviders for Drawer {
    fn list(&self) -> BoxFuture<'_, Result<Vec<ConfiguredProvider>, String>> {
        let has_key = self.key.lock().unwrap().is_some();
        let of_oven = if has_key {
            KeySource::Stored
        } else {
            KeySource::Nowhere
        };
        let variable = |name: &str| KeySource::Variable(name.to_owned());
        let all = vec![
            provider("kiln", true, true, variable("KILN_KEY")),
            provider("oven", true, has_key, of_oven),
            provider("grill", true, true, KeySource::Elsewhere),
            provider("fridge", true, false, KeySource::Withheld),
            provider("stove", false, false, variable("STOVE_KEY")),
            provider("candle", false, false, KeySource::Nowhere),
        ];
        ready(Ok(all)).boxed()
    }

    fn edit(
        &self,
        source: &'static str,
        edit: ProviderEdit,
    ) -> BoxFuture<'_, Result<Option<ConfiguredProvider>, ProviderError>> {
        if self.is_locked {
            let why = "the file cannot be written".to_owned();
            return ready(Err(ProviderError::Unwritable(why))).boxed();
        }
        let ProviderEdit::Update(ProviderDraft { id, api_key, .. }) = &edit else {
            panic!("{edit:?}")
        };
        if id == "oven" {
            let key = api_key.clone().flatten();
            self.models.oven_has_key.store(key.is_some(), Ordering::Relaxed);
            *self.key.lock().unwrap() = key;
        }
        self.edits.lock().unwrap().push((source, edit));
        let news = ConfigValueNews {
            source,
            regions: vec!["workspace.providers".to_owned()],
            keys: vec!["providers".to_owned()],
        };
        self.threads.broadcasts().send(news, 0);
        ready(Ok(None)).boxed()
    }

    fn test(&self, _: ProviderDraft) -> BoxFuture<'static, Result<ProviderTest, ProviderError>> {
        pending().boxed()
    }
}

async fn start(is_locked: bool) -> (Server, Arc<Drawer>) {
    let mut server = Server::start().await;
    let drawer = Arc::new(Drawer {
        threads: server.threads.clone(),
        models: server.models.clone(),
        key: Mutex::default(),
        edits: Mutex::default(),
        is_locked,
    });
    server.own_providers = Some(drawer.clone());
    (server, drawer)
}

fn edit(source: &'static str, key: Option<&str>) -> (&'static str, ProviderEdit) {
    let draft = ProviderDraft {
        id: "oven".to_owned(),
        api_key: Some(key.map(str::to_owned)),
        ..ProviderDraft::default()
    };
    (source, ProviderEdit::Update(draft))
}

#[tokio::test]
async fn a_key_is_stored_by_a_login_and_removed_by_a_logout() {
    let (server, drawer) = start(false).await;
    let (mut client, mut other) = (server.editor().await, server.editor().await);
    let mut seen = vec![client.answer_to("providers/list", json!({})).await];
    other.call("providers/list", json!({})).await;
    seen.push(
        client
            .answer_to("providers/login", json!({ "provider": "oven" }))
            .await,
    );
    let chosen = json!({ "provider": "oven", "method": "api-key" });
    seen.push(client.answer_to("providers/login", chosen).await);
    let input = json!({ "provider": "oven", "data": { "api-key": format!(" {KEY}\n") } });
    seen.push(client.answer_to("providers/loginInput", input).await);
    seen.push(client.wait_for("providers/updated").await);
    // The new key is known to every editor that has asked for providers.
    let updated = other.wait_for("providers/updated").await;
    assert_eq!(updated["params"]["auth"]["source"], "login");
    seen.push(
        client
            .answer_to("providers/logout", json!({ "provider": "oven" }))
            .await,
    );
    seen.push(client.wait_for("providers/updated").await);
    transcript!(server, seen);
    let edits = drawer.edits.lock().unwrap().clone();
    assert_eq!(
        edits,
        [
            edit("providers/loginInput", Some(KEY)),
            edit("providers/logout", None)
        ]
    );
    client.notify("exit", json!({})).await;
    let mut rest = seen;
    while let Some(message) = client.next().await {
        rest.push(message);
    }
    let all = Value::from(rest).to_string();
    assert!(!all.contains(KEY), "{all}");
}

#[tokio::test]
async fn an_editor_that_has_asked_for_nothing_gets_the_provider_of_its_login_only() {
    let (server, _) = start(false).await;
    let (mut client, mut other) = (server.editor().await, server.editor().await);
    let input = json!({ "provider": "oven", "data": { "api-key": KEY } });
    assert_eq!(
        client.call("providers/loginInput", input).await,
        json!({ "action": "done" })
    );
    let updated = client.wait_for("providers/updated").await;
    assert_eq!(updated["params"]["id"], "oven");
    other.call("jobs/list", json!({})).await;
    assert_eq!((client.unread(), other.unread()), (0, 0));
}

#[tokio::test]
async fn what_cannot_be_logged_in_is_refused_and_the_key_is_not_repeated() {
    let (server, drawer) = start(false).await;
    let mut client = server.editor().await;
    let data = json!({ "api-key": KEY });
    for (method, params) in [
        ("providers/login", json!({ "provider": "nothing" })),
        ("providers/login", json!({ "provider": "fridge" })),
        ("providers/login", json!({ "provider": "candle" })),
        (
            "providers/login",
            json!({ "provider": "oven", "method": "device" }),
        ),
        ("providers/login", json!({})),
        (
            "providers/loginInput",
            json!({ "provider": "nothing", "data": data }),
        ),
        (
            "providers/loginInput",
            json!({ "provider": "fridge", "data": data }),
        ),
        ("providers/loginInput", json!({ "provider": "oven", "data": KEY })),
        (
            "providers/loginInput",
            json!({ "provider": "oven", "data": { "api-key": format!("{KEY} 2") } }),
        ),
        (
            "providers/loginInput",
            json!({ "provider": "oven", "data": { "api-key": " " } }),
        ),
        ("providers/logout", json!({ "provider": "nothing" })),
        ("providers/logout", json!({ "provider": "kiln" })),
        ("providers/logout", json!({ "provider": "grill" })),
    ] {
        let error = client.error(method, params.clone()).await;
        assert_eq!(error["code"], -32602, "{method} {params}");
        assert!(!error.to_string().contains(KEY), "{error}");
    }
    // Nobody is logged in, so nothing is to be done.
    for provider in ["oven", "stove"] {
        let out = client
            .call("providers/logout", json!({ "provider": provider }))
            .await;
        assert_eq!(out, json!({}));
    }
    assert!(drawer.edits.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_an_error_without_the_key() {
    let (server, _) = start(true).await;
    let mut client = server.editor().await;
    let input = json!({ "provider": "oven", "data": { "api-key": KEY } });
    let error = client.error("providers/loginInput", input).await;
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32603), &json!("the file cannot be written"))
    );
}

#[tokio::test]
async fn an_editor_elsewhere_stores_no_key() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let listed = client.call("providers/list", json!({})).await;
    assert!(!listed.to_string().contains("login"), "{listed}");
    for (method, params) in [
        ("providers/login", json!({ "provider": "oven" })),
        (
            "providers/loginInput",
            json!({ "provider": "oven", "data": { "api-key": KEY } }),
        ),
        ("providers/logout", json!({ "provider": "oven" })),
    ] {
        let error = client.error(method, params).await;
        assert_eq!(error["code"], -32603, "{method}");
        assert!(
            error["message"].as_str().unwrap().contains("`bobbin setup`"),
            "{error}"
        );
    }
}
