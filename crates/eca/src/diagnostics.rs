//! What an editor knows of the code, as a tool of the agent (section 15): `editor_diagnostics`, answered by the
//! editor that prompted last in the chat, for as long as it is connected.
//!
//! The register is shared by all connections on a core and asked by the engine before each request to a model, so
//! it only looks something up. At most [`MAX_CHATS`] chats have an editor; the one prompted in longest ago loses its
//! own first. The numbers of a range are given on as the editor sends them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal,
    ToolSource, ToolSpec,
};
use bobbin_model::{Json, ThreadId};
use bobbin_peer::{CallError, PeerHandle, Phase};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::handshake::path_of;

/// The tool's name.
const NAME: &str = "editor_diagnostics";
/// How long an editor may take (section 15).
const LIMIT: Duration = Duration::from_secs(30);
/// Most chats with an editor (a guess: far more than run at once).
const MAX_CHATS: usize = 1024;
/// Most bytes told to the model (a guess: some thousand lines).
const MAX_TEXT: usize = 64 << 10;
/// What is not written as it is in a file's URI.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?');

/// The editors that answer for chats. One for each core.
#[derive(Debug, Default)]
pub struct EditorTools(Mutex<Register>);

#[derive(Debug, Default)]
struct Register {
    /// Oldest first; a chat stands here once.
    chats: Vec<(ThreadId, u64, PeerHandle)>,
    connected: u64,
}

/// One connected editor. Dropped, it answers for nothing any more.
#[derive(Debug)]
pub(crate) struct Editor {
    tools: Arc<EditorTools>,
    id: u64,
    peer: PeerHandle,
}

impl EditorTools {
    /// Takes an editor that can be asked.
    pub(crate) fn connect(self: Arc<Self>, peer: PeerHandle) -> Editor {
        let mut register = self.0.lock();
        register.connected += 1;
        let id = register.connected;
        drop(register);
        Editor {
            tools: self,
            id,
            peer,
        }
    }
}

impl Editor {
    /// Answers for a chat from here on.
    pub(crate) fn answers_for(&self, thread: &ThreadId) {
        let mut register = self.tools.0.lock();
        register.chats.retain(|(chat, ..)| chat != thread);
        if register.chats.len() == MAX_CHATS {
            register.chats.remove(0);
        }
        register.chats.push((thread.clone(), self.id, self.peer.clone()));
    }

    /// Answers for a chat that no other editor answers for.
    pub(crate) fn may_answer_for(&self, thread: &ThreadId) {
        let taken = self.tools.0.lock().chats.iter().any(|(chat, ..)| chat == thread);
        if !taken {
            self.answers_for(thread);
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.tools.0.lock().chats.retain(|(_, id, _)| *id != self.id);
    }
}

impl ToolSource for EditorTools {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    fn tools_of(&self, thread: &ThreadId) -> Vec<Arc<dyn Tool>> {
        let register = self.0.lock();
        let asked = register.chats.iter().find(|(chat, ..)| chat == thread);
        let there = asked.filter(|(.., peer)| peer.phase() == Phase::Active);
        there
            .map(|(.., peer)| Arc::new(Diagnostics(peer.clone())) as Arc<dyn Tool>)
            .into_iter()
            .collect()
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

/// Returns how the model and people are told of the tool.
pub(crate) fn spec() -> &'static ToolSpec {
    static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
        let path = "A file, relative to the workspace or absolute; left out, all of them.";
        let schema = json!({
            "type": "object",
            "properties": { "path": { "type": "string", "description": path } },
        });
        ToolSpec {
            name: NAME.into(),
            description:
                "Returns the errors and warnings that the user's editor shows, of one file or of the whole \
                          workspace."
                    .into(),
            // It can be written.
            input_schema: Json::of(&schema).unwrap_or_else(|_| Json::from_raw(RawValue::NULL.to_owned())),
            effect: Effect::Reads,
        }
    });
    &SPEC
}

struct Diagnostics(PeerHandle);

impl Tool for Diagnostics {
    fn spec(&self) -> &ToolSpec {
        spec()
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        #[derive(Deserialize)]
        struct Arguments {
            path: Option<String>,
        }
        let arguments: Arguments = arguments
            .decode()
            .map_err(|error| ToolRefusal::Unusable(format!("the arguments are not usable: {error}")))?;
        let path = arguments.path.filter(|path| !path.trim().is_empty());
        let uri = path.map(|path| uri_of(&environment.root.join(path)));
        Ok(Box::new(Question {
            peer: self.0.clone(),
            params: uri.map_or_else(|| json!({}), |uri| json!({ "uri": uri })),
            root: environment.root.clone(),
        }))
    }
}

struct Question {
    peer: PeerHandle,
    params: Value,
    root: PathBuf,
}

impl PreparedCall for Question {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let asked = self
                .peer
                .call_with_timeout("editor/getDiagnostics", self.params, LIMIT);
            let answer: Result<Option<Answer>, CallError> = tokio::select! {
                biased;
                () = context.cancel.cancelled() => return failed("cancelled: the editor was not waited for"),
                answer = asked => answer,
            };
            match answer {
                Ok(answer) => ToolOutput {
                    text: told(&answer.unwrap_or_default(), &self.root),
                    success: true,
                    ..ToolOutput::default()
                },
                Err(CallError::TimedOut(_)) => failed(format!("the editor did not answer within {LIMIT:?}")),
                Err(error) => failed(format!("the editor could not say: {error}")),
            }
        }
        .boxed()
    }
}

fn failed(text: impl Into<String>) -> ToolOutput {
    ToolOutput {
        text: text.into(),
        ..ToolOutput::default()
    }
}

/// What an editor answers. Read one by one: a strange entry takes no other with it.
#[derive(Debug, Default, Deserialize)]
struct Answer {
    diagnostics: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
struct Diagnostic {
    uri: String,
    severity: Option<String>,
    source: Option<String>,
    range: Option<Range>,
    /// A text, or a number.
    code: Option<Value>,
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Range {
    start: Place,
}

#[derive(Debug, Deserialize)]
struct Place {
    line: i64,
    character: i64,
}

/// Says an answer in lines, cut where it is too long.
fn told(answer: &Answer, root: &Path) -> String {
    let all = answer.diagnostics.as_deref().unwrap_or_default();
    if all.is_empty() {
        return "The editor shows no errors or warnings.".to_owned();
    }
    let mut text = String::new();
    for (index, value) in all.iter().enumerate() {
        let line = match Diagnostic::deserialize(value) {
            Ok(one) => line(&one, root),
            Err(error) => {
                tracing::info!(%error, "a diagnostic was skipped");
                continue;
            }
        };
        if text.len() + line.len() > MAX_TEXT {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "… and {} more", all.len() - index);
            break;
        }
        text.push_str(&line);
    }
    text
}

fn line(one: &Diagnostic, root: &Path) -> String {
    let path = path_of(&one.uri);
    let path = path.strip_prefix(root).unwrap_or(&path).display();
    let at = one.range.as_ref().map_or_else(String::new, |range| {
        format!(":{}:{}", range.start.line, range.start.character)
    });
    let severity = one.severity.as_deref().unwrap_or("error");
    let code = match &one.code {
        Some(Value::String(code)) => Some(code.clone()),
        Some(Value::Number(code)) => Some(code.to_string()),
        _ => None,
    };
    let whose: Vec<String> = one.source.iter().cloned().chain(code).collect();
    let whose = if whose.is_empty() {
        String::new()
    } else {
        format!(" [{}]", whose.join(" "))
    };
    let message = one.message.as_deref().unwrap_or_default();
    format!("{path}{at} {severity}{whose} {message}\n")
}

fn uri_of(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("file://{}", utf8_percent_encode(&text, ESCAPED))
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::tool::OutputSink;
    use bobbin_peer::{Handlers, Peer, PeerOptions, Transport};
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn an_answer_becomes_lines() {
        let place =
            |line, character| json!({ "start": { "line": line, "character": character }, "end": null });
        let answer: Answer = serde_json::from_value(json!({ "diagnostics": [
            { "uri": "file:///srv/tea/src/my%20spout.rs", "severity": "error", "source": "rustc", "code": "E0308",
              "range": place(3, 7), "message": "mismatched types" },
            { "uri": "file:///etc/tea", "severity": "odd", "source": null, "code": 12, "range": place(0, 0),
              "message": "cold" },
            7,
            { "uri": "file:///srv/tea/x", "severity": "hint", "source": null, "code": null, "message": "m" },
        ]}))
        .unwrap();
        assert_eq!(
            told(&answer, Path::new("/srv/tea")),
            "src/my spout.rs:3:7 error [rustc E0308] mismatched types\n/etc/tea:0:0 odd [12] cold\nx hint m\n"
        );
        for nothing in ["{}", r#"{"diagnostics":null}"#, r#"{"diagnostics":[]}"#] {
            let answer: Answer = serde_json::from_str(nothing).unwrap();
            assert!(told(&answer, Path::new("/")).contains("no errors"), "{nothing}");
        }
    }

    struct Unheard;

    impl OutputSink for Unheard {
        fn write(&self, _: String) -> BoxFuture<'_, ()> {
            std::future::ready(()).boxed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_editor_that_is_silent_for_half_a_minute_is_not_waited_for() {
        let (near, _far) = Transport::memory_pair();
        let peer = Peer::start(near, PeerOptions::default(), |_| Handlers::new()).unwrap();
        let question = Box::new(Question {
            peer: peer.handle().clone(),
            params: json!({}),
            root: "/".into(),
        });
        let context = CallContext::alone(CancellationToken::new(), Arc::new(Unheard));
        let began = Instant::now();
        let output = question.run(context).await;
        assert_eq!(began.elapsed(), LIMIT);
        assert!(
            !output.success && output.text.contains("within 30s"),
            "{}",
            output.text
        );
    }

    #[test]
    fn a_long_answer_is_cut_at_a_line() {
        let one = json!({ "uri": "file:///x", "message": "m".repeat(1000) });
        let answer = Answer {
            diagnostics: Some(vec![one; 100]),
        };
        let text = told(&answer, Path::new("/srv"));
        assert!(text.len() <= MAX_TEXT + 100);
        assert!(text.ends_with(" more\n"), "{}", &text[text.len() - 40..]);
    }

    #[test]
    fn a_path_becomes_a_uri_and_comes_back() {
        let uri = uri_of(Path::new("/srv/my pot/é#1?"));
        assert_eq!(uri, "file:///srv/my%20pot/%C3%A9%231%3F");
        assert_eq!(path_of(&uri), Path::new("/srv/my pot/é#1?"));
    }
}
