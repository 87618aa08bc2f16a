//! The choices of a user in a session: its mode, its model, and how much the model thinks. Pure.
//!
//! Clients move from modes to options, so both are sent, and both change together.

use bobbin_acp_wire::{
    ConfigOption, OpenedSession, OptionCategory, OptionKind, OptionValue, SelectChoice, SelectEntry,
    SessionMode, SessionModeState, SessionUpdate,
};
use bobbin_agent_api::engines::EngineList;
use bobbin_editor_kit::EditorModels;
use bobbin_model::{Effort, Mode, ThreadConfig};

/// The option of the mode.
pub(crate) const MODE: &str = "mode";
/// The option of the model.
pub(crate) const MODEL: &str = "model";
/// The option of the effort.
pub(crate) const THOUGHT_LEVEL: &str = "thought_level";
/// The option of the agent that runs the Turns.
pub(crate) const AGENT: &str = "agent";
/// The value of the server's own agent.
const OWN_AGENT: &str = "bobbin";
/// The value of an effort that the model's provider chooses.
const BY_DEFAULT: &str = "default";

/// The choices that are in force in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choices {
    mode: Mode,
    /// A full name.
    model: String,
    effort: Option<Effort>,
    /// All models.
    models: Vec<String>,
    /// The efforts that the model can be asked for.
    efforts: Vec<Effort>,
    /// The other agent that runs the Turns.
    engine: Option<String>,
    /// All other agents.
    engines: Vec<String>,
}

/// A change of a session's configuration.
pub(crate) enum Change {
    Mode(Mode),
    Model(String),
    Effort(Option<Effort>),
    /// `None`: the server's own agent.
    Engine(Option<String>),
}

impl Choices {
    /// Returns the choices of a configuration.
    pub(crate) fn new(
        config: Option<&ThreadConfig>,
        models: &dyn EditorModels,
        engines: Option<&EngineList>,
    ) -> Self {
        let engine = config.and_then(|config| config.engine.clone());
        let listed = engines.into_iter().flat_map(EngineList::names);
        let mut engines: Vec<String> = listed.map(ToOwned::to_owned).collect();
        engines.extend(engine.clone().filter(|engine| !engines.contains(engine)));
        let named = config.and_then(|config| config.model.as_deref());
        let model = match named {
            Some(name) => models.find(name).unwrap_or_else(|| name.to_owned()),
            None => models.usual(),
        };
        let mut known = models.known();
        if !known.contains(&model) {
            known.insert(0, model.clone());
        }
        let efforts = models.efforts(&model);
        let effort = config.and_then(|config| config.reasoning_effort);
        Self {
            mode: config.map(ThreadConfig::mode).unwrap_or_default(),
            effort: effort.filter(|effort| efforts.contains(effort)),
            model,
            models: known,
            efforts,
            engine,
            engines,
        }
    }

    /// Returns the part of an answer that describes a session.
    pub(crate) fn opened(&self) -> OpenedSession {
        OpenedSession {
            modes: Some(SessionModeState {
                current_mode_id: mode_id(self.mode).to_owned(),
                available_modes: [Mode::Agent, Mode::Plan].map(session_mode).to_vec(),
            }),
            config_options: Some(self.config_options()),
            ..OpenedSession::default()
        }
    }

    /// Returns all options.
    pub(crate) fn config_options(&self) -> Vec<ConfigOption> {
        let modes = [Mode::Agent, Mode::Plan].map(|mode| {
            let SessionMode {
                id,
                name,
                description,
            } = session_mode(mode);
            SelectChoice {
                value: id,
                name,
                description,
            }
        });
        let models = self.models.iter().map(|name| choice(name, name));
        let mut options = vec![select(
            MODE,
            "Mode",
            OptionCategory::Mode,
            mode_id(self.mode),
            modes,
        )];
        if !self.engines.is_empty() {
            let own = std::iter::once(choice(OWN_AGENT, "Bobbin"));
            let others = self.engines.iter().map(|name| choice(name, name));
            let current = self.engine.as_deref().unwrap_or(OWN_AGENT);
            let category = OptionCategory::Own("_agent".to_owned());
            options.push(select(AGENT, "Agent", category, current, own.chain(others)));
        }
        // Another agent has models of its own, which are not known here.
        if self.engine.is_some() {
            return options;
        }
        options.push(select(MODEL, "Model", OptionCategory::Model, &self.model, models));
        if !self.efforts.is_empty() {
            let named = self
                .efforts
                .iter()
                .map(|effort| choice(effort.name(), effort.name()));
            let by_default = std::iter::once(choice(BY_DEFAULT, "Default"));
            let current = self.effort.map_or(BY_DEFAULT, Effort::name);
            options.push(select(
                THOUGHT_LEVEL,
                "Thinking",
                OptionCategory::ThoughtLevel,
                current,
                by_default.chain(named),
            ));
        }
        options
    }

    /// Returns the news for a client that knows `before`.
    pub(crate) fn news(&self, before: &Self) -> Vec<SessionUpdate> {
        let mut news = Vec::new();
        if self.mode != before.mode {
            news.push(SessionUpdate::CurrentModeUpdate {
                current_mode_id: mode_id(self.mode).to_owned(),
            });
        }
        if self != before {
            news.push(SessionUpdate::ConfigOptionUpdate {
                config_options: self.config_options(),
            });
        }
        news
    }

    /// Returns the change that a client wants. The error is a sentence.
    pub(crate) fn wanted(
        &self,
        option: &str,
        value: &OptionValue,
        models: &dyn EditorModels,
    ) -> Result<Change, String> {
        let OptionValue::Select { value } = value else {
            return Err(format!("{option} is no option that is on or off."));
        };
        match option {
            MODE => mode_of(value).map(Change::Mode),
            AGENT if value == OWN_AGENT => Ok(Change::Engine(None)),
            AGENT if self.engines.contains(value) => Ok(Change::Engine(Some(value.clone()))),
            AGENT => Err(format!(
                "There is no agent {value}; choose one of the option's values."
            )),
            MODEL => models
                .find(value)
                .map(Change::Model)
                .ok_or_else(|| format!("There is no model {value}; choose one of the option's values.")),
            THOUGHT_LEVEL if !self.efforts.is_empty() => match Effort::of_name(value) {
                Some(effort) if self.efforts.contains(&effort) => Ok(Change::Effort(Some(effort))),
                None if value == BY_DEFAULT => Ok(Change::Effort(None)),
                _ => Err(format!(
                    "{} cannot think {value}; choose one of the option's values.",
                    self.model
                )),
            },
            _ => Err(format!("There is no option {option}.")),
        }
    }
}

/// Returns the mode of an id. The error is a sentence.
pub(crate) fn mode_of(id: &str) -> Result<Mode, String> {
    [Mode::Agent, Mode::Plan]
        .into_iter()
        .find(|mode| mode_id(*mode) == id)
        .ok_or_else(|| format!("There is no mode {id}; the modes are agent and plan."))
}

fn mode_id(mode: Mode) -> &'static str {
    match mode {
        Mode::Agent => "agent",
        Mode::Plan => "plan",
    }
}

fn session_mode(mode: Mode) -> SessionMode {
    let (name, description) = match mode {
        Mode::Agent => ("Agent", "Works with all tools; asks where the rules want it."),
        Mode::Plan => ("Plan", "Reads and plans, and changes nothing."),
    };
    SessionMode {
        id: mode_id(mode).to_owned(),
        name: name.to_owned(),
        description: Some(description.to_owned()),
    }
}

fn choice(value: &str, name: &str) -> SelectChoice {
    SelectChoice {
        value: value.to_owned(),
        name: name.to_owned(),
        description: None,
    }
}

fn select(
    id: &str,
    name: &str,
    category: OptionCategory,
    current: &str,
    choices: impl IntoIterator<Item = SelectChoice>,
) -> ConfigOption {
    ConfigOption {
        id: id.to_owned(),
        name: name.to_owned(),
        description: None,
        category: Some(category),
        kind: OptionKind::Select {
            current_value: current.to_owned(),
            options: choices.into_iter().map(SelectEntry::Choice).collect(),
        },
    }
}
