//! What an editor knows of the code, as a tool of the agent: `editor_diagnostics`, answered by the editor that
//! prompted last in the chat, for as long as it is connected.
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
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::timeout;

/// The tool's name.
const NAME: &str = "editor_diagnostics";
/// How long an editor may take.
pub const LIMIT: Duration = Duration::from_secs(30);
/// Most chats with an editor (a guess: far more than run at once).
const MAX_CHATS: usize = 1024;
/// Most bytes for the model (a guess: some thousand lines).
const MAX_TEXT: usize = 64 << 10;

/// An editor that can be asked.
pub trait Diagnostics: Send + Sync + 'static {
    /// Returns whether it is connected.
    fn is_open(&self) -> bool;

    /// Asks for what it shows of a file (`None`: of all files). The caller bounds the time. An error follows "the
    /// editor could not say: ".
    fn ask(&self, path: Option<PathBuf>) -> BoxFuture<'_, Result<Vec<Diagnostic>, String>>;
}

/// An error or a warning that an editor shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file.
    pub path: PathBuf,
    /// Line and character, in the numbers of the editor.
    pub at: Option<(i64, i64)>,
    /// `error` where it says nothing.
    pub severity: Option<String>,
    /// Who found it, and its code there.
    pub origin: Vec<String>,
    /// What is wrong.
    pub message: Option<String>,
}

/// The editors that answer for chats. One for each core.
#[derive(Default)]
pub struct EditorTools(Mutex<Register>);

#[derive(Default)]
struct Register {
    /// Oldest first; a chat is here once.
    chats: Vec<(ThreadId, u64, Arc<dyn Diagnostics>)>,
    connected: u64,
}

/// One connected editor. Dropped, it answers for nothing any more.
pub struct Editor {
    tools: Arc<EditorTools>,
    id: u64,
    answers: Arc<dyn Diagnostics>,
}

impl EditorTools {
    /// Takes an editor that can be asked.
    pub fn connect(self: Arc<Self>, answers: Arc<dyn Diagnostics>) -> Editor {
        let mut register = self.0.lock();
        register.connected += 1;
        let id = register.connected;
        drop(register);
        Editor {
            tools: self,
            id,
            answers,
        }
    }

    /// Returns how the model and users are told of the tool.
    pub fn spec() -> &'static ToolSpec {
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
}

impl Editor {
    /// Answers for a chat from here on.
    pub fn answers_for(&self, thread: &ThreadId) {
        let mut register = self.tools.0.lock();
        register.chats.retain(|(chat, ..)| chat != thread);
        if register.chats.len() == MAX_CHATS {
            register.chats.remove(0);
        }
        register
            .chats
            .push((thread.clone(), self.id, self.answers.clone()));
    }

    /// Answers for a chat that no other editor answers for.
    pub fn may_answer_for(&self, thread: &ThreadId) {
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
        let found = register.chats.iter().find(|(chat, ..)| chat == thread);
        found
            .filter(|(.., editor)| editor.is_open())
            .map(|(.., editor)| Arc::new(DiagnosticsTool(editor.clone())) as Arc<dyn Tool>)
            .into_iter()
            .collect()
    }
}

struct DiagnosticsTool(Arc<dyn Diagnostics>);

impl Tool for DiagnosticsTool {
    fn spec(&self) -> &ToolSpec {
        EditorTools::spec()
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
        Ok(Box::new(Question {
            editor: self.0.clone(),
            path: path.map(|path| environment.root.join(path)),
            root: environment.root.clone(),
        }))
    }
}

struct Question {
    editor: Arc<dyn Diagnostics>,
    path: Option<PathBuf>,
    root: PathBuf,
}

impl PreparedCall for Question {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let answer = tokio::select! {
                biased;
                () = context.cancel.cancelled() => return failed("cancelled: the editor was not waited for"),
                answer = timeout(LIMIT, self.editor.ask(self.path)) => answer,
            };
            match answer {
                Ok(Ok(all)) => ToolOutput {
                    text: in_lines(&all, &self.root),
                    success: true,
                    ..ToolOutput::default()
                },
                Ok(Err(error)) => failed(format!("the editor could not say: {error}")),
                Err(_) => failed(format!("the editor did not answer within {LIMIT:?}")),
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

/// Returns an answer in lines, cut where it is too long.
fn in_lines(all: &[Diagnostic], root: &Path) -> String {
    if all.is_empty() {
        return "The editor shows no errors or warnings.".to_owned();
    }
    let mut text = String::new();
    for (index, one) in all.iter().enumerate() {
        let line = line(one, root);
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
    let path = one.path.strip_prefix(root).unwrap_or(&one.path).display();
    let at = one
        .at
        .map_or_else(String::new, |(line, character)| format!(":{line}:{character}"));
    let severity = one.severity.as_deref().unwrap_or("error");
    let origin = if one.origin.is_empty() {
        String::new()
    } else {
        format!(" [{}]", one.origin.join(" "))
    };
    let message = one.message.as_deref().unwrap_or_default();
    format!("{path}{at} {severity}{origin} {message}\n")
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::tool::OutputSink;
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::*;

    struct Unheard;

    impl OutputSink for Unheard {
        fn write(&self, _: String) -> BoxFuture<'_, ()> {
            std::future::ready(()).boxed()
        }
    }

    struct Silent;

    impl Diagnostics for Silent {
        fn is_open(&self) -> bool {
            true
        }

        fn ask(&self, _: Option<PathBuf>) -> BoxFuture<'_, Result<Vec<Diagnostic>, String>> {
            std::future::pending().boxed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_editor_that_is_silent_for_half_a_minute_is_not_waited_for() {
        let question = Box::new(Question {
            editor: Arc::new(Silent),
            path: None,
            root: "/".into(),
        });
        let context = CallContext::alone(CancellationToken::new(), Arc::new(Unheard));
        let since = Instant::now();
        let output = question.run(context).await;
        assert_eq!(since.elapsed(), LIMIT);
        assert!(
            !output.success && output.text.contains("within 30s"),
            "{}",
            output.text
        );
    }

    #[test]
    fn a_chat_has_the_editor_that_prompted_last_while_it_is_connected() {
        let tools = Arc::new(EditorTools::default());
        let chat = ThreadId::new("thread_1");
        let (first, second) = (
            tools.clone().connect(Arc::new(Silent)),
            tools.clone().connect(Arc::new(Silent)),
        );
        first.may_answer_for(&chat);
        second.may_answer_for(&chat);
        drop(second);
        assert_eq!(tools.tools_of(&chat).len(), 1);
        drop(first);
        assert!(tools.tools_of(&chat).is_empty());
    }

    #[test]
    fn a_long_answer_is_cut_at_a_line() {
        let one = Diagnostic {
            path: "/x".into(),
            message: Some("m".repeat(1000)),
            ..Diagnostic::default()
        };
        let text = in_lines(&vec![one; 100], Path::new("/srv"));
        assert!(text.len() <= MAX_TEXT + 100);
        assert!(text.ends_with(" more\n"), "{}", &text[text.len() - 40..]);
        assert!(in_lines(&[], Path::new("/")).contains("no errors"));
    }

    #[test]
    fn a_diagnostic_becomes_a_line() {
        let mut one = Diagnostic {
            path: "/srv/tea/src/spout.rs".into(),
            at: Some((3, 7)),
            severity: Some("warning".to_owned()),
            origin: vec!["rustc".to_owned(), "E0308".to_owned()],
            message: Some("cold".to_owned()),
        };
        let root = Path::new("/srv/tea");
        assert_eq!(line(&one, root), "src/spout.rs:3:7 warning [rustc E0308] cold\n");
        (one.at, one.severity, one.origin) = (None, None, Vec::new());
        assert_eq!(
            line(&one, Path::new("/tmp")),
            "/srv/tea/src/spout.rs error cold\n"
        );
    }
}
