//! Figures beside their limits and targets, as a table for people and as JSON for programs.

use std::fmt::Write;

use serde::Serialize;

/// What a figure should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Target {
    /// The figure itself, at most.
    AtMost(f64),
    /// The figure itself, at least.
    AtLeast(f64),
    /// The figure as a multiple of the bare limit, at most.
    RatioAtMost(f64),
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Which scenario it is of.
    pub scenario: &'static str,
    /// What was measured.
    pub measure: String,
    /// The unit of `value` and `bare`.
    pub unit: &'static str,
    /// The figure.
    pub value: f64,
    /// The bare limit in the same run, where there is one.
    pub bare: Option<f64>,
    /// `value / bare`.
    pub ratio: Option<f64>,
    /// What it should be.
    pub target: Option<Target>,
    /// Whether it is so.
    pub met: Option<bool>,
}

impl Row {
    pub(crate) fn new(
        scenario: &'static str,
        measure: impl Into<String>,
        unit: &'static str,
        value: f64,
    ) -> Self {
        Self {
            scenario,
            measure: measure.into(),
            unit,
            value,
            bare: None,
            ratio: None,
            target: None,
            met: None,
        }
    }

    /// Returns the figure in one line, for whoever watches a run.
    pub fn line(&self) -> String {
        let mut line = format!("{}: {}", self.measure, with_unit(self.value, self.unit));
        if let (Some(bare), Some(ratio)) = (self.bare, self.ratio) {
            // Writing to a String cannot fail.
            let _ = write!(line, " beside {}: {ratio:.2}", with_unit(bare, self.unit));
        }
        match (self.target, self.met) {
            (Some(target), Some(false)) => {
                let _ = write!(line, ", NOT {}", in_words(target, self.unit));
            }
            (Some(target), _) => {
                let _ = write!(line, ", {}", in_words(target, self.unit));
            }
            (None, _) => {}
        }
        line
    }

    /// Sets the limit beside it.
    pub(crate) fn beside(mut self, bare: f64) -> Self {
        self.bare = Some(bare);
        self.ratio = (bare > 0.0).then(|| self.value / bare);
        self
    }

    /// Sets what it should be; the limit comes first.
    pub(crate) fn wanted(mut self, target: Target) -> Self {
        self.target = Some(target);
        self.met = match target {
            Target::AtMost(most) => Some(self.value <= most),
            Target::AtLeast(least) => Some(self.value >= least),
            Target::RatioAtMost(most) => self.ratio.map(|ratio| ratio <= most),
        };
        self
    }
}

/// A scenario without figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Which.
    pub scenario: &'static str,
    /// Why.
    pub reason: String,
}

/// All figures of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Whether these are figures at all, or only a proof that the driver works.
    pub quick: bool,
    /// The figures, in the order they were taken.
    pub rows: Vec<Row>,
    /// The scenarios that have none.
    pub failed: Vec<Failure>,
}

impl Report {
    /// Returns a table in Markdown.
    pub fn table(&self) -> String {
        let head = [
            "scenario", "measure", "figure", "bare", "of bare", "target", "met",
        ]
        .map(str::to_owned);
        let body = self.rows.iter().map(|row| {
            [
                row.scenario.to_owned(),
                row.measure.clone(),
                with_unit(row.value, row.unit),
                row.bare
                    .map_or_else(String::new, |bare| with_unit(bare, row.unit)),
                row.ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                row.target
                    .map_or_else(String::new, |target| in_words(target, row.unit)),
                row.met
                    .map_or("", |met| if met { "yes" } else { "NO" })
                    .to_owned(),
            ]
        });
        table(head, body)
    }
}

/// Returns a table in Markdown, its columns as wide as their widest cell.
pub(crate) fn table<const N: usize>(head: [String; N], body: impl Iterator<Item = [String; N]>) -> String {
    let lines: Vec<[String; N]> = std::iter::once(head).chain(body).collect();
    let width = |column: usize| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        cells.max().unwrap_or(0).max(3)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut table = String::new();
    for (index, line) in lines.iter().enumerate() {
        for (cell, width) in line.iter().zip(&widths) {
            // Writing to a String cannot fail.
            let _ = write!(table, "| {cell:width$} ");
        }
        table.push_str("|\n");
        if index == 0 {
            for width in &widths {
                let _ = write!(table, "|{}", "-".repeat(width + 2));
            }
            table.push_str("|\n");
        }
    }
    table
}

pub(crate) fn with_unit(value: f64, unit: &str) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    };
    let number = format!("{value:.digits$}");
    if unit.is_empty() {
        number
    } else {
        format!("{number} {unit}")
    }
}

fn in_words(target: Target, unit: &str) -> String {
    match target {
        Target::AtMost(most) => format!("≤ {}", with_unit(most, unit)),
        Target::AtLeast(least) => format!("≥ {}", with_unit(least, unit)),
        Target::RatioAtMost(most) => format!("≤ {most} × bare"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_by_the_figure_or_by_its_ratio() {
        let row = |value| Row::new("one", "time", "ms", value).beside(2.0);
        assert_eq!(row(3.0).ratio, Some(1.5));
        for (value, target, met) in [
            (3.0, Target::AtMost(3.0), true),
            (3.1, Target::AtMost(3.0), false),
            (3.0, Target::AtLeast(3.0), true),
            (2.9, Target::AtLeast(3.0), false),
            (4.0, Target::RatioAtMost(2.0), true),
            (4.1, Target::RatioAtMost(2.0), false),
        ] {
            assert_eq!(row(value).wanted(target).met, Some(met), "{value} {target:?}");
        }
        assert_eq!(
            Row::new("one", "time", "ms", 1.0)
                .wanted(Target::RatioAtMost(2.0))
                .met,
            None
        );
    }

    #[test]
    fn a_line_says_whether_the_target_is_met() {
        let row = |value| Row::new("one", "time", "ms", value);
        assert_eq!(row(3.0).line(), "time: 3.00 ms");
        let beside = |value| row(value).beside(2.0).wanted(Target::RatioAtMost(2.0)).line();
        assert_eq!(beside(3.0), "time: 3.00 ms beside 2.00 ms: 1.50, ≤ 2 × bare");
        assert_eq!(beside(6.0), "time: 6.00 ms beside 2.00 ms: 3.00, NOT ≤ 2 × bare");
    }

    #[test]
    fn the_table_has_a_line_for_each_figure() {
        let rows = vec![
            Row::new("one", "time", "ms", 3.0)
                .beside(2.0)
                .wanted(Target::RatioAtMost(2.0)),
            Row::new("two", "rate", "/s", 123_456.0).wanted(Target::AtLeast(200_000.0)),
        ];
        let report = Report {
            quick: false,
            rows,
            failed: Vec::new(),
        };
        let table = report.table();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(
            lines[2].contains("3.00 ms") && lines[2].contains("1.50") && lines[2].contains("yes"),
            "{table}"
        );
        assert!(
            lines[3].contains("123456 /s") && lines[3].contains("NO"),
            "{table}"
        );
        assert!(
            lines
                .iter()
                .all(|line| line.chars().count() == lines[0].chars().count())
        );
    }
}
