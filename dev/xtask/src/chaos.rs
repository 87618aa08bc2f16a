//! `cargo xtask chaos`: the long form of the tests that break everything (`tests/server/chaos*.rs`).

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use clap::Args;

use crate::cargo;

/// Rounds when nothing is said; half a minute or so.
const ROUNDS: u64 = 20;

/// How long to go on, and from where.
#[derive(Debug, Args)]
pub(crate) struct Chaos {
    /// Rounds, one seed each; 20 when left out, one when only a seed is given.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Seed of the first round, such as the one that a failed round has printed.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    seed: Option<u64>,
}

impl Chaos {
    /// Builds the server and plays the rounds, with every other part of chaos beside them; a seed alone is played alone.
    ///
    /// # Errors
    /// A round failed; its seed is on stdout.
    pub(crate) fn run(&self, root: &Path) -> anyhow::Result<()> {
        cargo::run(self.command(root))
    }

    fn command(&self, root: &Path) -> Command {
        let rounds = self
            .rounds
            .unwrap_or(if self.seed.is_some() { 1 } else { ROUNDS });
        // Tests are found by the beginning of their name.
        let parts = if self.seed.is_some() { "chaos::" } else { "chaos" };
        let mut command = cargo::cargo(root, &["test", "--quiet", "--package", "bobbin-cli"]);
        command
            .args(["--test", "server", parts, "--", "--nocapture"].map(OsStr::new))
            .env("BOBBIN_CHAOS_ROUNDS", rounds.to_string())
            .env("BOBBIN_CHAOS_SEED", self.seed.unwrap_or(1).to_string());
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(chaos: &Chaos) -> Vec<(String, String)> {
        let command = chaos.command(Path::new("."));
        let set = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned())));
        set.collect()
    }

    #[test]
    fn a_seed_alone_is_one_round_of_it() {
        let told = |rounds, seed| {
            let set = environment(&Chaos { rounds, seed });
            let value = |name: &str| set.iter().find(|set| set.0 == name).map(|set| set.1.clone());
            (
                value("BOBBIN_CHAOS_ROUNDS").unwrap(),
                value("BOBBIN_CHAOS_SEED").unwrap(),
            )
        };
        let is_alone = |chaos: &Chaos| {
            let command = chaos.command(Path::new("."));
            command.get_args().any(|argument| argument == "chaos::")
        };
        let (rounds, seed) = (Some(200), Some(7));
        assert!(is_alone(&Chaos { rounds: None, seed }));
        assert!(!is_alone(&Chaos { rounds, seed: None }));
        assert_eq!(told(None, None), ("20".to_owned(), "1".to_owned()));
        assert_eq!(told(None, Some(7)), ("1".to_owned(), "7".to_owned()));
        assert_eq!(told(Some(200), Some(7)), ("200".to_owned(), "7".to_owned()));
    }
}
