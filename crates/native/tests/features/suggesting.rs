//! `workspace/commitMessage/suggest` and `welcome/suggestions`, with the offline model and a real git.

use std::path::Path;
use std::sync::Arc;

use bobbin_agent::Helpers;
use bobbin_agent_api::Services;
use bobbin_children::{Children, Environment, Exit, Limits, ProcessSpec};
use bobbin_offline::Offline;
use bobbin_testkit::{Client, Link};
use bobbin_tools::{Git, Sandbox};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::Server;

fn environment() -> Environment {
    let mut environment = Environment::empty();
    environment.set("PATH", "/usr/bin:/bin");
    environment.set("HOME", "/nonexistent");
    environment
}

async fn git(root: &Path, args: &[&str]) {
    let spec = ProcessSpec::new("git", root, environment()).args(args);
    let children = Children::new(None);
    let outcome = children
        .run(spec, &Limits::default(), None, &CancellationToken::new())
        .await;
    assert_eq!(outcome.unwrap().exit, Exit::Exited(0));
}

fn link(server: &Server) -> Link {
    let git = Git::new(Children::new(None), environment(), Sandbox::default());
    let helpers = Helpers::new(Arc::new(Offline), git);
    let services = Services {
        suggestions: Some(Arc::new(helpers)),
        ..server.services()
    };
    Server::link_to(&server.native(services))
}

async fn ask(client: &mut Client, method: &str, params: Value) -> Value {
    let mut answer = client.answer_to(method, params).await;
    answer["id"].take();
    answer
}

#[tokio::test]
async fn a_commit_message_is_made_of_what_has_changed() {
    let server = Server::start().await;
    let root = server.threads.settings().workspace.clone();
    let mut client = Client::ready(link(&server), "test", json!({})).await;
    let thread = client.start_thread().await;
    let method = "workspace/commitMessage/suggest";
    let request = |paths: Value| json!({ "threadId": thread, "paths": paths });
    let mut seen = vec![ask(&mut client, method, request(json!(["boil.txt"]))).await];
    // Git's own text depends on its version.
    let why = seen[0]["error"]["data"]["detail"].take();
    assert!(why.as_str().unwrap().contains("not a git repository"), "{why}");
    git(&root, &["init", "-q"]).await;
    std::fs::write(root.join("boil.txt"), "100\n").unwrap();
    for params in [
        request(json!(["boil.txt"])),
        request(json!(["cold.txt"])),
        request(json!(["../boil.txt"])),
        request(json!([])),
        json!({ "threadId": "thread_20270104_none00", "paths": ["boil.txt"] }),
    ] {
        seen.push(ask(&mut client, method, params).await);
    }
    insta::assert_snapshot!(server.redact(&seen));
}

#[tokio::test]
async fn ideas_come_from_the_conversations_that_there_were() {
    let server = Server::start().await;
    let mut client = Client::ready(link(&server), "test", json!({})).await;
    let method = "welcome/suggestions";
    let identity = json!({ "channelName": "test" });
    let mut seen = vec![ask(&mut client, method, json!({ "identity": identity })).await];
    for title in ["Fill the kettle", "Boil"] {
        let thread = client.start_thread().await;
        let rename = json!({ "threadId": thread, "displayName": title });
        client.call("thread/rename", rename).await;
    }
    for params in [
        json!({ "identity": identity, "maxItems": 1 }),
        json!({ "identity": identity, "maxItems": 5 }),
        json!({ "identity": { "channelName": " " } }),
    ] {
        seen.push(ask(&mut client, method, params).await);
    }
    let fingerprints: Vec<String> = seen
        .iter_mut()
        .filter_map(|answer| Some(answer.get_mut("result")?.get_mut("fingerprint")?.take()))
        .map(|fingerprint| fingerprint.as_str().unwrap().to_owned())
        .collect();
    assert!(fingerprints.len() == 2 && fingerprints[0] != fingerprints[1]);
    // The order of two that changed at the same moment is not defined.
    let idea = &mut seen[1]["result"]["items"][0];
    let prompt = idea["prompt"].take();
    assert!(["Fill the kettle", "Boil"].contains(&prompt.as_str().unwrap()));
    assert_eq!(
        idea["title"].take(),
        json!(format!("Again: {}", prompt.as_str().unwrap()))
    );
    insta::assert_snapshot!(server.redact(&seen));
}

#[tokio::test]
async fn the_extension_is_announced() {
    let server = Server::start().await;
    let mut client = Client::new(link(&server));
    let info = json!({ "clientInfo": { "name": "test", "version": "1" } });
    let answer = client.answer_to("initialize", info).await;
    let extensions = &answer["result"]["capabilities"]["extensions"];
    assert_eq!(extensions["welcomeSuggestions"], true);
}
