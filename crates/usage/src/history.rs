//! Sums of rows by day and key. Pure.

use std::collections::BTreeMap;

use bobbin_core::{UsageRow, UsedRow};
use jiff::ToSpan as _;
use jiff::civil::{Date, date};

use crate::types::{UsageDay, UsageGrouping, UsageMetric, UsageSeries, UsageValue};

/// The key of everything behind the largest keys.
const OTHER: &str = "other";
/// The key of what has no value of its own.
pub(crate) const USUAL: &str = "default";
/// The beginning of the names of tools of MCP servers.
const MCP: &str = "mcp__";

/// A number of one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) day: i64,
    pub(crate) key: String,
    pub(crate) value: u64,
}

/// Whether a metric can be distinguished so.
pub(crate) fn fits(metric: UsageMetric, by: UsageGrouping) -> bool {
    use UsageGrouping as By;
    match by {
        By::None => true,
        By::TokenType => metric == UsageMetric::Tokens,
        By::Surface => !matches!(metric, UsageMetric::ToolCalls | UsageMetric::SkillUses),
        By::Model | By::Reasoning | By::Speed => {
            matches!(
                metric,
                UsageMetric::Tokens | UsageMetric::Turns | UsageMetric::Requests
            )
        }
        By::ToolSource | By::Tool => metric == UsageMetric::ToolCalls,
        By::Skill => metric == UsageMetric::SkillUses,
    }
}

/// Returns the numbers of a metric.
pub(crate) fn entries(
    metric: UsageMetric,
    by: UsageGrouping,
    rows: &[UsageRow],
    used: &[UsedRow],
) -> Vec<Entry> {
    let of_used = |prefix: &str| {
        let used = used.iter().filter_map(move |row| {
            let name = row.key.strip_prefix(prefix)?;
            let key = match by {
                UsageGrouping::Tool | UsageGrouping::Skill => name,
                UsageGrouping::ToolSource if name.starts_with(MCP) => "mcp",
                UsageGrouping::ToolSource => "builtin",
                _ => "all",
            };
            Some(Entry {
                day: row.day,
                key: key.to_owned(),
                value: row.count,
            })
        });
        used.collect::<Vec<_>>()
    };
    match metric {
        UsageMetric::ToolCalls => return of_used("tool:"),
        UsageMetric::SkillUses => return of_used("skill:"),
        _ => {}
    }
    let mut entries = Vec::new();
    for row in rows {
        let mut add = |key: &str, value| {
            entries.push(Entry {
                day: row.day,
                key: key.to_owned(),
                value,
            });
        };
        let value = match metric {
            UsageMetric::Tokens => row.input + row.output,
            UsageMetric::Turns => row.turns,
            UsageMetric::Requests => row.requests,
            _ => row.errors,
        };
        match by {
            UsageGrouping::TokenType => {
                add("input", row.input.saturating_sub(row.cached));
                add("cachedInput", row.cached);
                add("output", row.output.saturating_sub(row.reasoning));
                add("reasoningOutput", row.reasoning);
            }
            UsageGrouping::Surface => add(&row.surface, value),
            UsageGrouping::Model => add(row.model.as_deref().unwrap_or(USUAL), value),
            UsageGrouping::Reasoning => add(row.effort.as_deref().unwrap_or(USUAL), value),
            UsageGrouping::Speed => add("standard", value),
            _ => add("all", value),
        }
    }
    entries
}

/// Sums entries by day and key: the `most` largest keys by themselves, the rest as one.
pub(crate) fn summed(entries: &[Entry], most: usize) -> (Vec<UsageDay>, Vec<UsageSeries>) {
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.value > 0) {
        *totals.entry(&entry.key).or_default() += entry.value;
    }
    let mut series: Vec<(&str, u64)> = totals.into_iter().collect();
    series.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    let rest = series.split_off(series.len().min(most));
    let own: Vec<&str> = series.iter().map(|(key, _)| *key).collect();
    if !rest.is_empty() {
        series.push((OTHER, rest.iter().map(|(_, total)| total).sum()));
    }
    let mut days: BTreeMap<i64, BTreeMap<&str, u64>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.value > 0) {
        let key = own
            .iter()
            .find(|key| **key == entry.key)
            .copied()
            .unwrap_or(OTHER);
        *days.entry(entry.day).or_default().entry(key).or_default() += entry.value;
    }
    let days = days.into_iter().map(|(day, values)| UsageDay {
        date: date_of(day),
        total: values.values().sum(),
        values: series
            .iter()
            .filter_map(|(key, _)| {
                Some(UsageValue {
                    key: (*key).to_owned(),
                    value: *values.get(key)?,
                })
            })
            .collect(),
    });
    let days = days.collect();
    let series = series.into_iter().map(|(key, total)| UsageSeries {
        key: key.to_owned(),
        total,
    });
    (days, series.collect())
}

/// Returns the number of a day, `YYYY-MM-DD`, since 1 January 1970.
pub(crate) fn day_of(text: &str) -> Option<i64> {
    let parsed: Date = text.parse().ok().filter(|_| text.len() == 10)?;
    let days = EPOCH.until(parsed).ok()?.get_days();
    Some(days.into())
}

fn date_of(day: i64) -> String {
    EPOCH
        .checked_add(day.days())
        .map_or_else(|_| String::new(), |date| date.to_string())
}

const EPOCH: Date = date(1970, 1, 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_keys_stay_and_the_rest_is_one() {
        let entry = |day, key: &str, value| Entry {
            day,
            key: key.to_owned(),
            value,
        };
        let entries = [
            entry(0, "a", 5),
            entry(0, "b", 2),
            entry(1, "c", 4),
            entry(1, "b", 1),
            entry(1, "d", 0),
        ];
        let (days, series) = summed(&entries, 2);
        let series: Vec<_> = series.iter().map(|one| (one.key.as_str(), one.total)).collect();
        assert_eq!(series, [("a", 5), ("c", 4), ("other", 3)]);
        let days: Vec<String> = days
            .iter()
            .map(|day| {
                let values = day.values.iter().map(|one| format!(" {}={}", one.key, one.value));
                format!("{} {}:{}", day.date, day.total, values.collect::<String>())
            })
            .collect();
        assert_eq!(days, ["1970-01-01 7: a=5 other=2", "1970-01-02 5: c=4 other=1"]);
    }

    #[test]
    fn days_are_read_and_written() {
        for (text, day) in [
            ("1970-01-02", Some(1)),
            ("2027-01-04", Some(20_822)),
            ("2027-13-04", None),
            ("2027-1-4", None),
            ("tea", None),
        ] {
            assert_eq!(day_of(text), day, "{text}");
            if let Some(day) = day {
                assert_eq!(date_of(day), text);
            }
        }
    }
}
