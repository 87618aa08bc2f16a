//! What the configuration says of the agent's loop: how much a Turn may use, and when conversations are summed up.
//!
//! ```json
//! { "Limits": { "Rounds": 200, "Tokens": 2000000, "Seconds": 3600, "Cost": 5.0 },
//!   "Compaction": { "Enabled": true, "AtPercent": 90 } }
//! ```
//!
//! Who may say what: the user sets these. A workspace's file may make the limits of a Turn narrower; anything else in it
//! counts once its user trusts it: anybody can put a file into a project, and what it lifts the user pays for.

use std::time::Duration;

use anyhow::{Context, bail};
use bobbin_engine::{AgentSettings, TurnLimits};
use serde_json::Value;

use crate::config::{at, number};
use crate::trust::Gate;

/// Members of `Limits`.
pub(crate) const LIMITS: &[&str] = &["Rounds", "Tokens", "Seconds", "Cost"];
/// Members of `Compaction`.
pub(crate) const COMPACTION: &[&str] = &["Enabled", "AtPercent"];
/// Shares of a window at which compaction makes sense.
const PERCENTS: std::ops::RangeInclusive<u64> = 30..=95;
/// Micros in one unit of a currency.
const MICROS: f64 = 1_000_000.0;

/// The agent's part of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) limits: TurnLimits,
    pub(crate) compaction: bool,
    /// At which share of a window, in percent.
    pub(crate) compact_percent: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: TurnLimits::default(),
            compaction: true,
            compact_percent: None,
        }
    }
}

impl Settings {
    /// Takes what one file says. The user's file comes first.
    ///
    /// # Errors
    /// A value is not one of those possible.
    pub(crate) fn add(&mut self, value: &Value, gate: &mut Gate<'_>) -> anyhow::Result<()> {
        let said = limits(value)?;
        let percent = number(value, "Compaction.AtPercent")?;
        if percent.is_some_and(|percent| !PERCENTS.contains(&percent)) {
            bail!(
                "Compaction.AtPercent must be from {} to {}",
                PERCENTS.start(),
                PERCENTS.end()
            );
        }
        let enabled = match at(value, "Compaction.Enabled") {
            None | Some(Value::Null) => None,
            Some(Value::Bool(enabled)) => Some(*enabled),
            Some(other) => bail!("Compaction.Enabled is {other}; it can be true or false"),
        };
        let mut passes = |name: &str| at(value, name).is_some_and(|value| gate.passes(name, value));
        take(&mut self.limits.rounds, said.rounds, || passes("Limits.Rounds"));
        take(&mut self.limits.tokens, said.tokens, || passes("Limits.Tokens"));
        take(&mut self.limits.time, said.time, || passes("Limits.Seconds"));
        take(&mut self.limits.cost_micros, said.cost_micros, || {
            passes("Limits.Cost")
        });
        if let Some(enabled) = enabled
            && (enabled == self.compaction || passes("Compaction.Enabled"))
        {
            self.compaction = enabled;
        }
        if percent.is_some() && (percent == self.compact_percent || passes("Compaction.AtPercent")) {
            self.compact_percent = percent;
        }
        Ok(())
    }

    /// Returns what the agent is told of it.
    pub(crate) fn agent(&self) -> AgentSettings {
        AgentSettings {
            limits: self.limits,
            compaction: self.compaction,
            ..AgentSettings::default()
        }
    }
}

/// Takes a bound if it is narrower than the one in force, or may be wider.
fn take<T: Ord + Copy>(known: &mut Option<T>, said: Option<T>, may_widen: impl FnOnce() -> bool) {
    let Some(said) = said else { return };
    if known.is_none_or(|known| said <= known) || may_widen() {
        *known = Some(said);
    }
}

/// Reads the limits; what is not said is `None`.
fn limits(value: &Value) -> anyhow::Result<TurnLimits> {
    let positive = |name: &str| -> anyhow::Result<Option<u64>> {
        let path = format!("Limits.{name}");
        match number(value, &path)? {
            Some(0) => bail!("{path} is 0; leave it out for no limit of your own"),
            said => Ok(said),
        }
    };
    let cost = match at(value, "Limits.Cost") {
        None | Some(Value::Null) => None,
        Some(cost) => Some(money(cost).context("Limits.Cost is no amount of money")?),
    };
    let rounds = positive("Rounds")?.map(|rounds| usize::try_from(rounds).unwrap_or(usize::MAX));
    Ok(TurnLimits {
        rounds,
        tokens: positive("Tokens")?,
        time: positive("Seconds")?.map(Duration::from_secs),
        cost_micros: cost,
    })
}

/// Returns an amount in millionths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be positive and far below the bound"
)]
pub(crate) fn money(value: &Value) -> Option<u64> {
    let amount = value.as_f64().filter(|amount| (0.0..1e9).contains(amount))?;
    Some((amount * MICROS).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trust::TrustRecord;

    fn added(user: &Value, workspace: &Value) -> (Settings, Vec<String>) {
        let mut settings = Settings::default();
        settings.add(user, &mut Gate::of_user()).unwrap();
        let record = TrustRecord::default();
        let mut gate = Gate::of_folder(&record);
        settings.add(workspace, &mut gate).unwrap();
        let names = gate.into_items().into_iter().map(|item| item.name);
        (settings, names.collect())
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
    fn the_user_lifts_what_is_usual() {
        let (settings, _) = added(&json!({ "Limits": { "Rounds": 500 } }), &json!({}));
        assert_eq!(settings.limits.rounds, Some(500));
    }

    #[test]
    fn values_that_mean_nothing_are_told() {
        for (value, part) in [
            (json!({ "Limits": { "Rounds": 0 } }), "leave it out"),
            (json!({ "Limits": { "Tokens": "many" } }), "no number"),
            (json!({ "Limits": { "Cost": -1 } }), "no amount"),
            (json!({ "Compaction": { "AtPercent": 3 } }), "from 30 to 95"),
            (json!({ "Compaction": { "Enabled": "no" } }), "true or false"),
        ] {
            let error = Settings::default().add(&value, &mut Gate::of_user());
            let error = format!("{:#}", error.unwrap_err());
            assert!(error.contains(part), "{error}");
        }
    }
}
