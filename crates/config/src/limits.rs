//! Limits of a Turn, and when conversations are compacted.
//!
//! A workspace's file may narrow the limits of a Turn. Its other values count once the user trusts them: any author
//! can put a file into a project, and the user pays for higher limits.

use std::time::Duration;

use bobbin_agent::{AgentSettings, TurnLimits};

use crate::file::ConfigFile;
use crate::gate::Gate;

/// Micros in one unit of a currency.
const MICROS: f64 = 1_000_000.0;

/// The agent's part of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLimits {
    limits: TurnLimits,
    compaction: bool,
    tool_search: bool,
    /// Whether and by which model titles are written.
    pub titles: TitleSettings,
    /// The share of a window at which conversations are compacted, in percent.
    pub compact_percent: Option<u64>,
}

/// How titles of Threads are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TitleSettings {
    /// Whether a model writes them.
    pub enabled: bool,
    /// The model, instead of each Thread's own.
    pub model: Option<String>,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            limits: TurnLimits::default(),
            compaction: true,
            tool_search: true,
            titles: TitleSettings {
                enabled: true,
                model: None,
            },
            compact_percent: None,
        }
    }
}

impl AgentLimits {
    /// Adds the settings of one file. The user's file comes first.
    pub(crate) fn add(&mut self, file: &ConfigFile, gate: &mut Gate<'_>) {
        let (said, compaction, tools) = (&file.limits, &file.compaction, &file.tools);
        let known = &mut self.limits;
        let rounds = said
            .rounds
            .map(|rounds| usize::try_from(rounds).unwrap_or(usize::MAX));
        narrow(&mut known.rounds, rounds, || gate.passes("Limits.Rounds"));
        narrow(&mut known.tokens, said.tokens, || gate.passes("Limits.Tokens"));
        narrow(&mut known.time, said.seconds.map(Duration::from_secs), || {
            gate.passes("Limits.Seconds")
        });
        narrow(&mut known.cost_micros, said.cost.map(micros), || {
            gate.passes("Limits.Cost")
        });
        if let Some(enabled) = compaction.enabled
            && (enabled == self.compaction || gate.passes("Compaction.Enabled"))
        {
            self.compaction = enabled;
        }
        let percent = compaction.at_percent;
        if percent.is_some() && (percent == self.compact_percent || gate.passes("Compaction.AtPercent")) {
            self.compact_percent = percent;
        }
        if let Some(search) = tools.search
            && (search == self.tool_search || gate.passes("Tools.Search"))
        {
            self.tool_search = search;
        }
        if let Some(enabled) = file.titles.enabled
            && (enabled == self.titles.enabled || gate.passes("Titles.Enabled"))
        {
            self.titles.enabled = enabled;
        }
        if let Some(model) = &file.titles.model
            && gate.passes("Titles.Model")
        {
            self.titles.model = Some(model.clone());
        }
    }

    /// Returns the settings of the agent.
    pub fn agent(&self) -> AgentSettings {
        AgentSettings {
            limits: self.limits,
            compaction: self.compaction,
            tool_search: self.tool_search,
            ..AgentSettings::default()
        }
    }
}

/// Sets a bound if it is not wider than the current one, or if `may_widen` allows it.
pub(crate) fn narrow<T: Ord + Copy>(
    known: &mut Option<T>,
    said: Option<T>,
    may_widen: impl FnOnce() -> bool,
) {
    if let Some(said) = said
        && (known.is_none_or(|known| said <= known) || may_widen())
    {
        *known = Some(said);
    }
}

/// Returns an amount of money in millionths, rounded up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the schema bounds amounts to positive ones below a billion"
)]
pub(crate) fn micros(amount: f64) -> u64 {
    (amount * MICROS).ceil() as u64
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::check::check;
    use bobbin_workspace::TrustRecord;

    fn added(user: &Value, workspace: &Value) -> (AgentLimits, Vec<String>) {
        let (user, workspace) = (check(user.clone()).unwrap(), check(workspace.clone()).unwrap());
        let mut limits = AgentLimits::default();
        let mut gate = Gate::of_user(&user.value);
        limits.add(&user.file, &mut gate);
        let record = TrustRecord::default();
        let mut gate = Gate::of_folder(&workspace.value, &record);
        limits.add(&workspace.file, &mut gate);
        let names = gate.into_items().into_iter().map(|item| item.name);
        (limits, names.collect())
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
