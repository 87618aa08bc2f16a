//! The settings of an agent, besides its model and its tools, and the sections of configuration files about it.
//!
//! A workspace's file may narrow the limits of a Turn. Its other values count once the user trusts them: any author
//! can put a file into a project, and the user pays for higher limits.

use std::time::Duration;

use bobbin_model::SandboxProfile;
use bobbin_settings::{Source, micros};
use bobbin_tools::Sandbox;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{TurnLimits, instructions};

/// Settings of an [`AgentEngine`](super::AgentEngine).
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// How commands are sandboxed, for the model.
    pub sandbox: Sandbox,
    /// The limits of a Turn.
    pub limits: TurnLimits,
    /// Whether conversations that are getting too long are compacted.
    pub compaction: bool,
    /// The share of a window at which conversations are compacted, in percent; `None`: it depends on the model.
    pub compact_percent: Option<u64>,
    /// Whether the tools of MCP servers are searched where there are many, instead of all being offered.
    pub tool_search: bool,
    /// How titles of Threads are written.
    pub titles: TitleSettings,
    /// Whether a model makes the suggestions of an empty window.
    pub welcome: bool,
}

/// How titles of Threads are written.
#[derive(Debug, Clone)]
pub struct TitleSettings {
    /// Whether a model writes them.
    pub enabled: bool,
    /// The model, instead of each Thread's own.
    pub model: Option<String>,
}

/// The sections about the agent.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Section {
    /// Limits of a Turn. A workspace's file can only lower these, unless you trust it.
    #[serde(default)]
    limits: Limits,
    /// Shortening of long conversations.
    #[serde(default)]
    compaction: Compaction,
    /// Titles of conversations.
    #[serde(default)]
    titles: Titles,
    /// Suggestions that clients show in an empty window.
    #[serde(default)]
    welcome_suggestions: WelcomeSuggestions,
    /// Tools of MCP servers as models get them.
    #[serde(default)]
    tools: Tools,
}

/// Limits of a Turn.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(extend("x-restrains" = true))]
struct Limits {
    /// Replies with calls.
    #[schemars(range(min = 1), extend("default" = 200))]
    rounds: Option<u64>,
    /// Tokens read and written, of all requests; no limit when left out.
    #[schemars(range(min = 1))]
    tokens: Option<u64>,
    /// Time at work, in seconds; no limit when left out.
    #[schemars(range(min = 1))]
    seconds: Option<u64>,
    /// Money, in the currency of the models' `Price`; no limit when left out.
    #[schemars(range(min = 0, max = 999_999_999))]
    cost: Option<f64>,
}

/// Shortening of long conversations.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct Compaction {
    /// Whether conversations are compacted before they fill the model's window.
    #[schemars(extend("default" = true))]
    enabled: Option<bool>,
    /// Share of the window at which that happens, in percent; by the model when left out.
    #[schemars(range(min = 30, max = 95))]
    at_percent: Option<u64>,
}

/// Titles of conversations.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct Titles {
    /// Whether a model writes the title of a conversation after its first Turn.
    #[schemars(extend("default" = true))]
    enabled: Option<bool>,
    /// The model that does so; that of the conversation when left out.
    model: Option<String>,
}

/// Suggestions that clients show in an empty window.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct WelcomeSuggestions {
    /// Whether a model makes them.
    #[schemars(extend("default" = true))]
    enabled: Option<bool>,
}

/// Tools of MCP servers as models get them.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct Tools {
    /// Whether a model searches the tools of servers where these have many, instead of getting all in each request.
    #[schemars(extend("default" = true))]
    search: Option<bool>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            sandbox: Sandbox::default(),
            limits: TurnLimits::default(),
            compaction: true,
            compact_percent: None,
            tool_search: true,
            titles: TitleSettings {
                enabled: true,
                model: None,
            },
            welcome: true,
        }
    }
}

impl AgentSettings {
    /// Adds the settings of one file. The user's file comes first.
    pub fn add(&mut self, section: Section, source: &mut Source<'_>) {
        let Section {
            limits,
            compaction,
            titles,
            welcome_suggestions,
            tools,
        } = section;
        let rounds = limits.rounds;
        let rounds = rounds.map(|rounds| usize::try_from(rounds).unwrap_or(usize::MAX));
        source.narrow(&mut self.limits.rounds, rounds, "Limits.Rounds");
        source.narrow(&mut self.limits.tokens, limits.tokens, "Limits.Tokens");
        let time = limits.seconds.map(Duration::from_secs);
        source.narrow(&mut self.limits.time, time, "Limits.Seconds");
        source.narrow(
            &mut self.limits.cost_micros,
            limits.cost.map(micros),
            "Limits.Cost",
        );
        source.set(
            &mut self.compaction,
            compaction.enabled,
            "Compaction.Enabled",
            bool::eq,
        );
        let percent = compaction.at_percent.map(Some);
        source.set(
            &mut self.compact_percent,
            percent,
            "Compaction.AtPercent",
            Option::eq,
        );
        source.set(&mut self.tool_search, tools.search, "Tools.Search", bool::eq);
        source.set(
            &mut self.titles.enabled,
            titles.enabled,
            "Titles.Enabled",
            bool::eq,
        );
        source.set(
            &mut self.titles.model,
            titles.model.map(Some),
            "Titles.Model",
            |_, _| false,
        );
        let welcome = welcome_suggestions.enabled;
        let path = "WelcomeSuggestions.Enabled";
        source.set(&mut self.welcome, welcome, path, |_, welcome| !welcome);
    }

    /// Sets how commands are sandboxed.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: &Sandbox) -> Self {
        self.sandbox = sandbox.clone();
        self
    }

    /// Returns how the commands of a Turn are sandboxed, as a sentence for the model.
    pub(super) fn commands(&self, of_turn: Option<SandboxProfile>) -> &'static str {
        match of_turn {
            Some(profile) => instructions::confinement(&self.sandbox.with_profile(profile)),
            None => instructions::confinement(&self.sandbox),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bobbin_settings::{check, schema};
    use bobbin_workspace::TrustRecord;
    use serde_json::{Value, json};

    use super::*;

    fn added(user: &Value, workspace: &Value) -> (AgentSettings, Vec<String>) {
        let schema = schema::<Section>();
        let [user, workspace] = [user, workspace].map(|file| check(&schema, file.clone()).unwrap());
        let (path, root, record) = (Path::new("config.json"), Path::new("/"), TrustRecord::default());
        let mut settings = AgentSettings::default();
        settings.add(user.file, &mut Source::of_user(path, root, &user.value));
        let mut source = Source::of_folder(path, root, None, &workspace.value, &record);
        settings.add(workspace.file, &mut source);
        let items = source.into_parts().0.into_iter();
        (settings, items.map(|item| item.name).collect())
    }

    #[test]
    fn a_workspace_makes_a_turn_cheaper_and_never_dearer() {
        let user = json!({ "Limits": { "Tokens": 1000, "Cost": 1.5 }, "Compaction": { "AtPercent": 60 } });
        let dearer = json!({
            "limits": { "rounds": 500, "tokens": 1001, "cost": 1.6, "seconds": 60 },
            "compaction": { "enabled": false, "atPercent": 90 },
        });
        let (settings, lifted) = added(&user, &dearer);
        assert_eq!(lifted.len(), 5, "{lifted:?}");
        assert_eq!(
            settings.limits,
            TurnLimits {
                rounds: TurnLimits::default().rounds,
                tokens: Some(1000),
                time: Some(Duration::from_mins(1)),
                cost_micros: Some(1_500_000),
            }
        );
        assert_eq!((settings.compaction, settings.compact_percent), (true, Some(60)));
        let cheaper = json!({ "Limits": { "Rounds": 5, "Tokens": 10, "Cost": 0 } });
        let (settings, lifted) = added(&user, &cheaper);
        assert_eq!(lifted, Vec::<String>::new());
        assert_eq!(
            (
                settings.limits.rounds,
                settings.limits.tokens,
                settings.limits.cost_micros
            ),
            (Some(5), Some(10), Some(0))
        );
    }

    #[test]
    fn the_user_lifts_the_default() {
        let (settings, _) = added(&json!({ "Limits": { "Rounds": 500 } }), &json!({}));
        assert_eq!(settings.limits.rounds, Some(500));
    }
}
