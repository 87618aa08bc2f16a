//! The actions, handlers and services of a project, made of a merged table.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Problem;
use super::source::Source;

/// A handler of an action.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Handler {
    pub(crate) name: String,
    pub(crate) source: String,
    pub(crate) env: String,
    config: Value,
    dependencies: Value,
}

/// An action.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Action {
    pub(crate) name: String,
    pub(crate) source: String,
    config: Value,
    pub(crate) handlers: Vec<Handler>,
}

/// The actions, handlers and services of a project.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Catalog {
    pub(crate) actions: Vec<Action>,
    handler_configs: Map<String, Value>,
    services: Vec<Value>,
    logging: Option<Value>,
}

impl Catalog {
    /// Reads a merged table. Wrong parts are left out, each with a problem.
    pub(crate) fn read(table: &Value, sources: &[Source]) -> (Self, Vec<Problem>) {
        let mut problems = Problems {
            sources,
            found: Vec::new(),
        };
        let mut catalog = Self::default();
        for (source, entry) in items(table, "action_handler", "source") {
            if source.starts_with('#') {
                problems.add(&["action_handler"], "an action_handler has no source");
                continue;
            }
            let config = entry.get("config").cloned().unwrap_or_else(|| json!({}));
            catalog.handler_configs.insert(source, config);
        }
        for (interface, service) in items(table, "service", "interface") {
            if service.get("source").is_none_or(|source| !source.is_string()) {
                problems.add(&["service"], &format!("service {interface} has no source"));
                continue;
            }
            catalog.services.push(service.clone());
        }
        catalog.logging = table.get("logging").cloned();
        let mut sources = BTreeSet::new();
        let actions = table.get("action").and_then(Value::as_object);
        for (name, action) in actions.into_iter().flatten() {
            let at = ["action", name];
            let Some(source) = text(action, "source") else {
                problems.add(&at, &format!("action {name} has no source; name its import path"));
                continue;
            };
            if !sources.insert(source) {
                problems.add(
                    &at,
                    &format!("action {name} has the source {source} of another action"),
                );
                continue;
            }
            let mut handlers = Vec::new();
            for (handler, entry) in items(action, "handlers", "name") {
                if entry.get("enabled").is_some_and(|enabled| enabled == false) {
                    continue;
                }
                match read_handler(&handler, entry) {
                    Ok(handler) => handlers.push(handler),
                    Err(missing) => {
                        let text = format!("handler {handler} of action {name} has no {missing}");
                        problems.add(&["action", name, "handlers"], &text);
                    }
                }
            }
            catalog.actions.push(Action {
                name: name.clone(),
                source: source.to_owned(),
                config: action.get("config").cloned().unwrap_or_else(|| json!({})),
                handlers,
            });
        }
        let mut problems = problems.found;
        problems.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        (catalog, problems)
    }

    /// Returns the configuration of the runner of an environment: the actions with a handler there, each with all its
    /// handlers.
    pub(crate) fn runner_config(&self, env: &str) -> Value {
        let here = |action: &&Action| action.handlers.iter().any(|handler| handler.env == env);
        let actions: Vec<_> = self.actions.iter().filter(here).map(Action::json).collect();
        let logging = || json!({ "defaultLevel": "INFO", "logGroups": {} });
        json!({
            "actions": actions,
            "action_handler_configs": self.handler_configs,
            "services": self.services,
            "logging": self.logging.clone().unwrap_or_else(logging),
            "telemetry": { "otlp_endpoint": null },
        })
    }
}

impl Action {
    fn json(&self) -> Value {
        let handler = |handler: &Handler| {
            json!({
                "name": handler.name, "source": handler.source, "config": handler.config, "env": handler.env,
                "dependencies": handler.dependencies,
            })
        };
        let handlers: Vec<_> = self.handlers.iter().map(handler).collect();
        json!({ "name": self.name, "source": self.source, "handlers": handlers, "config": self.config })
    }
}

fn read_handler(name: &str, entry: &Value) -> Result<Handler, &'static str> {
    if name.starts_with('#') {
        return Err("name");
    }
    Ok(Handler {
        name: name.to_owned(),
        source: text(entry, "source").ok_or("source")?.to_owned(),
        env: text(entry, "env").ok_or("env")?.to_owned(),
        config: entry.get("config").cloned().unwrap_or_else(|| json!({})),
        dependencies: entry.get("dependencies").cloned().unwrap_or_else(|| json!([])),
    })
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value
        .get(name)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// Returns the items of a list with their names. An item without a name gets one that says where it is.
fn items<'a>(table: &'a Value, list: &str, key: &'a str) -> impl Iterator<Item = (String, &'a Value)> {
    let items = table.get(list).and_then(Value::as_array).into_iter().flatten();
    items.enumerate().map(move |(at, item)| {
        let name = text(item, key).map_or_else(|| format!("#{}", at + 1), str::to_owned);
        (name, item)
    })
}

/// Problems of a merged table, each with the file that its part came from.
struct Problems<'a> {
    sources: &'a [Source],
    found: Vec<Problem>,
}

impl Problems<'_> {
    fn add(&mut self, path: &[&str], message: &str) {
        self.found.push(locate(self.sources, path, message));
    }
}

/// Returns a problem with a member of a merged table, at the first file that has it.
pub(crate) fn locate(sources: &[Source], path: &[&str], message: impl Into<String>) -> Problem {
    let roots: [&[&str]; 2] = [&["tool", "finecode"], &["finecode"]];
    for source in sources {
        for root in roots {
            let whole: Vec<_> = root.iter().chain(path).copied().collect();
            let part: Vec<_> = root.iter().chain(path.iter().take(2)).copied().collect();
            if source.has(&part) {
                return source.problem(&whole, message);
            }
        }
    }
    Problem {
        file: "the settings of FineCode".into(),
        line: None,
        message: message.into(),
    }
}
