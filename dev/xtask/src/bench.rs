//! `cargo xtask bench`: builds the server and the driver (`dev/bench`) and lets the one measure the other.
//!
//! Optimised, except for `--quick`, which proves only that the driver works.

use std::ffi::OsString;
use std::path::Path;

use clap::Args;

use crate::cargo;

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Measure the program that releases contain (`--profile dist`) in turns with the one that README builds.
    #[arg(long)]
    dist: bool,
    /// Options of the driver, such as `--scenario NAME`, `--quick` and `--list`; `cargo xtask bench -- --help` names all.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    options: Vec<OsString>,
}

impl Bench {
    /// Builds and measures.
    ///
    /// # Errors
    /// Something does not build, or what was counted did not come.
    pub(crate) fn run(&self, root: &Path) -> anyhow::Result<()> {
        let measures_nothing =
            |option: &OsString| option == "--quick" || option == "--list" || option == "--help";
        let is_quick = self.options.iter().any(measures_nothing);
        let with_profile = |args: &[&'static str]| {
            let mut command = cargo::cargo(root, args);
            command.args(["--profile", if is_quick { "dev" } else { "release" }]);
            command
        };
        cargo::run(with_profile(&[
            "build",
            "--quiet",
            "--package",
            "bobbin-cli",
            "--package",
            "bobbin-bench",
        ]))?;
        let mut driver = with_profile(&["run", "--quiet", "--package", "bobbin-bench"]);
        driver.arg("--").args(&self.options);
        if self.dist {
            let mut dist = cargo::cargo(root, &["build", "--quiet", "--package", "bobbin-cli"]);
            dist.args(["--profile", "dist"]);
            cargo::run(dist)?;
            let built = |profile: &str| root.join("target").join(profile).join("bobbin");
            driver.arg("--server").arg(built("dist"));
            driver.arg("--against").arg(built("release"));
        }
        cargo::run(driver)
    }
}
