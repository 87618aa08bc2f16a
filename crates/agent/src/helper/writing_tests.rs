//! Tests of texts that editors rewrite and complete.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bobbin_agent_api::model::{
    Message, Model, ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink, Stop,
};
use bobbin_agent_api::suggest::{
    CompletionRequest, RewritePiece, RewriteRequest, SuggestError, Suggestions as _, Writer,
};
use bobbin_children::{Children, Environment};
use bobbin_model::{ClientKeys, Effort, InputPart};
use bobbin_offline::Offline;
use bobbin_tools::{Git, Sandbox};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Helpers;

/// Replies with its events, and stores its requests.
#[derive(Default)]
struct Scribe {
    events: Vec<ModelEvent>,
    /// Whether the reply never ends.
    hangs: bool,
    asked: Mutex<Vec<Asked>>,
}

/// A request, as far as it matters here.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    model: Option<String>,
    key: Option<String>,
    effort: Option<Effort>,
    parts: Vec<InputPart>,
    tools: usize,
}

impl Model for Scribe {
    fn history_turns(&self, _: Option<&str>) -> u32 {
        0
    }

    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let [Message::User { parts }] = request.messages else {
            panic!("one message")
        };
        self.asked.lock().unwrap().push(Asked {
            model: request.model.map(str::to_owned),
            key: request.keys.and_then(|keys| keys.get("KEY")).map(str::to_owned),
            effort: request.effort,
            parts: parts.clone(),
            tools: request.tools.len(),
        });
        async move {
            for event in self.events.clone() {
                sink.event(event).await?;
            }
            if self.hangs {
                std::future::pending::<()>().await;
            }
            Ok(ModelReply {
                stop: Stop::Done,
                usage: None,
            })
        }
        .boxed()
    }
}

fn says(texts: &[&str]) -> Arc<Scribe> {
    let texts = texts.iter().map(|text| ModelEvent::Text((*text).to_owned()));
    Arc::new(Scribe {
        events: texts.collect(),
        ..Scribe::default()
    })
}

fn helpers(model: Arc<dyn Model>) -> Helpers {
    let git = Git::new(Children::new(None), Environment::empty(), Sandbox::default());
    Helpers::new(model, git)
}

fn writer() -> Writer {
    Writer {
        model: "kiln/large".to_owned(),
        keys: ClientKeys::from(std::collections::BTreeMap::from([(
            "KEY".to_owned(),
            "k".to_owned(),
        )])),
        effort: Some(Effort::Low),
    }
}

fn rewriting(prompt: &str, text: &str) -> RewriteRequest {
    RewriteRequest {
        writer: writer(),
        prompt: prompt.to_owned(),
        text: text.to_owned(),
        path: Some("/srv/tea.rs".to_owned()),
    }
}

async fn rewritten(
    model: Arc<dyn Model>,
    request: RewriteRequest,
) -> (Vec<RewritePiece>, Result<(), SuggestError>) {
    let (sender, mut receiver) = mpsc::channel(64);
    let done = helpers(model).rewrite(request, sender).await;
    let mut pieces = Vec::new();
    while let Some(piece) = receiver.recv().await {
        pieces.push(piece);
    }
    (pieces, done)
}

fn completing(before: &str, after: &str) -> CompletionRequest {
    CompletionRequest {
        writer: writer(),
        before: before.to_owned(),
        after: after.to_owned(),
        path: None,
    }
}

fn text(text: &str) -> RewritePiece {
    RewritePiece::Text(text.to_owned())
}

fn context(label: &str, text: &str) -> InputPart {
    InputPart::Context {
        label: label.to_owned(),
        text: text.to_owned(),
    }
}

#[tokio::test]
async fn a_rewrite_is_one_question_with_the_text_beside_it() {
    let reasoning = || ModelEvent::Reasoning("Hm.".to_owned());
    let model = Arc::new(Scribe {
        events: vec![
            reasoning(),
            reasoning(),
            ModelEvent::Text("```rust\nbrew".to_owned()),
            ModelEvent::Text("();\n```".to_owned()),
        ],
        ..Scribe::default()
    });
    let (pieces, done) = rewritten(model.clone(), rewriting("call it brew", "boil();\n")).await;
    assert_eq!(done, Ok(()));
    assert_eq!(
        pieces,
        [RewritePiece::Reasoning, text("brew"), text("();"), text("\n")]
    );
    let prompt = InputPart::Text {
        text: "call it brew".to_owned(),
    };
    let asked = Asked {
        model: Some("kiln/large".to_owned()),
        key: Some("k".to_owned()),
        effort: Some(Effort::Low),
        parts: vec![prompt, context("the selected text, of /srv/tea.rs", "boil();\n")],
        tools: 0,
    };
    assert_eq!(*model.asked.lock().unwrap(), [asked]);
}

#[tokio::test]
async fn what_cannot_be_rewritten_is_refused_before_a_model_is_asked() {
    let long = "x".repeat(256 << 10);
    for (prompt, text, is_refused) in [
        (" ", "tea", true),
        (&long[..=64 << 10], "tea", true),
        (&long[..64 << 10], &long, false),
        ("shorter", &format!("{long}x"), true),
    ] {
        let model = says(&["tea"]);
        let (_, done) = rewritten(model.clone(), rewriting(prompt, text)).await;
        assert_eq!(
            matches!(done, Err(SuggestError::Invalid(_))),
            is_refused,
            "{done:?}"
        );
        assert_eq!(model.asked.lock().unwrap().len(), usize::from(!is_refused));
    }
}

#[tokio::test]
async fn an_empty_or_endless_answer_is_no_text() {
    let (pieces, done) = rewritten(says(&["```\n", "```"]), rewriting("shorter", "tea")).await;
    assert!(
        matches!(&done, Err(SuggestError::Unusable(text)) if text.contains("empty")),
        "{done:?}"
    );
    assert_eq!(pieces, []);
    let long = "x".repeat(200 << 10);
    let (pieces, done) = rewritten(says(&[&long, &long]), rewriting("longer", "tea")).await;
    assert!(
        matches!(&done, Err(SuggestError::Unusable(text)) if text.contains("too long")),
        "{done:?}"
    );
    assert_eq!(pieces.len(), 1);
}

#[tokio::test]
async fn a_completion_is_asked_with_the_text_around_the_cursor() {
    let model = says(&["```rust\nbrew();\n", "\n```"]);
    let before = format!("é{}", "b".repeat(32 << 10));
    let after = format!("{}é", "a".repeat((8 << 10) - 1));
    let completed = helpers(model.clone()).complete(completing(&before, &after)).await;
    assert_eq!(completed.as_deref(), Ok("brew();"));
    let asked = model.asked.lock().unwrap().pop().unwrap();
    assert_eq!(
        asked.parts,
        [
            context("before the cursor", &before[2..]),
            context("after the cursor", &after[..(8 << 10) - 1])
        ]
    );
    assert_eq!((asked.effort, asked.tools), (Some(Effort::Low), 0));
    // Nothing is missing.
    let completed = helpers(says(&[])).complete(completing("tea", "")).await;
    assert_eq!(completed.as_deref(), Ok(""));
    let long = says(&["x".repeat((8 << 10) + 1).as_str()]);
    let completed = helpers(long).complete(completing("tea", "")).await;
    assert!(
        matches!(completed, Err(SuggestError::Unusable(_))),
        "{completed:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_answer_is_given_up() {
    let model = Arc::new(Scribe {
        hangs: true,
        ..Scribe::default()
    });
    let started = Instant::now();
    let completed = helpers(model.clone()).complete(completing("tea", "")).await;
    assert!(
        matches!(completed, Err(SuggestError::Unusable(_))),
        "{completed:?}"
    );
    assert_eq!(started.elapsed(), Duration::from_secs(30));
    let started = Instant::now();
    let (_, done) = rewritten(model, rewriting("shorter", "tea")).await;
    assert!(matches!(done, Err(SuggestError::Unusable(_))), "{done:?}");
    assert_eq!(started.elapsed(), Duration::from_mins(5));
}

#[tokio::test]
async fn the_offline_model_writes_nothing() {
    let mut offline = writer();
    offline.model = "offline".to_owned();
    let mut request = rewriting("say tea", "tea");
    request.writer = offline.clone();
    let (pieces, done) = rewritten(Arc::new(Offline), request).await;
    assert!(
        pieces.is_empty() && matches!(done, Err(SuggestError::Unusable(_))),
        "{done:?}"
    );
    let mut request = completing("say tea", "");
    request.writer = offline;
    let completed = helpers(Arc::new(Offline)).complete(request).await;
    assert!(
        matches!(completed, Err(SuggestError::Unusable(_))),
        "{completed:?}"
    );
}
