//! One run of an action for the agent, and its result as text.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::{ClientId, DevEnv, Format, Host, Outcome, Presets, RunError, RunRequest, Trigger, findings};
use bobbin_agent_api::cut::head_and_tail;
use bobbin_agent_api::policy::Policy;
use bobbin_agent_api::tool::{CallContext, Permission, PreparedCall, ToolOutput, Touches};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::agent::actions::Shared;
use crate::agent::edits::FileEditor;

/// Longest run (guess: builds and test suites take minutes).
const LIMIT: Duration = Duration::from_mins(10);
/// Bytes of a result beside its findings.
const FRAME: usize = 200;

pub(crate) struct PreparedRun {
    pub(crate) shared: Arc<Shared>,
    /// Runs it.
    pub(crate) host: Arc<Host>,
    /// Whether it may run by itself: no user has to be asked because nothing confines it.
    pub(crate) in_advance: bool,
    pub(crate) action: Arc<str>,
    pub(crate) payload: Box<RawValue>,
    pub(crate) projects: Option<Vec<PathBuf>>,
    pub(crate) describe: bool,
    pub(crate) permission: Permission,
    pub(crate) policy: Arc<dyn Policy>,
}

impl PreparedCall for PreparedRun {
    fn permission(&self) -> Permission {
        self.permission.clone()
    }

    fn allowed_in_advance(&self) -> bool {
        self.in_advance
    }

    fn touches(&self) -> Touches {
        if self.describe {
            return Touches::Nothing;
        }
        Touches::Anything
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let ran = async {
                if self.describe {
                    self.described().await
                } else {
                    self.ran(context.max_bytes).await
                }
            };
            // Dropping the run cancels it in the runners.
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => failed("cancelled: the run was given up; files that it changed stay changed"),
                ran = timeout(LIMIT, ran) => {
                    ran.unwrap_or_else(|_| failed(format!("the run was given up: it took more than {LIMIT:?}")))
                }
            }
        }
        .boxed()
    }
}

impl PreparedRun {
    async fn ran(&self, max_bytes: usize) -> ToolOutput {
        let client = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let editor = FileEditor::new(self.shared.root.clone(), self.policy.clone());
        let _connected = Connected::new(&self.host, client, editor);
        let request = RunRequest {
            action: self.action.to_string(),
            projects: self.projects.clone(),
            concurrently: true,
            payload: self.payload.clone(),
            formats: vec![Format::Json, Format::String],
            partial_results: false,
            trigger: Trigger::System,
            dev_env: DevEnv::Ai,
            client: Some(client),
        };
        match self.host.run(&request, None).await {
            Ok(outcomes) => self.output(outcomes, max_bytes),
            Err(error) => failed(error.to_string()),
        }
    }

    /// Returns the schema of the payload, from the first project that has the action.
    async fn described(&self) -> ToolOutput {
        let host = &self.host;
        let named = self
            .projects
            .as_ref()
            .and_then(|projects| projects.first().cloned());
        let project = if named.is_some() {
            named
        } else {
            let actions = host.actions(None, Presets::Load).await.into_iter();
            let mut found = actions.filter(|action| *action.name == *self.action);
            found.next().map(|action| action.project)
        };
        let Some(project) = project else {
            return failed(RunError::NoActionAnywhere(self.action.to_string()).to_string());
        };
        match host.schema(&project, &self.action).await {
            Ok(schema) => ToolOutput {
                text: schema.to_string(),
                success: true,
                ..ToolOutput::default()
            },
            Err(error) => failed(error.to_string()),
        }
    }

    /// Returns the results as text: for each project whether it is clean, then its findings.
    fn output(&self, outcomes: Vec<(PathBuf, Result<Outcome, RunError>)>, max_bytes: usize) -> ToolOutput {
        let mut output = ToolOutput {
            success: true,
            ..ToolOutput::default()
        };
        let each = (max_bytes / outcomes.len().max(1)).saturating_sub(FRAME);
        for (project, outcome) in outcomes {
            let path = bobbin_files::shown(&self.shared.root, &project);
            let (how, text) = match outcome {
                Ok(outcome) => {
                    let code = outcome.return_code.unwrap_or(0);
                    output.success &= code == 0;
                    let how = if code == 0 {
                        "clean".to_owned()
                    } else {
                        format!("not clean (return code {code})")
                    };
                    (how, self.text(&outcome, each))
                }
                Err(error) => {
                    output.success = false;
                    ("did not run".to_owned(), head_and_tail(&error.to_string(), each))
                }
            };
            let _infallible = writeln!(output.text, "{path}: {how}");
            if !text.is_empty() {
                let _infallible = writeln!(output.text, "{}", text.trim_end());
            }
        }
        output
    }

    /// Returns findings as lines, else the action's text, else its JSON.
    fn text(&self, outcome: &Outcome, limit: usize) -> String {
        let json = outcome.json.as_ref().map(|json| json.get());
        let text = outcome.text.as_deref().filter(|text| !text.is_empty());
        match json.and_then(|json| findings(json, &self.shared.root)) {
            Some(lines) if lines.is_empty() => head_and_tail(text.unwrap_or_default(), limit),
            Some(lines) => whole_lines(&lines, limit),
            None => head_and_tail(text.or(json).unwrap_or_default(), limit),
        }
    }
}

/// Returns the first lines of findings that fit, and how many more there are.
fn whole_lines(lines: &str, limit: usize) -> String {
    let fits = lines.len() <= limit;
    let end = lines.floor_char_boundary(limit);
    let end = if fits {
        end
    } else {
        lines[..end].rfind('\n').map_or(0, |at| at + 1)
    };
    let (shown, rest) = lines.split_at(end);
    match rest.lines().count() {
        0 => shown.to_owned(),
        more => format!("{shown}[{more} more findings]"),
    }
}

fn failed(text: impl Into<String>) -> ToolOutput {
    ToolOutput {
        text: text.into(),
        ..ToolOutput::default()
    }
}

/// The editor of a run, until it is dropped.
struct Connected {
    host: Arc<Host>,
    client: ClientId,
}

impl Connected {
    fn new(host: &Arc<Host>, client: ClientId, editor: FileEditor) -> Self {
        host.connect(client, Arc::new(editor));
        Self {
            host: host.clone(),
            client,
        }
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.host.disconnect(self.client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_cut_between_lines_and_counted() {
        let lines = "a.py:1:1: x\nb.py:2:2: y\nc.py:3:3: z\n";
        assert_eq!(whole_lines(lines, 100), lines);
        assert_eq!(
            whole_lines(lines, 24),
            "a.py:1:1: x\nb.py:2:2: y\n[1 more findings]"
        );
        assert_eq!(whole_lines(lines, 5), "[3 more findings]");
        assert_eq!(whole_lines("", 5), "");
    }
}
