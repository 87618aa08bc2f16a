//! Chores with logic in them, run as `cargo xtask …`.
//!
//! Knows the protocol through `wire` and the repository by where this package lies in it; takes no part
//! in the server.

mod behaviours;
mod bench;
mod book;
mod cargo;
mod chaos;
mod checklist;
mod codex_schema;
mod coverage;
mod english;
#[path = "../../../crates/server/src/groups.rs"]
mod groups;
mod index;
mod links;
mod model_server;
mod page;
mod reference;
mod schema;
mod stale;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Chores of this repository")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Writes `proto-schema/` anew from the protocol's types.
    Schema {
        /// Changes nothing; fails when a file is stale, missing or left over.
        #[arg(long)]
        check: bool,
    },
    /// Writes `docs/protocol/reference/` anew from the protocol's types and the examples that tests have played.
    Reference {
        /// Changes nothing; fails when a page is stale, missing or left over.
        #[arg(long)]
        check: bool,
    },
    /// Fails when sources have more of the words and openings that are hard to read than `dev/xtask/english.txt` allows.
    English {
        /// Writes the present counts into the list.
        #[arg(long)]
        write: bool,
    },
    /// Looks for links of the documentation, and places that sources cite, that lead nowhere.
    Links,
    /// Prepares the book for mdBook, which starts this.
    Book(book::Book),
    /// Builds the page with npm, into the crate that serves it.
    Page {
        /// Builds nothing and needs no npm; fails when the page was built from other sources.
        #[arg(long)]
        check: bool,
    },
    /// Lists the tests that show each line of the checklists of the peer and of Hermes extensions; fails when a line
    /// has none.
    Checklist,
    /// Measures the server beside the bare limits of this machine and prints a table of figures and ratios.
    Bench(bench::Bench),
    /// Kills the server and breaks its connections at random moments while a client repeats everything, and checks
    /// that in the end nothing is missing and nothing happened twice. Prints the seed of each round.
    Chaos(chaos::Chaos),
    /// Writes `docs/contributing/protocol-coverage.md` anew from the tables of methods. Fails when a row names no test, or
    /// `eca-coverage.md` differs from the code.
    Coverage,
    /// Compares what the Codex dialect sends with the schema that an installed client prints into a directory: `codex
    /// app-server generate-json-schema --experimental --out DIR`. Fails when the client requires something else.
    CodexSchema {
        /// The directory.
        directory: PathBuf,
    },
    /// Runs a model provider that follows a script, to try Bobbin without a key. Ends with Ctrl-C.
    ModelServer(model_server::ModelServerArgs),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().chore {
        Chore::Schema { check: true } => check_schema(&schema_dir()),
        Chore::Schema { check: false } => write_schema(&schema_dir()),
        Chore::Book(book) => book::run(&book),
        Chore::English { write } => english::run(&root(), write),
        Chore::Links => check_links(),
        Chore::Reference { check } => make_reference(check),
        Chore::Page { check: true } => page::check(&root()),
        Chore::Page { check: false } => page::build(&root()),
        Chore::Checklist => list_checklist(),
        Chore::Bench(bench) => bench.run(&root()),
        Chore::Chaos(chaos) => chaos.run(&root()),
        Chore::Coverage => make_coverage(),
        Chore::CodexSchema { directory } => codex_schema::run(&directory),
        Chore::ModelServer(args) => model_server::run(&args),
    }
}

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the directory of the committed schema.
fn schema_dir() -> PathBuf {
    root().join("proto-schema")
}

fn list_checklist() -> anyhow::Result<()> {
    let shown = checklist::Shown::read(&root())?;
    write!(std::io::stdout(), "{}", shown.table()).context("cannot print the table")?;
    let behaviours = behaviours::Behaviours::read(&root())?;
    write!(std::io::stdout(), "{}", behaviours.table()).context("cannot print the table")?;
    let mut missing = shown.missing();
    missing.extend(behaviours.missing());
    let mut unknown = shown.unknown();
    unknown.extend(behaviours.unknown());
    if missing.is_empty() && unknown.is_empty() {
        return Ok(());
    }
    bail!("lines without a test: {missing:?}; numbers that are no line: {unknown:?}")
}

fn make_coverage() -> anyhow::Result<()> {
    std::fs::write(root().join(coverage::PAGE), coverage::page(&root())?).context(coverage::PAGE)?;
    let complaints = coverage::complaints(&root())?;
    anyhow::ensure!(
        complaints.is_empty(),
        "pages in docs/contributing do not fit the code:\n  {}",
        complaints.join("\n  ")
    );
    Ok(())
}

fn check_schema(dir: &Path) -> anyhow::Result<()> {
    let differences = stale::compare(dir, &schema::files()?)?;
    if differences.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = differences.iter().map(ToString::to_string).collect();
    bail!(
        "proto-schema/ does not fit the code; run `cargo xtask schema`\n  {}",
        list.join("\n  ")
    )
}

fn check_links() -> anyhow::Result<()> {
    let dead = links::dead(&root())?;
    anyhow::ensure!(
        dead.is_empty(),
        "links that lead nowhere:\n  {}",
        dead.join("\n  ")
    );
    Ok(())
}

fn make_reference(check: bool) -> anyhow::Result<()> {
    let (dir, files) = (root().join(reference::DIRECTORY), reference::files(&root())?);
    let differences = stale::compare(&dir, &files)?;
    if check && !differences.is_empty() {
        let list: Vec<String> = differences.iter().map(ToString::to_string).collect();
        bail!(
            "{} does not fit the code; run `cargo xtask reference`\n  {}",
            reference::DIRECTORY,
            list.join("\n  ")
        );
    }
    for difference in &differences {
        stale::mend(&dir, difference, &files)?;
    }
    writeln!(
        std::io::stdout(),
        "{} pages, {} changed",
        files.len(),
        differences.len()
    )
    .context("cannot say what was done")
}

fn write_schema(dir: &Path) -> anyhow::Result<()> {
    let files = schema::files()?;
    let differences = stale::compare(dir, &files)?;
    for difference in &differences {
        stale::mend(dir, difference, &files)?;
    }
    writeln!(
        std::io::stdout(),
        "{} files, {} changed",
        files.len(),
        differences.len()
    )
    .context("cannot say what was done")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_reference_is_what_the_types_and_plays_say() {
        if let Err(error) = make_reference(true) {
            panic!("{error}");
        }
    }

    #[test]
    fn committed_schema_is_what_the_types_say() {
        if let Err(error) = check_schema(&schema_dir()) {
            panic!("{error}");
        }
    }
}
