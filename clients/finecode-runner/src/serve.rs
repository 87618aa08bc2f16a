//! One connection to a manager: what it configures, which documents it has opened, and the methods that it calls.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_framing::Transport;
use bobbin_peer::{
    Batches, CallContext, ErrorObject, HandlerError, ParseErrorReply, Peer, PeerOptions, VersionCheck,
};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::action::{Entry, Failure};
use crate::answer::{self, Format, Segment, Shape, failed, formats};
use crate::call::Run;
use crate::execute::{Partials, Status, Step, execute, merge};
use crate::manager::{Manager, Meta, Routes};
use crate::methods::{Documents, handlers};
use crate::wal::{Wal, WalFile};
use crate::{Dialect, Json, Program};

/// Answers code that managers read as "could not".
const INTERNAL: i64 = -32603;

/// What a runner is started with.
#[derive(Debug)]
pub struct Setup {
    /// The directory of its project.
    pub project: PathBuf,
    /// Its environment. Handlers of others are not its own.
    pub env: String,
    /// How it answers.
    pub dialect: Dialect,
    /// Whether it answers as documented, with the other spelling beside it.
    pub both: bool,
    /// The file of its log of runs, and the time now, since 1970.
    pub wal: Option<(File, Duration)>,
}

pub(crate) struct State {
    pub(crate) program: Program,
    pub(crate) setup: Setup,
    shape: Shape,
    wal: WalFile,
    config: Mutex<Option<Arc<Config>>>,
    pub(crate) documents: Arc<Documents>,
    pub(crate) routes: Arc<Routes>,
}

/// What `finecodeRunner/updateConfig` says, as far as it is used.
#[derive(Debug, Deserialize)]
struct Config {
    actions: Vec<Configured>,
    #[serde(default)]
    action_handler_configs: HashMap<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Configured {
    name: String,
    source: String,
    #[serde(default)]
    handlers: Vec<ConfiguredHandler>,
}

#[derive(Debug, Deserialize)]
struct ConfiguredHandler {
    name: String,
    source: String,
    #[serde(default)]
    config: Value,
    env: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunParams {
    action_name: String,
    params: Option<Json>,
    options: Option<Options>,
    handler_names: Option<Vec<String>>,
    previous_result: Option<Json>,
    previous_context: Option<Map<String, Value>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Options {
    meta: Meta,
    #[serde(alias = "partial_result_token")]
    partial_result_token: Option<Value>,
    #[serde(alias = "progress_token")]
    progress_token: Option<Value>,
    #[serde(alias = "result_formats")]
    result_formats: Option<Vec<Format>>,
    #[serde(alias = "wal_run_id")]
    wal_run_id: Option<String>,
}

/// Serves one connection. Returns once it is over; the process should end then.
///
/// # Errors
/// Never for what the other side does: handlers contradict each other.
pub async fn serve(
    program: Program,
    setup: Setup,
    transport: Transport,
) -> Result<(), bobbin_peer::ConfigError> {
    let options = PeerOptions {
        batches: Batches::Reject,
        version_check: VersionCheck::Lenient,
        parse_error_reply: ParseErrorReply::Never,
        ..PeerOptions::default()
    };
    let mut setup = setup;
    let wal = setup.wal.take().map(|(file, now)| WalFile::new(file, now));
    let state = Arc::new(State {
        program,
        shape: Shape::new(setup.dialect, setup.both),
        setup,
        wal: wal.unwrap_or_default(),
        config: Mutex::default(),
        documents: Arc::default(),
        routes: Arc::default(),
    });
    let peer = Peer::start(transport, options, |peer| handlers(&state, &peer))?;
    peer.closed().await;
    Ok(())
}

pub(crate) fn error(message: String) -> HandlerError {
    ErrorObject::new(INTERNAL, message).into()
}

impl State {
    fn config(&self) -> Result<Arc<Config>, Failure> {
        let config = self.config.lock().clone();
        config.ok_or_else(|| Failure("the runner is not configured yet".to_owned()))
    }

    pub(crate) fn update_config(&self, params: Value) -> Result<Value, HandlerError> {
        let mut params = params;
        let config = Config::deserialize(params["config"].take());
        let config = config.map_err(|why| ErrorObject::invalid_params(format!("config: {why}")))?;
        let mut sources: Vec<_> = config.actions.iter().map(|action| &action.source).collect();
        sources.sort_unstable();
        if let Some([source, _]) = sources.array_windows().find(|[one, next]| one == next) {
            return Err(error(format!("two actions have the source {source}")));
        }
        *self.config.lock() = Some(Arc::new(config));
        self.documents.clear();
        Ok(json!({}))
    }

    pub(crate) fn action_meta(&self) -> Value {
        let mut actions = Map::new();
        let config = self.config();
        for action in config.iter().flat_map(|config| &config.actions) {
            let Some(entry) = self.program.find(&action.source) else {
                continue;
            };
            let mut meta =
                json!({ "canonical_source": entry.canonical, "runs_concurrently": entry.concurrent });
            if self.shape != Shape::Documented {
                meta["scope"] = json!("project");
                meta["parentActionSource"] = json!(entry.parent.as_ref().map(|(parent, _)| parent));
                meta["language"] = json!(entry.parent.as_ref().map(|(_, language)| language));
                meta["fileLoc"] = Value::Null;
            }
            actions.insert(action.source.clone(), meta);
        }
        match self.shape {
            Shape::Current => json!({ "actions": actions, "handlerLocations": {} }),
            Shape::Documented | Shape::Plain | Shape::Both => Value::Object(actions),
        }
    }

    pub(crate) fn schemas(&self) -> Value {
        let config = self.config();
        let actions = config.iter().flat_map(|config| &config.actions);
        let schemas = actions.map(|action| {
            let entry = self.program.find(&action.source);
            let schema = entry.map_or(Value::Null, |entry| entry.schema.clone());
            (action.name.clone(), schema)
        });
        Value::Object(schemas.collect())
    }

    pub(crate) fn merge(&self, call: &CallContext) -> Result<Json, HandlerError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            action_name: String,
            results: Vec<Json>,
        }
        let Params { action_name, results } = call.decode()?;
        let merged = self
            .find(&action_name)
            .and_then(|(_, entry)| merge(&entry, &results));
        match merged {
            Ok(Some(merged)) => Ok(RawValue::from_string(format!("{{\"merged\":{merged}}}"))?),
            Ok(None) => Ok(to_raw_value(&json!({ "merged": {} }))?),
            Err(why) => Ok(failed(why)?),
        }
    }

    /// Returns a configured action and what the program knows of it.
    fn find(&self, name: &str) -> Result<(Arc<Config>, Entry), Failure> {
        let config = self.config()?;
        let action = config.actions.iter().find(|action| action.name == name);
        let action = action.ok_or_else(|| Failure(format!("no action {name} is configured")))?;
        let entry = self.program.find(&action.source);
        let entry = entry.ok_or_else(|| Failure(format!("this program has no action {}", action.source)))?;
        let entry = entry.clone();
        Ok((config, entry))
    }

    /// Returns the handlers of this environment, or those of these names, in the order of the names.
    fn steps(
        &self,
        config: &Config,
        entry: &Entry,
        action: &str,
        names: Option<&[String]>,
    ) -> Result<Vec<Step>, Failure> {
        let configured = config
            .actions
            .iter()
            .filter(|configured| configured.name == action);
        let configured: Vec<_> = configured.flat_map(|action| &action.handlers).collect();
        let chosen: Vec<_> = if let Some(names) = names {
            let find = |name: &String| configured.iter().find(|handler| handler.name == *name);
            names.iter().filter_map(find).copied().collect()
        } else {
            let own = |handler: &&&ConfiguredHandler| {
                let env = handler.env.as_ref();
                env.is_none_or(|env| *env == self.setup.env)
            };
            configured.iter().filter(own).copied().collect()
        };
        let step = |handler: &ConfiguredHandler| {
            let source = &handler.source;
            let found = entry.handlers.get(source);
            let found = found.ok_or_else(|| Failure(format!("this program has no handler {source}")))?;
            let mut settings = config
                .action_handler_configs
                .get(source)
                .cloned()
                .unwrap_or_default();
            overlay(&mut settings, handler.config.clone());
            Ok(Step {
                name: handler.name.clone(),
                handler: found.clone(),
                config: settings,
            })
        };
        chosen.into_iter().map(step).collect()
    }

    pub(crate) async fn run(&self, call: &CallContext) -> Result<Json, Failure> {
        let params: RunParams = decode(call)?;
        let (ended, entry, wanted) = self.execute(call, params, false).await?;
        let (code, by_format) = ended.rendered(&entry, &wanted)?;
        answer::run(self.shape, ended.status, &by_format, code)
    }

    pub(crate) async fn run_segment(&self, call: &CallContext) -> Result<Json, Failure> {
        let params: RunParams = decode(call)?;
        let (mut ended, entry, wanted) = self.execute(call, params, true).await?;
        let (code, by_format) = if wanted.is_empty() {
            (ended.code(&entry)?, RawValue::from_string("{}".to_owned())?)
        } else {
            ended.rendered(&entry, &wanted)?
        };
        let context = std::mem::take(&mut *ended.run.context.lock());
        let result = ended.result.take();
        let segment = Segment {
            status: ended.status.name(),
            result: result.map_or_else(|| RawValue::from_string("{}".to_owned()), Ok)?,
            result_by_format: &by_format,
            return_code: code,
            context: (!context.is_empty()).then_some(context),
        };
        Ok(to_raw_value(&segment)?)
    }

    async fn execute(
        &self,
        call: &CallContext,
        params: RunParams,
        segment: bool,
    ) -> Result<(Ended, Entry, Vec<Format>), Failure> {
        let (config, entry) = self.find(&params.action_name)?;
        let options = params.options.unwrap_or_default();
        let wanted = options.result_formats.unwrap_or_else(|| vec![Format::Json]);
        let names = params.handler_names.unwrap_or_default();
        let steps = self.steps(&config, &entry, &params.action_name, segment.then_some(&*names))?;
        let id = options
            .wal_run_id
            .unwrap_or_else(|| format!("run-{}", call.ordinal));
        let wal = Wal {
            file: self.wal.clone(),
            run: json!({
                "wal_run_id": id, "action_name": params.action_name, "project_path": self.setup.project,
                "trigger": options.meta.trigger, "dev_env": options.meta.dev_env,
            }),
        };
        wal.write("run.accepted", &params.action_name);
        let run = Arc::new(Run {
            peer: call.peer.clone(),
            manager: Manager::new(call.peer.clone(), self.routes.clone(), options.meta),
            documents: self.documents.clone(),
            payload: params
                .params
                .map_or_else(|| RawValue::from_string("{}".to_owned()), Ok)?,
            progress_token: options.progress_token,
            partials: Partials::new(options.partial_result_token, self.shape, wanted.clone(), &entry),
            context: Mutex::new(params.previous_context.unwrap_or_default()),
        });
        wal.write("run.dispatched", &params.action_name);
        let executed = execute(&entry, steps, &run, params.previous_result, &wal).await;
        if run.partials.any() {
            wal.write("partial_result.final_sent", &params.action_name);
        }
        let failed = executed.is_err();
        wal.write(
            if failed { "run.failed" } else { "run.completed" },
            &params.action_name,
        );
        let (status, result) = executed?;
        Ok((Ended { status, result, run }, entry, wanted))
    }
}

/// How a run ended, and what it was.
struct Ended {
    status: Status,
    result: Option<Json>,
    run: Arc<Run>,
}

impl Ended {
    fn code(&self, entry: &Entry) -> Result<i64, Failure> {
        let code = self.result.as_ref().map(|result| (entry.render)(result));
        Ok(code.transpose()?.map_or(0, |(_, code)| code))
    }

    /// Returns the return code, and the result by format. It is empty where the caller has it already.
    fn rendered(&self, entry: &Entry, wanted: &[Format]) -> Result<(i64, Json), Failure> {
        let code = self.code(entry)?;
        let shown = self.result.as_ref().filter(|_| self.status != Status::Streamed);
        let by_format = match shown {
            Some(result) => formats(wanted, result, entry.render)?,
            None if self.status == Status::Success => RawValue::from_string(r#"{"json":{}}"#.to_owned())?,
            None => RawValue::from_string("{}".to_owned())?,
        };
        Ok((code, by_format))
    }
}

fn decode(call: &CallContext) -> Result<RunParams, Failure> {
    call.decode().map_err(|error| {
        let detail = error.data.as_deref().map_or("", RawValue::get);
        Failure(format!("{}: {detail}", error.message))
    })
}

/// Merges settings: objects deeply, everything else is replaced.
fn overlay(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (name, value) in over {
                overlay(base.entry(name).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (base, over) => *base = over,
    }
}
