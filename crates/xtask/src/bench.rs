//! `cargo xtask bench`: builds the server and the driver (`crates/bench`) and lets the one measure the other.
//!
//! Optimised, except for `--quick`, which proves only that the driver works.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cargo;

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Only this scenario; --list names them.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    /// As little as shows that the driver works, unoptimised; the figures mean nothing.
    #[arg(long)]
    quick: bool,
    /// JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Writes the JSON to a file too.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Names the scenarios and what they measure, and does nothing.
    #[arg(long)]
    list: bool,
}

impl Bench {
    /// Builds and measures.
    ///
    /// # Errors
    /// Something does not build, or what was counted did not come.
    pub(crate) fn run(&self, root: &Path) -> anyhow::Result<()> {
        let with_profile = |args: &[&'static str]| {
            let profile = if self.quick || self.list { "dev" } else { "release" };
            let mut command = cargo::cargo(root, args);
            command.args(["--profile", profile]);
            command
        };
        cargo::run(with_profile(&[
            "build",
            "--quiet",
            "--package",
            "bobbin-appserver",
            "--package",
            "bobbin-bench",
        ]))?;
        let mut driver = with_profile(&["run", "--quiet", "--package", "bobbin-bench"]);
        driver.arg("--").args(self.passed_on());
        cargo::run(driver)
    }

    fn passed_on(&self) -> Vec<&OsStr> {
        let scenario = self.scenario.iter().flat_map(|name| ["--scenario", name]);
        let save = self
            .save
            .iter()
            .flat_map(|file| [OsStr::new("--save"), file.as_os_str()]);
        let given = [
            (self.quick, "--quick"),
            (self.json, "--json"),
            (self.list, "--list"),
        ];
        let flags = given.iter().filter(|(given, _)| *given).map(|(_, flag)| *flag);
        scenario.chain(flags).map(OsStr::new).chain(save).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_passed_on() {
        let bench = Bench {
            scenario: Some("turn".to_owned()),
            quick: true,
            json: false,
            list: true,
            save: Some("figures.json".into()),
        };
        let expected = [
            "--scenario",
            "turn",
            "--quick",
            "--list",
            "--save",
            "figures.json",
        ];
        assert_eq!(bench.passed_on(), expected);
    }
}
