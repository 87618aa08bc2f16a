//! A workspace with projects whose environments are this test program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{Children, Environment};
use bobbin_finecode::{
    DevEnv, Dialect, Event, Format, Host, Outcome, Parts, RunError, RunEvent, RunRequest, RunnerSettings,
    Settings, Sink, Trigger,
};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::timeout;

/// Longest wait of a test for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How the runners of a workspace speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Speech {
    pub(crate) dialect: Dialect,
    pub(crate) port: bool,
}

/// Every dialect over both transports.
pub(crate) const ALL: [Speech; 6] = [
    speech(Dialect::Documented, false),
    speech(Dialect::Early, true),
    speech(Dialect::Current, true),
    speech(Dialect::Documented, true),
    speech(Dialect::Early, false),
    speech(Dialect::Current, false),
];

pub(crate) const fn speech(dialect: Dialect, port: bool) -> Speech {
    Speech { dialect, port }
}

/// A workspace with one project, `shop`, and its host.
pub(crate) struct Workspace {
    pub(crate) directory: TempDir,
    pub(crate) host: Host,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
    changed: watch::Sender<u64>,
}

/// Returns the table of an action: handlers are written `name/env/source`.
pub(crate) fn action(source: &str, handlers: &[&str]) -> Value {
    let handlers: Vec<_> = handlers
        .iter()
        .map(|handler| {
            let parts: Vec<_> = handler.split('/').collect();
            json!({ "name": parts[0], "env": parts[1], "source": parts[2] })
        })
        .collect();
    json!({ "source": source, "handlers": handlers })
}

/// Returns settings with these actions in the project `shop`.
pub(crate) fn settings(speech: Speech, actions: &Value) -> Settings {
    let table = json!({ "action": actions });
    Settings {
        runners: vec![RunnerSettings {
            dialect: Some(speech.dialect),
            ..RunnerSettings::default()
        }],
        projects: [(PathBuf::from("shop"), table.as_object().unwrap().clone())].into(),
        ..Settings::default()
    }
}

/// Makes the environments of a project.
pub(crate) fn environments(project: &Path, envs: &[&str], exports: &str) {
    for env in envs {
        let bin = project.join(".venvs").join(env).join("bin");
        fs::create_dir_all(&bin).unwrap();
        let exe = std::env::current_exe().unwrap();
        let script = format!(
            "#!/bin/sh\necho start >> \"$0.starts\"\nLAB_ARGS=\"$*\"\n{exports}\nexport LAB_ARGS LAB_MODE LAB_DIALECT LAB_PORT LAB_FIXTURE\nexec '{}' runner --exact --ignored --nocapture\n",
            exe.display()
        );
        fs::write(bin.join("python"), script).unwrap();
        fs::set_permissions(bin.join("python"), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Returns what the scripts export for the lab's runner.
pub(crate) fn exports(speech: Speech) -> String {
    let dialect = format!("{:?}", speech.dialect).to_lowercase();
    let port = if speech.port { "LAB_PORT=1" } else { "" };
    format!("LAB_MODE=lab\nLAB_DIALECT={dialect}\n{port}")
}

pub(crate) fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

impl Workspace {
    /// Returns a workspace whose project has the environments `tools` and `docs`.
    pub(crate) fn new(speech: Speech, actions: &Value) -> Self {
        Self::with(settings(speech, actions), &exports(speech))
    }

    pub(crate) fn with(settings: Settings, exports: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let shop = directory.path().join("shop");
        fs::create_dir(&shop).unwrap();
        environments(&shop, &["tools", "docs"], exports);
        Self::at(directory, settings)
    }

    pub(crate) fn at(directory: TempDir, settings: Settings) -> Self {
        let mut environment = Environment::empty();
        environment.set("PATH", "/usr/bin:/bin");
        let events = Arc::new(Mutex::new(Vec::new()));
        let changed = watch::Sender::new(0);
        let (seen, change) = (events.clone(), changed.clone());
        let host = Host::new(Parts {
            root: directory.path().to_owned(),
            settings,
            children: Children::new(None),
            environment,
            sandbox: None,
            trust: Arc::new(|path| {
                if path.ends_with("stranger") {
                    return Err("trust this folder first: bobbin trust".to_owned());
                }
                Ok(())
            }),
            announce: Arc::new(move |event| {
                seen.lock().push(event);
                change.send_modify(|count| *count += 1);
            }),
            version: "0".to_owned(),
        });
        Self {
            directory,
            host,
            events,
            changed,
        }
    }

    pub(crate) fn shop(&self) -> PathBuf {
        self.directory.path().join("shop")
    }

    /// Returns how often the runner of an environment was started.
    pub(crate) fn starts(&self, env: &str) -> usize {
        let file = self.shop().join(".venvs").join(env).join("bin/python.starts");
        fs::read_to_string(file).map_or(0, |text| text.lines().count())
    }

    /// Waits until something has happened.
    pub(crate) async fn until(&self, happened: impl Fn(&[Event]) -> bool) {
        let mut changed = self.changed.subscribe();
        let seen = changed.wait_for(|_| happened(&self.events.lock()));
        timeout(PATIENCE, seen).await.unwrap().unwrap();
    }

    /// Runs an action in the project.
    pub(crate) async fn run(&self, action: &str, payload: Value) -> Result<Outcome, RunError> {
        self.run_with(&request(action, &payload), None).await
    }

    pub(crate) async fn run_with(
        &self,
        request: &RunRequest,
        sink: Option<Sink>,
    ) -> Result<Outcome, RunError> {
        let ran = timeout(PATIENCE, self.host.run(request, sink)).await.unwrap();
        let mut outcomes = ran?;
        assert_eq!(outcomes.len(), 1);
        outcomes.remove(0).1
    }

    pub(crate) async fn end(self) {
        timeout(PATIENCE, self.host.end()).await.unwrap();
    }
}

/// Returns the request of a run in the project `shop`.
pub(crate) fn request(action: &str, payload: &Value) -> RunRequest {
    RunRequest {
        action: action.to_owned(),
        projects: Some(vec![PathBuf::from("shop")]),
        concurrently: true,
        payload: raw(payload),
        formats: vec![Format::Json, Format::String],
        partial_results: false,
        trigger: Trigger::User,
        dev_env: DevEnv::Cli,
        client: None,
    }
}

/// Returns a sink that collects, and what it has collected.
pub(crate) fn collector() -> (Sink, Arc<Mutex<Vec<RunEvent>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = seen.clone();
    (Arc::new(move |event| into.lock().push(event)), seen)
}

/// Returns the trail of a result.
pub(crate) fn trail(outcome: &Outcome) -> Vec<String> {
    let json: Value = serde_json::from_str(outcome.json.as_ref().unwrap().get()).unwrap();
    serde_json::from_value(json["trail"].clone()).unwrap()
}
