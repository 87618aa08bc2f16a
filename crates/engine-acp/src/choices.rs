//! The model, the mode and the effort of a Thread, as the options of an agent's session.
//!
//! An agent names them itself: an option is found by its category, a value by its id or its name. Older agents have modes
//! and models in members of their own.

use bobbin_acp_wire::{
    ConfigOption, OpenedSession, OptionCategory, OptionKind, OptionValue, SelectChoice, SelectEntry,
    SessionUpdate, SetConfigOptionParams, SetConfigOptionResult, SetModeParams, SetModelParams, method,
};
use bobbin_model::{Mode, ThreadConfig};
use serde::Serialize;
use serde_json::Value;

/// The parameters of a request that makes a choice.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Choose {
    Option(SetConfigOptionParams),
    Mode(SetModeParams),
    Model(SetModelParams),
}

impl Choose {
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Option(_) => method::SESSION_SET_CONFIG_OPTION,
            Self::Mode(_) => method::SESSION_SET_MODE,
            Self::Model(_) => method::SESSION_SET_MODEL,
        }
    }

    /// Notes in the session's options that the agent has made the choice.
    pub(crate) fn note(self, opened: &mut OpenedSession, answer: Value) {
        match self {
            // A change of one option may change others. The answer has all of them.
            Self::Option(_) => {
                if let Ok(SetConfigOptionResult { config_options }) = serde_json::from_value(answer) {
                    opened.config_options = Some(config_options);
                }
            }
            Self::Mode(params) => set_mode(opened, params.mode_id),
            Self::Model(params) => {
                if let Some(models) = &mut opened.models {
                    models.current_model_id = params.model_id;
                }
            }
        }
    }
}

/// Notes in the session's options what the agent says of them.
pub(crate) fn note(opened: &mut OpenedSession, update: &SessionUpdate) {
    match update {
        SessionUpdate::ConfigOptionUpdate { config_options } => {
            opened.config_options = Some(config_options.clone());
        }
        SessionUpdate::CurrentModeUpdate { current_mode_id } => set_mode(opened, current_mode_id.clone()),
        _ => {}
    }
}

fn set_mode(opened: &mut OpenedSession, mode: String) {
    if let Some(modes) = &mut opened.modes {
        modes.current_mode_id = mode;
    }
}

/// Which choices a Thread has named to an agent. No message has the agent make its own again. The mode is always named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Named {
    model: bool,
    effort: bool,
}

impl Named {
    /// Returns the choices that a Thread names.
    pub(crate) fn by(config: &ThreadConfig) -> Self {
        Self {
            model: config.model.is_some(),
            effort: config.reasoning_effort.is_some(),
        }
    }

    /// Whether the Thread now leaves one of them to the agent.
    pub(crate) fn leaves_open(self, config: &ThreadConfig) -> bool {
        let now = Self::by(config);
        (self.model && !now.model) || (self.effort && !now.effort)
    }
}

/// The choices of a Thread in a session.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Choices {
    /// The requests that set the options, in this order: the efforts that there are may depend on the model.
    pub(crate) wanted: Vec<Choose>,
    /// A sentence about a model that the agent does not have.
    pub(crate) unknown: Option<String>,
}

/// Returns what the session is to be set to. Values that it has, and those that the Thread leaves open, are not set.
pub(crate) fn choices(session: &str, opened: &OpenedSession, config: &ThreadConfig) -> Choices {
    let mut choices = Choices::default();
    if let Some(model) = &config.model {
        match model_choice(session, opened, model) {
            Ok(choose) => choices.wanted.extend(choose),
            Err(known) if known.is_empty() => {}
            Err(known) => {
                choices.unknown = Some(format!(
                    "The agent has no model {model} and answers with its own choice. It has: {}.",
                    known.join(", ")
                ));
            }
        }
    }
    choices.wanted.extend(mode_choice(session, opened, config.mode()));
    if let Some(effort) = config.reasoning_effort {
        let options = opened.config_options.iter().flatten();
        let option = options
            .into_iter()
            .find(|option| option.category == Some(OptionCategory::ThoughtLevel));
        let found = option.map(|option| of_option(session, option, |choice| is_named(choice, effort.name())));
        choices.wanted.extend(found.and_then(Result::ok).flatten());
    }
    choices
}

/// Returns the request that chooses a model; `None` if it is chosen.
///
/// # Errors
/// The agent's models, of which none is this one.
fn model_choice(session: &str, opened: &OpenedSession, model: &str) -> Result<Option<Choose>, Vec<String>> {
    let options = opened.config_options.iter().flatten();
    let option = options
        .into_iter()
        .find(|option| option.category == Some(OptionCategory::Model));
    if let Some(option) = option {
        let found = of_option(session, option, |choice| is_named(choice, model));
        return found.map_err(|NoSuchValue| {
            values(option)
                .into_iter()
                .map(|choice| choice.value.clone())
                .collect()
        });
    }
    let Some(models) = &opened.models else {
        return Err(Vec::new());
    };
    let mut known = models.available_models.iter();
    let found = known.find(|info| equal(&info.model_id, model) || equal(&info.name, model));
    match found {
        Some(info) if info.model_id == models.current_model_id => Ok(None),
        Some(info) => Ok(Some(Choose::Model(SetModelParams {
            session_id: session.to_owned(),
            model_id: info.model_id.clone(),
        }))),
        None => Err(models
            .available_models
            .iter()
            .map(|info| info.model_id.clone())
            .collect()),
    }
}

/// Returns the request that chooses a mode: one that plans in plan mode, and one that does not otherwise.
fn mode_choice(session: &str, opened: &OpenedSession, mode: Mode) -> Option<Choose> {
    let plans = |id: &str, name: &str| {
        let says = |text: &str| text.to_ascii_lowercase().contains("plan");
        says(id) || says(name)
    };
    let wanted = |id: &str, name: &str| plans(id, name) == (mode == Mode::Plan);
    let options = opened.config_options.iter().flatten();
    let option = options
        .into_iter()
        .find(|option| option.category == Some(OptionCategory::Mode));
    if let Some(option) = option {
        let current = match &option.kind {
            OptionKind::Select { current_value, .. } => current_value,
            OptionKind::Boolean { .. } | OptionKind::Unknown => return None,
        };
        let known = values(option);
        let is_right = known
            .iter()
            .any(|choice| choice.value == *current && wanted(&choice.value, &choice.name));
        if is_right {
            return None;
        }
        return of_option(session, option, |choice| wanted(&choice.value, &choice.name))
            .ok()
            .flatten();
    }
    let modes = opened.modes.as_ref()?;
    let mut known = modes.available_modes.iter();
    let is_right = |id: &str| {
        let mut known = modes.available_modes.iter();
        known.any(|mode| mode.id == id && wanted(&mode.id, &mode.name))
    };
    if is_right(&modes.current_mode_id) {
        return None;
    }
    let found = known.find(|mode| wanted(&mode.id, &mode.name))?;
    Some(Choose::Mode(SetModeParams {
        session_id: session.to_owned(),
        mode_id: found.id.clone(),
    }))
}

/// An option has no value of a kind.
struct NoSuchValue;

/// Returns the request that sets an option to its first value of a kind; `None` if it has that value.
fn of_option(
    session: &str,
    option: &ConfigOption,
    is: impl Fn(&SelectChoice) -> bool,
) -> Result<Option<Choose>, NoSuchValue> {
    let found = values(option).into_iter().find(|choice| is(choice));
    let found = found.ok_or(NoSuchValue)?;
    if let OptionKind::Select { current_value, .. } = &option.kind
        && *current_value == found.value
    {
        return Ok(None);
    }
    Ok(Some(Choose::Option(SetConfigOptionParams {
        session_id: session.to_owned(),
        config_id: option.id.clone(),
        value: OptionValue::Select {
            value: found.value.clone(),
        },
    })))
}

/// Returns the values of a selection, in order.
fn values(option: &ConfigOption) -> Vec<&SelectChoice> {
    let OptionKind::Select { options, .. } = &option.kind else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for entry in options {
        match entry {
            SelectEntry::Choice(choice) => all.push(choice),
            SelectEntry::Group(group) => all.extend(&group.options),
        }
    }
    all
}

fn is_named(choice: &SelectChoice, name: &str) -> bool {
    equal(&choice.value, name) || equal(&choice.name, name)
}

fn equal(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use bobbin_model::Effort;
    use serde_json::json;

    use super::*;

    fn opened(value: Value) -> OpenedSession {
        serde_json::from_value(value).unwrap()
    }

    fn select(id: &str, category: &str, current: &str, values: &[&str]) -> Value {
        let options = values
            .iter()
            .map(|value| json!({ "value": value, "name": value.to_uppercase() }));
        let options: Vec<Value> = options.collect();
        json!({ "id": id, "name": id, "category": category, "type": "select", "currentValue": current,
            "options": options })
    }

    fn wanted(opened: &OpenedSession, config: &ThreadConfig) -> Vec<(&'static str, Value)> {
        let wanted = choices("s", opened, config).wanted.into_iter();
        let parts = |choose: Choose| (choose.method(), serde_json::to_value(choose).unwrap());
        wanted.map(parts).collect()
    }

    #[test]
    fn options_are_found_by_their_category_and_set_where_they_differ() {
        let opened = opened(json!({ "configOptions": [
            select("m", "model", "small", &["small", "large"]),
            select("how", "mode", "code", &["code", "plan"]),
            select("think", "thought_level", "low", &["low", "high"]),
        ] }));
        assert_eq!(wanted(&opened, &ThreadConfig::default()), []);
        let config = ThreadConfig {
            model: Some("LARGE".to_owned()),
            mode: Some(Mode::Plan),
            reasoning_effort: Some(Effort::High),
            ..ThreadConfig::default()
        };
        let set = |id: &str, value: &str| {
            let params = json!({ "sessionId": "s", "configId": id, "value": value });
            ("session/set_config_option", params)
        };
        assert_eq!(
            wanted(&opened, &config),
            [set("m", "large"), set("how", "plan"), set("think", "high")]
        );
        let answer = json!({ "configOptions": [select("m", "model", "large", &["small", "large"])] });
        let mut later = opened.clone();
        let choose = choices("s", &opened, &config).wanted.remove(0);
        choose.note(&mut later, answer);
        assert_eq!(wanted(&later, &config), []);
        let update = SessionUpdate::ConfigOptionUpdate {
            config_options: opened.config_options.clone().unwrap(),
        };
        note(&mut later, &update);
        assert_eq!(later, opened);
        let other = ThreadConfig {
            model: Some("gone".to_owned()),
            ..ThreadConfig::default()
        };
        let choices = choices("s", &opened, &other);
        assert_eq!(choices.wanted, []);
        assert!(choices.unknown.unwrap().contains("small, large"));
    }

    #[test]
    fn a_choice_that_was_named_and_is_no_longer_is_left_open() {
        let model = ThreadConfig {
            model: Some("large".to_owned()),
            ..ThreadConfig::default()
        };
        let effort = ThreadConfig {
            reasoning_effort: Some(Effort::High),
            ..ThreadConfig::default()
        };
        for named in [&model, &effort] {
            assert!(Named::by(named).leaves_open(&ThreadConfig::default()));
            assert!(!Named::by(named).leaves_open(named));
            assert!(!Named::default().leaves_open(named));
        }
        assert!(Named::by(&model).leaves_open(&effort));
    }

    #[test]
    fn modes_and_models_of_older_agents_are_set_too() {
        let opened = opened(json!({
            "modes": { "currentModeId": "plan", "availableModes": [{ "id": "plan", "name": "Plan" }, { "id": "auto", "name": "Auto" }] },
            "models": { "currentModelId": "a", "availableModels": [{ "modelId": "a", "name": "A" }, { "modelId": "b", "name": "Bee" }] },
        }));
        let config = ThreadConfig {
            model: Some("bee".to_owned()),
            ..ThreadConfig::default()
        };
        assert_eq!(
            wanted(&opened, &config),
            [
                ("session/set_model", json!({ "sessionId": "s", "modelId": "b" })),
                ("session/set_mode", json!({ "sessionId": "s", "modeId": "auto" })),
            ]
        );
        // What the agent has taken is not set again, until it says otherwise.
        let mut opened = opened;
        for choose in choices("s", &opened, &config).wanted {
            choose.note(&mut opened, json!({}));
        }
        assert_eq!(wanted(&opened, &config), []);
        note(
            &mut opened,
            &SessionUpdate::CurrentModeUpdate {
                current_mode_id: "plan".to_owned(),
            },
        );
        assert_eq!(wanted(&opened, &config).len(), 1);
        // An agent without any of them gets nothing, and nothing is said.
        let bare = OpenedSession::default();
        assert_eq!(choices("s", &bare, &config), Choices::default());
    }
}
