//! Two servers measured in turns: what a change costs, as ratios.

use std::path::Path;

use serde::Serialize;

use crate::plan::{Plan, Progress, run};
use crate::report::{Failure, Row, table, with_unit};

/// What a comparison measures when no scenario is named.
const SCENARIOS: [&str; 5] = ["cold-start", "turn", "streams", "approval", "idle"];

/// One figure of both servers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pair {
    /// The scenario.
    pub scenario: &'static str,
    /// What was measured.
    pub measure: String,
    /// The unit of both.
    pub unit: &'static str,
    /// The median of the old server's rounds.
    pub old: f64,
    /// The median of the new server's rounds.
    pub new: f64,
    /// `new / old`.
    pub ratio: Option<f64>,
}

/// All figures of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The figures that both servers have, in the order they were taken.
    pub pairs: Vec<Pair>,
    /// The scenarios without figures, of either server.
    pub failed: Vec<Failure>,
}

/// Measures `plan.server` and an older server in turns, `rounds` times each; the order changes with each round.
///
/// # Errors
/// No scenario has the plan's name, or a program cannot be looked at.
pub async fn compare(
    plan: &Plan,
    old: &Path,
    rounds: usize,
    mut progress: impl FnMut(&str, Progress<'_>),
) -> anyhow::Result<Comparison> {
    let old_plan = Plan {
        server: old.to_owned(),
        ..plan.clone()
    };
    let mut taken: [Vec<Row>; 2] = [vec![size(old)?], vec![size(&plan.server)?]];
    let mut failed = Vec::new();
    for round in 0..rounds {
        for turn in 0..2 {
            let which = (round + turn) % 2;
            let (name, plan) = [("old", &old_plan), ("new", plan)][which];
            let scenarios = match &plan.only {
                Some(only) => vec![only.as_str()],
                None => SCENARIOS.to_vec(),
            };
            for scenario in scenarios {
                let plan = Plan {
                    only: Some(scenario.to_owned()),
                    ..plan.clone()
                };
                let report = run(&plan, |step| progress(name, step)).await?;
                taken[which].extend(report.rows);
                failed.extend(report.failed);
            }
        }
    }
    let [old, new] = taken;
    Ok(Comparison {
        pairs: pairs(&old, &new),
        failed,
    })
}

fn size(program: &Path) -> anyhow::Result<Row> {
    #[expect(clippy::cast_precision_loss, reason = "a file is far below 2^52 bytes")]
    let mib = std::fs::metadata(program)?.len() as f64 / f64::from(1 << 20);
    Ok(Row::new("program", "size", "MiB", mib))
}

/// Joins what both have of a name; each value is the median of its rounds.
fn pairs(old: &[Row], new: &[Row]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    for row in new {
        let is_same = |other: &&Row| other.scenario == row.scenario && other.measure == row.measure;
        let is_there = pairs
            .iter()
            .any(|pair| pair.scenario == row.scenario && pair.measure == row.measure);
        let (old, new) = (
            median(old.iter().filter(is_same)),
            median(new.iter().filter(is_same)),
        );
        if let (false, Some(old), Some(new)) = (is_there, old, new) {
            pairs.push(Pair {
                scenario: row.scenario,
                measure: row.measure.clone(),
                unit: row.unit,
                old,
                new,
                ratio: (old > 0.0).then(|| new / old),
            });
        }
    }
    pairs
}

fn median<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<f64> {
    let mut values: Vec<f64> = rows.map(|row| row.value).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len().checked_sub(1)? / 2;
    values.get(middle).copied()
}

impl Comparison {
    /// Returns a table in Markdown.
    pub fn table(&self) -> String {
        let head = ["scenario", "measure", "old", "new", "new / old"].map(str::to_owned);
        let body = self.pairs.iter().map(|pair| {
            [
                pair.scenario.to_owned(),
                pair.measure.clone(),
                with_unit(pair.old, pair.unit),
                with_unit(pair.new, pair.unit),
                pair.ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            ]
        });
        table(head, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(measure: &str, value: f64) -> Row {
        Row::new("one", measure, "ms", value)
    }

    #[test]
    fn each_figure_is_the_median_of_its_rounds() {
        let old = [
            row("time", 4.0),
            row("gone", 1.0),
            row("time", 2.0),
            row("time", 9.0),
        ];
        let new = [row("time", 6.0), row("added", 1.0), row("time", 8.0)];
        let pairs = pairs(&old, &new);
        assert_eq!(pairs.len(), 1, "{pairs:?}");
        assert_eq!(
            (pairs[0].old, pairs[0].new, pairs[0].ratio),
            (4.0, 6.0, Some(1.5))
        );
        let table = Comparison {
            pairs,
            failed: Vec::new(),
        }
        .table();
        assert!(
            table
                .lines()
                .nth(2)
                .is_some_and(|line| line.contains("4.00 ms") && line.contains("1.50")),
            "{table}"
        );
    }
}
