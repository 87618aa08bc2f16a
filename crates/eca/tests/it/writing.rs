//! Texts that a model writes outside of any chat (21.7).

use std::sync::{Arc, Mutex};

use bobbin_agent_api::suggest::{
    CommitRequest, CompletionRequest, RewritePiece, RewriteRequest, SuggestError, Suggestions, Welcome,
    WelcomeRequest,
};
use bobbin_core::ListFilter;
use bobbin_model::Effort;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use crate::support::{Server, transcript, until};

/// Writes what its requests say: `hang` never ends, `fail` fails, and other prompts are the text.
struct Scribe {
    rewrites: Mutex<Vec<RewriteRequest>>,
    completions: Mutex<Vec<CompletionRequest>>,
    /// Has a permit for each request that hung and was dropped.
    dropped: Arc<Semaphore>,
}

/// Adds a permit when it is dropped.
struct Dropped(Arc<Semaphore>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

impl Scribe {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            rewrites: Mutex::default(),
            completions: Mutex::default(),
            dropped: Arc::new(Semaphore::new(0)),
        })
    }

    /// Never returns.
    fn hang<T: Send + 'static>(&self) -> BoxFuture<'static, T> {
        let dropped = Dropped(self.dropped.clone());
        async move {
            let _dropped = dropped;
            pending().await
        }
        .boxed()
    }

    /// Returns once requests that hung were dropped.
    async fn dropped(&self, count: u32) {
        self.dropped.acquire_many(count).await.unwrap().forget();
    }
}

impl Suggestions for Scribe {
    fn commit_message(&self, _: CommitRequest) -> BoxFuture<'static, Result<String, SuggestError>> {
        pending().boxed()
    }

    fn welcome(&self, _: WelcomeRequest) -> BoxFuture<'static, Result<Welcome, SuggestError>> {
        pending().boxed()
    }

    fn rewrite(
        &self,
        request: RewriteRequest,
        pieces: mpsc::Sender<RewritePiece>,
    ) -> BoxFuture<'static, Result<(), SuggestError>> {
        self.rewrites.lock().unwrap().push(request.clone());
        if request.prompt == "hang" {
            return self.hang();
        }
        async move {
            drop(pieces.send(RewritePiece::Reasoning).await);
            for word in request.prompt.split_inclusive(' ') {
                drop(pieces.send(RewritePiece::Text(word.to_owned())).await);
            }
            match request.prompt.as_str() {
                "fail" => Err(SuggestError::Unusable("The kiln is cold.".to_owned())),
                _ => Ok(()),
            }
        }
        .boxed()
    }

    fn complete(&self, request: CompletionRequest) -> BoxFuture<'static, Result<String, SuggestError>> {
        let before = request.before.clone();
        self.completions.lock().unwrap().push(request);
        if before == "hang" {
            return self.hang();
        }
        async move {
            match before.as_str() {
                "fail" => Err(SuggestError::Unusable("The kiln is cold.".to_owned())),
                "none" => Ok("\n ".to_owned()),
                _ => Ok("spout();".to_owned()),
            }
        }
        .boxed()
    }
}

async fn start() -> (Server, Arc<Scribe>) {
    let mut server = Server::start().await;
    let scribe = Scribe::new();
    server.suggestions = Some(scribe.clone());
    (server, scribe)
}

fn rewriting(id: &str, prompt: &str) -> Value {
    let at = json!({ "line": 1, "character": 0 });
    json!({
        "id": id, "text": "boil();\n", "prompt": prompt, "path": "/srv/teapot/tea.rs",
        "range": { "start": at, "end": at },
    })
}

fn completing(text: &str, character: u32) -> Value {
    json!({ "docText": text, "docVersion": 3, "position": { "line": 1, "character": character } })
}

fn is_over(message: &Value) -> bool {
    ["finished", "error"]
        .map(Value::from)
        .contains(&message["params"]["content"]["type"])
}

#[tokio::test]
async fn a_text_is_rewritten_behind_the_answer_and_nothing_is_recorded() {
    let (server, scribe) = start().await;
    let mut client = server.editor().await;
    client
        .request("rewrite/prompt", rewriting("r-1", "say brew();"))
        .await;
    let mut seen = until(&mut client, is_over).await;
    client.request("rewrite/prompt", rewriting("r-2", "fail")).await;
    seen.extend(until(&mut client, is_over).await);
    transcript!(server, seen);
    let request = scribe.rewrites.lock().unwrap()[0].clone();
    assert_eq!(
        (
            &*request.text,
            request.path.as_deref(),
            &*request.writer.model,
            request.writer.effort
        ),
        ("boil();\n", Some("/srv/teapot/tea.rs"), "kiln/large", None)
    );
    let filter = ListFilter {
        workspace_path: server.root().to_string_lossy().into_owned(),
        ..ListFilter::default()
    };
    assert_eq!(server.threads.list(filter).await.unwrap().len(), 0);
}

#[tokio::test]
async fn the_selected_model_writes_unless_a_request_names_one() {
    let (server, scribe) = start().await;
    let mut client = server.editor().await;
    let selected = json!({ "model": "kiln/small", "variant": "high" });
    client.notify("chat/selectedModelChanged", selected).await;
    let answer = client.call("rewrite/prompt", rewriting("r", "brew")).await;
    assert_eq!(answer, json!({ "status": "prompting", "model": "kiln/small" }));
    let mut named = rewriting("r", "brew");
    named["model"] = json!("large");
    let answer = client.call("rewrite/prompt", named.clone()).await;
    assert_eq!(answer["model"], "kiln/large");
    // A completion is wanted at once.
    client.call("completion/inline", completing("tea", 1)).await;
    let efforts: Vec<_> = scribe
        .rewrites
        .lock()
        .unwrap()
        .iter()
        .map(|asked| asked.writer.effort)
        .collect();
    assert_eq!(efforts, [Some(Effort::High), None]);
    let completion = scribe.completions.lock().unwrap()[0].clone();
    assert_eq!(
        (&*completion.writer.model, completion.writer.effort),
        ("kiln/small", Some(Effort::Low))
    );
    named["model"] = json!("teapot");
    let error = client.error("rewrite/prompt", named).await;
    assert_eq!(error["code"], -32602);
}

#[tokio::test]
async fn a_completion_is_the_text_at_the_cursor() {
    let (server, scribe) = start().await;
    let mut client = server.editor().await;
    let at = json!({ "line": 2, "character": 6 });
    // As Emacs writes it.
    let asked = json!({
        "doc-text": "é\ntea::;\n", "doc-version": 7, "path": "/srv/teapot/tea.rs", "position": at,
    });
    let answer = client.call("completion/inline", asked).await;
    let item = json!({ "text": "spout();", "docVersion": 7, "range": { "start": at, "end": at } });
    assert_eq!(answer, json!({ "items": [item] }));
    let request = scribe.completions.lock().unwrap()[0].clone();
    assert_eq!(
        (&*request.before, &*request.after, request.path.as_deref()),
        ("é\ntea::", ";\n", Some("/srv/teapot/tea.rs"))
    );
    let answer = client.call("completion/inline", completing("none", 5)).await;
    assert_eq!(answer, json!({ "items": [] }));
    let error = client.error("completion/inline", completing("fail", 5)).await;
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32603), &json!("The kiln is cold."))
    );
}

#[tokio::test]
async fn a_text_is_given_up_when_the_editor_asks_again_or_leaves() {
    let (server, scribe) = start().await;
    let mut client = server.editor().await;
    let old = client.request("completion/inline", completing("hang", 5)).await;
    let answer = client.call("completion/inline", completing("tea", 4)).await;
    assert_eq!(answer["items"][0]["text"], "spout();");
    assert_eq!(client.answer(old).await["error"]["code"], -32800);
    scribe.dropped(1).await;
    let cancelled = client.request("completion/inline", completing("hang", 5)).await;
    client.notify("$/cancelRequest", json!({ "id": cancelled })).await;
    assert_eq!(client.answer(cancelled).await["error"]["code"], -32800);
    scribe.dropped(1).await;
    // A rewrite with the id of another one takes its place; others are bounded.
    client.call("rewrite/prompt", rewriting("r", "hang")).await;
    client.call("rewrite/prompt", rewriting("r", "hang")).await;
    scribe.dropped(1).await;
    for id in ["s", "t", "u"] {
        client.call("rewrite/prompt", rewriting(id, "hang")).await;
    }
    let error = client.error("rewrite/prompt", rewriting("v", "brew")).await;
    assert_eq!(error["code"], -32001);
    drop(client);
    scribe.dropped(4).await;
}

#[tokio::test]
async fn a_server_without_texts_says_so() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    for (method, params) in [
        ("rewrite/prompt", rewriting("r", "brew")),
        ("completion/inline", completing("tea", 1)),
    ] {
        assert_eq!(client.error(method, params).await["code"], -32603);
    }
}
