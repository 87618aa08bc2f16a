//! Pictures in a user's message, on each wire.

use bobbin_model::{InputPart, ItemBody, Turn, TurnStatus};
use bobbin_models::{ModelFacts, ProviderSettings, Wire};
use bobbin_testkit::{ModelServer, Part, Reply, Script, ScriptedCall, TestWorkspace};
use serde_json::{Value, json};

use crate::support::{Bench, WIRES, models, settings};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The same in base64.
const BASE64: &str = "iVBORw0KGgo=";

fn input() -> Vec<InputPart> {
    let picture = |path: &str| InputPart::LocalImage {
        path: path.into(),
        mime_type: None,
        file_name: Some("kettle.png".into()),
    };
    let text = |text: &str| InputPart::Text { text: text.into() };
    vec![
        text("What is "),
        picture("k.png"),
        text(" and "),
        picture("../k.png"),
        text("?"),
        InputPart::Image {
            url: "http://127.0.0.1:9/pot.png".into(),
        },
    ]
}

/// Returns the user's message as it was sent.
async fn sent(wire: Wire, images: bool) -> (Value, Vec<String>) {
    let said = || Reply::of([Part::Text("A kettle.".into())]);
    let server = ModelServer::start(Script::of([said()])).await.unwrap();
    let workspace = TestWorkspace::default();
    std::fs::write(workspace.path().join("k.png"), PNG).unwrap();
    let settings = seeing(images, settings(wire, &server.base_url()));
    let bench = Bench::with(&workspace, settings, None).await;
    let turn = bench.run_parts(input()).await;
    let notes = turn.items.iter().filter_map(|item| match &item.body {
        ItemBody::Error { code, message, .. } if code == "picture_not_shown" => Some(message.clone()),
        _ => None,
    });
    let body = &server.asked()[0].body;
    let messages = if wire == Wire::Responses {
        &body["input"]
    } else {
        &body["messages"]
    };
    let user = messages
        .as_array()
        .unwrap()
        .iter()
        .find(|message| message["role"] == "user");
    (user.unwrap()["content"].clone(), notes.collect())
}

#[tokio::test]
async fn a_model_that_sees_is_shown_the_pictures_it_may_be_shown() {
    let url = format!("data:image/png;base64,{BASE64}");
    for wire in WIRES {
        let (content, notes) = sent(wire, true).await;
        let mut parts = content.as_array().unwrap().clone();
        // The mark of the provider's cache.
        for part in &mut parts {
            part.as_object_mut().unwrap().remove("cache_control");
        }
        let (before, behind) = (
            "What is [image: kettle.png]",
            " and [image: kettle.png]?[image: http://127.0.0.1:9/pot.png]",
        );
        let text = |kind: &str, text: &str| json!({ "type": kind, "text": text });
        let (kind, picture) = match wire {
            Wire::ChatCompletions => (
                "text",
                json!({ "type": "image_url", "image_url": { "url": url } }),
            ),
            Wire::Responses => ("input_text", json!({ "type": "input_image", "image_url": url })),
            Wire::Messages => {
                let source = json!({ "type": "base64", "media_type": "image/png", "data": BASE64 });
                ("text", json!({ "type": "image", "source": source }))
            }
        };
        assert_eq!(parts, [text(kind, before), picture, text(kind, behind)]);
        // The picture outside of the workspace is not read, the one on this machine not fetched. The user gets notes.
        assert!(notes.len() == 2 && notes[0].contains("../k.png"), "{notes:?}");
        assert!(
            notes[1].contains("pot.png") && notes[1].contains("refused"),
            "{notes:?}"
        );
    }
}

#[tokio::test]
async fn a_model_that_does_not_see_is_given_the_names() {
    let name = "What is [image: kettle.png] and [image: kettle.png]?[image: http://127.0.0.1:9/pot.png]";
    for wire in WIRES {
        let (content, notes) = sent(wire, false).await;
        let text = content.as_str().or_else(|| content[0]["text"].as_str());
        assert_eq!(text, Some(name));
        let note = "This model does not see pictures. It gets their names alone: kettle.png, kettle.png, http://127.0.0.1:9/pot.png.";
        assert_eq!(notes, [note]);
    }
}

/// Returns a call that shows the model `k.png`.
fn view() -> ScriptedCall {
    ScriptedCall {
        id: "c1".into(),
        tool: "ViewImage".into(),
        arguments: json!({ "path": "k.png" }),
    }
}

/// Returns the settings of a provider whose model sees pictures or not.
fn seeing(images: bool, settings: ProviderSettings) -> ProviderSettings {
    let facts = ModelFacts {
        images: Some(images),
        ..ModelFacts::default()
    };
    ProviderSettings { facts, ..settings }
}

#[tokio::test]
async fn a_model_that_sees_looks_at_a_picture_of_the_workspace() {
    for wire in WIRES {
        let call = view();
        let replies = [
            Reply::of([Part::Call(call)]),
            Reply::of([Part::Text("A kettle.".into())]),
        ];
        let server = ModelServer::start(Script::of(replies)).await.unwrap();
        let workspace = TestWorkspace::default();
        std::fs::write(workspace.path().join("k.png"), PNG).unwrap();
        let settings = seeing(true, settings(wire, &server.base_url()));
        let bench = Bench::with(&workspace, settings, None).await;
        bench.run("What is in k.png?").await;
        let asked = server.asked();
        let [first, second] = asked.as_slice() else {
            panic!("{} requests", asked.len());
        };
        assert!(!first.body.to_string().contains(BASE64), "{wire:?}");
        let name = if wire == Wire::Responses {
            "input"
        } else {
            "messages"
        };
        let last = second.body[name].as_array().unwrap().last().unwrap();
        assert_eq!(last["role"], "user", "{wire:?}");
        assert_eq!(last.to_string().matches(BASE64).count(), 1, "{wire:?}: {last}");
    }
}

/// Returns the codes of the errors in a Turn's record.
fn errors(turn: &Turn) -> Vec<&str> {
    let codes = turn.items.iter().filter_map(|item| match &item.body {
        ItemBody::Error { code, .. } => Some(code.as_str()),
        _ => None,
    });
    codes.collect()
}

#[tokio::test]
async fn a_picture_that_the_provider_refuses_is_left_out_of_this_and_every_later_request() {
    const TEXT: &str = "[a picture that the model's provider refused]";
    for wire in WIRES {
        let view = view();
        let view_again = ScriptedCall {
            id: "c2".into(),
            ..view.clone()
        };
        let replies = [
            Reply::of([Part::Call(view)]),
            Reply::error(400, "", "Could not process that."),
            Reply::of([Part::Text("A kettle.".into())]),
            Reply::of([Part::Text("Tea.".into())]),
            Reply::of([Part::Call(view_again)]),
            Reply::of([Part::Text("A pot.".into())]),
        ];
        let server = ModelServer::start(Script::of(replies)).await.unwrap();
        let workspace = TestWorkspace::default();
        std::fs::write(workspace.path().join("k.png"), PNG).unwrap();
        let settings = seeing(true, settings(wire, &server.base_url()));
        let bench = Bench::with(&workspace, settings.clone(), None).await;
        let turn = bench.run("What is in k.png?").await;
        assert_eq!(turn.status, TurnStatus::Completed, "{wire:?}");
        assert_eq!(errors(&turn), ["pictures_refused"], "{wire:?}");
        assert_eq!(errors(&bench.run("Tea?").await), [""; 0], "{wire:?}");
        // Another process also knows the refusal, and tries a new picture.
        let bench = bench.reopen(&workspace, models(settings)).await;
        bench.run("And now?").await;
        let counts = server.asked().into_iter().map(|asked| {
            let body = asked.body.to_string();
            (body.matches(BASE64).count(), body.matches(TEXT).count())
        });
        let counts: Vec<_> = counts.collect();
        assert_eq!(
            counts,
            [(0, 0), (1, 0), (0, 1), (0, 1), (0, 1), (1, 1)],
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn a_refusal_that_has_another_reason_ends_the_turn_and_leaves_the_pictures() {
    let wire = Wire::Messages;
    let refused = || Reply::error(400, "", "No.");
    let replies = [refused(), refused(), Reply::of([Part::Text("A kettle.".into())])];
    let server = ModelServer::start(Script::of(replies)).await.unwrap();
    let workspace = TestWorkspace::default();
    std::fs::write(workspace.path().join("k.png"), PNG).unwrap();
    let settings = seeing(true, settings(wire, &server.base_url()));
    let bench = Bench::with(&workspace, settings, None).await;
    let turn = bench.run_parts(input()).await;
    assert_eq!(turn.status, TurnStatus::Failed);
    bench.run("Again?").await;
    let counts = server
        .asked()
        .into_iter()
        .map(|asked| asked.body.to_string().matches(BASE64).count());
    assert_eq!(counts.collect::<Vec<_>>(), [1, 0, 1]);
}
