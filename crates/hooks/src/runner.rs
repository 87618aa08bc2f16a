//! Which hooks count, and what comes of them at a moment.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::settings::{Hook, expression};
use bobbin_agent_api::hook::{HookEvent, HookInput, HookReport, HookSaid, Hooks};
use bobbin_children::{Children, Environment};
use bobbin_model::Mode;
use bobbin_tools::ProgramSandbox;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use regex::Regex;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::process::Surroundings;
use crate::{answer, names, process};

/// Most processes of hooks at a time; the others wait.
pub const MAX_AT_ONCE: usize = 8;

/// A hook that counts.
#[derive(Debug)]
struct Ready {
    hook: Hook,
    matcher: Option<Regex>,
    /// The name of its switch.
    switch: String,
}

impl Ready {
    /// Returns the name by which a hook knows what it is asked about, if it is to be asked.
    fn matching<'a>(&self, event: HookEvent, subject: &'a str) -> Option<&'a str> {
        if self.hook.event != event {
            return None;
        }
        let Some(matcher) = &self.matcher else {
            return Some(subject);
        };
        let is_tool = matches!(event, HookEvent::PreToolUse | HookEvent::PostToolUse);
        if !is_tool {
            // Other moments have matchers for some kinds only; what has none is asked.
            return (subject.is_empty() || matcher.is_match(subject)).then_some(subject);
        }
        names::of_tool(subject).find(|name| matcher.is_match(name))
    }
}

/// The hooks of a workspace and its user.
pub struct HookRunner {
    surroundings: Arc<Surroundings>,
    /// The workspace, in which the files of its hooks are.
    root: PathBuf,
    ready: Mutex<AllReady>,
    places: Arc<Semaphore>,
}

/// The hooks that are known, and the switches that are off.
#[derive(Default)]
struct AllReady {
    configured: Vec<Arc<Ready>>,
    plugins: Vec<Arc<Ready>>,
    off: BTreeSet<String>,
}

impl AllReady {
    /// Returns the hooks that are to be asked, each with its name for what it is asked about.
    fn of<'a>(
        &'a self,
        event: HookEvent,
        subject: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<Ready>, &'a str)> {
        let all = self.configured.iter().chain(&self.plugins);
        let matching = all.filter_map(move |ready| Some((ready, ready.matching(event, subject)?)));
        matching.filter(|(ready, _)| !self.off.contains(&ready.switch))
    }
}

impl HookRunner {
    /// Returns a runner without hooks. They get `environment`; those that are not the user's own are confined as commands.
    pub fn new(root: &Path, children: Children, environment: Environment, sandbox: ProgramSandbox) -> Self {
        Self {
            surroundings: Arc::new(Surroundings {
                children,
                environment,
                sandbox,
            }),
            root: root.to_owned(),
            ready: Mutex::default(),
            places: Arc::new(Semaphore::new(MAX_AT_ONCE)),
        }
    }

    /// Replaces the hooks of the configuration.
    pub fn set_configured(&self, hooks: Vec<Hook>) {
        let hooks = ready(hooks);
        self.ready.lock().configured = hooks;
    }

    /// Replaces the hooks of plugins.
    pub fn set_plugins(&self, hooks: Vec<Hook>) {
        let hooks = ready(hooks);
        self.ready.lock().plugins = hooks;
    }

    /// Replaces the names of the switches that are off. Hooks with such a switch do not run.
    pub fn set_off(&self, switches: &[String]) {
        self.ready.lock().off = switches.iter().cloned().collect();
    }
}

/// Returns hooks ready to be asked. Expressions were checked when they were read.
fn ready(hooks: Vec<Hook>) -> Vec<Arc<Ready>> {
    let ready = hooks.into_iter().filter_map(|hook| {
        let matcher = hook.matcher.as_deref().map(expression).transpose().ok()?;
        let switch = hook.switch();
        Some(Arc::new(Ready {
            hook,
            matcher,
            switch,
        }))
    });
    ready.collect()
}

impl Hooks for HookRunner {
    fn has(&self, event: HookEvent, subject: &str) -> bool {
        self.ready.lock().of(event, subject).next().is_some()
    }

    fn run(&self, input: HookInput) -> BoxFuture<'static, HookReport> {
        let hooks: Vec<_> = {
            let ready = self.ready.lock();
            let hooks = ready.of(input.event, &input.subject);
            hooks
                .map(|(ready, name)| (ready.clone(), name.to_owned()))
                .collect()
        };
        let (surroundings, places) = (self.surroundings.clone(), self.places.clone());
        let files = names::files(&input);
        let (input, root) = (Arc::new(input), self.root.clone());
        async move {
            // A hook in the form of others knows one file a call.
            let each = hooks.into_iter().flat_map(|(ready, name)| {
                let files = if name == input.subject { &[] } else { &*files };
                let whole = files.is_empty().then_some(None);
                let each = files.iter().cloned().map(Some).chain(whole);
                each.map(move |file| (ready.clone(), name.clone(), file))
                    .collect::<Vec<_>>()
            });
            let runs = each.map(|(ready, name, file)| {
                one(
                    surroundings.clone(),
                    places.clone(),
                    ready,
                    input.clone(),
                    (name, file),
                    root.clone(),
                )
            });
            answer::join(join_all(runs).await)
        }
        .boxed()
    }
}

/// Asks one hook.
async fn one(
    surroundings: Arc<Surroundings>,
    places: Arc<Semaphore>,
    ready: Arc<Ready>,
    input: Arc<HookInput>,
    (subject, file): (String, Option<String>),
    root: PathBuf,
) -> HookReport {
    let hook = &ready.hook;
    let name = hook.name();
    let not_run = |why: &str| {
        let mut report = HookReport::default();
        tracing::warn!(hook = name, why, "a hook was not run");
        // What was to be looked at is not let pass because nobody could look.
        if input.event == HookEvent::PreToolUse {
            report.blocked = Some(HookSaid {
                hook: name.clone(),
                text: format!("it was not run: {why}."),
            });
        } else {
            report.notes.push(format!("{name} was not run: {why}."));
        }
        report
    };
    let command = match &hook.command {
        Ok(command) => command,
        Err(why) => return not_run(why),
    };
    // The semaphore is never closed.
    let _place = places.acquire_owned().await.ok();
    let own = ready.clone();
    let unchanged = tokio::task::spawn_blocking(move || own.hook.is_unchanged(&root)).await;
    if !unchanged.unwrap_or(false) {
        return not_run("you have not trusted it as it is now; `bobbin trust` shows it");
    }
    let asked = question(&input, &subject, file.as_deref())
        .to_string()
        .into_bytes();
    match process::run(&surroundings, hook, command, &input.root, asked).await {
        Ok((exit, written)) => answer::read(input.event, &name, exit, &written),
        Err(why) => not_run(&why),
    }
}

/// Returns what a hook reads from its standard input. `file` is one of a patch.
fn question(input: &HookInput, subject: &str, file: Option<&str>) -> Value {
    let mut members = input.members.clone();
    members.insert("session_id".to_owned(), json!(input.thread.as_str()));
    members.insert("cwd".to_owned(), json!(input.root));
    members.insert("hook_event_name".to_owned(), json!(input.event.name()));
    let mode = if input.mode == Mode::Plan {
        "plan"
    } else {
        "default"
    };
    members.insert("permission_mode".to_owned(), json!(mode));
    if matches!(input.event, HookEvent::PreToolUse | HookEvent::PostToolUse) {
        members.insert("tool_name".to_owned(), json!(subject));
        if let Some(Value::Object(arguments)) = members.get_mut("tool_input")
            && subject != input.subject
        {
            if let Some(file) = file {
                arguments.insert("path".to_owned(), json!(file));
            }
            names::add_to_arguments(arguments, &input.root);
        }
    }
    Value::Object(members)
}

#[cfg(test)]
#[path = "runner_tests.rs"]
mod tests;
