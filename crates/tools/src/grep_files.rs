//! `GrepFiles`: lines that match a pattern.
//!
//! Most files have no match. So threads look for any match in [`ROUND`] files at a time, while the walk goes on to the
//! next ones, and only the files that have one are searched for the report, in their order.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::Json;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::types::{Types, TypesBuilder};
use serde::Deserialize;

use super::arguments::{decode, done, spec};
use super::blocking::{FileWork, Patience, Patient};
use super::grep_report::{Report, Shows};
use super::paths::{Access, Target, locate};
use super::walk::{Chosen, Sight, Walk, one_line};
use bobbin_files::Opener;
use bobbin_files::shown;

/// Longest pattern, bytes.
const MAX_PATTERN_BYTES: usize = 4096;
/// Most memory a compiled pattern may take.
const MAX_REGEX_BYTES: usize = 10 << 20;
/// Longest line that is searched; a file with a longer one counts as unsearched.
const MAX_BUFFER_BYTES: usize = 4 << 20;
/// Most lines around a match.
const MAX_CONTEXT: usize = 20;
/// Longest search.
const MAX_TIME: Duration = Duration::from_secs(20);
/// Most files in which threads look for a match before the report goes on.
const ROUND: usize = 1024;
/// Number of files that a thread takes at once: mostly of one directory.
const PART: usize = 16;
/// Most threads of a search. Each has at most [`MAX_BUFFER_BYTES`] of a file in memory.
const MAX_THREADS: usize = 8;
/// The reason given when the time is over.
const TOO_LONG: &str = "it took too long";

#[derive(Debug)]
pub(super) struct GrepFiles {
    spec: ToolSpec,
    work: FileWork,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    include: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    literal: bool,
    /// The name of a type of files.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    output: Shows,
    #[serde(default)]
    context: usize,
    #[serde(default)]
    offset: usize,
}

/// A search: the pattern, the files, and the form of the report.
struct Search {
    matcher: RegexMatcher,
    chosen: Chosen,
    kind: Option<Types>,
    shows: Shows,
    context: usize,
    offset: usize,
}

impl Search {
    fn of(arguments: &Arguments) -> Result<Self, ToolRefusal> {
        Ok(Self {
            matcher: matcher(arguments)?,
            chosen: Chosen::by(arguments.include.as_deref())?,
            kind: arguments.kind.as_deref().map(kind).transpose()?,
            shows: arguments.output,
            context: match arguments.output {
                Shows::Lines => arguments.context.min(MAX_CONTEXT),
                Shows::Files | Shows::Counts => 0,
            },
            offset: arguments.offset,
        })
    }

    fn takes(&self, base: &Path, file: &Path) -> bool {
        let is_kind = |types: &Types| types.matched(file, false).is_whitelist();
        self.chosen.takes(base, file) && self.kind.as_ref().is_none_or(is_kind)
    }
}

fn kind(name: &str) -> Result<Types, ToolRefusal> {
    let mut types = TypesBuilder::new();
    types.add_defaults().select(name);
    let unknown = |error| ToolRefusal::Unusable(format!("the type is not usable, use include: {error}"));
    types.build().map_err(unknown)
}

impl GrepFiles {
    pub(super) fn new(work: FileWork) -> Self {
        let spec = spec(
            "GrepFiles",
            Effect::Reads,
            "Finds lines that match a regular expression (Rust syntax) in a file or below a directory. \
             Ignored, hidden and binary files are left out; name a hidden file or directory as path to search it. \
             Of a long line the part around its match is shown.",
            &["pattern"],
            &serde_json::json!({
                "pattern": { "type": "string", "description": "What to look for, in one line." },
                "path": { "type": "string", "description": "File or directory; the workspace when left out." },
                "include": { "type": "string", "description": "Only files that match, such as *.rs." },
                "ignoreCase": { "type": "boolean" },
                "literal": { "type": "boolean", "description": "The pattern is plain text." },
                "type": { "type": "string", "description": "Only files of a kind, such as rust, py, ts or md." },
                "output": {
                    "type": "string",
                    "enum": ["lines", "files", "counts"],
                    "description": "Matching lines (usual), files with matches, or these with the number of their lines.",
                },
                "context": { "type": "integer", "description": "Lines to show before and behind each match, 20 at most." },
                "offset": { "type": "integer", "description": "Leaves out so many of the first results." },
            }),
        );
        Self { spec, work }
    }
}

impl Tool for GrepFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: Arguments = decode(arguments)?;
        let search = Search::of(&arguments)?;
        let path = arguments
            .path
            .as_deref()
            .filter(|path| !path.is_empty())
            .unwrap_or(".");
        let (target, permission) = locate(environment, path, Access::Read)?;
        let root = environment.root.clone();
        Ok(Box::new(Prepared {
            target,
            permission,
            sight: Sight::of(environment),
            search,
            root,
            work: self.work.clone(),
        }))
    }
}

fn matcher(arguments: &Arguments) -> Result<RegexMatcher, ToolRefusal> {
    let pattern = &arguments.pattern;
    if pattern.is_empty() || pattern.len() > MAX_PATTERN_BYTES {
        return Err(ToolRefusal::Unusable(format!(
            "a pattern has 1 to {MAX_PATTERN_BYTES} bytes"
        )));
    }
    RegexMatcherBuilder::new()
        .case_insensitive(arguments.ignore_case)
        .fixed_strings(arguments.literal)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .line_terminator(Some(b'\n'))
        .build(pattern)
        .map_err(|error| ToolRefusal::Unusable(format!("the pattern is not usable: {error}")))
}

struct Prepared {
    target: Target,
    permission: Permission,
    sight: Sight,
    search: Search,
    root: std::path::PathBuf,
    work: FileWork,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        self.permission.clone()
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        let Self {
            target,
            sight,
            search: wanted,
            root,
            work,
            ..
        } = *self;
        let max_bytes = context.max_bytes;
        let patience = Patience::new(MAX_TIME, context.cancel);
        work.run(move || {
            search(&target, &root, sight, &wanted, &patience, max_bytes)
                .map(done)
                .map_err(|error| format!("cannot search {}: {error}", target.shown()))
        })
        .boxed()
    }
}

fn search(
    target: &Target,
    root: &Path,
    sight: Sight,
    wanted: &Search,
    patience: &Patience,
    max_bytes: usize,
) -> Result<String, String> {
    let base = target.confirm()?;
    std::fs::metadata(base).map_err(|error| error.to_string())?;
    let mut searcher = searcher(wanted.context);
    let mut opener = Opener::default();
    let mut report = Report::new(wanted.shows, wanted.offset, max_bytes);
    let (entries, hidden) = Walk::below(base, sight).entries();
    let unreadable = Cell::new(0);
    let mut files = entries.filter_map(|entry| {
        let entry = entry.inspect_err(|_| unreadable.update(|count| count + 1)).ok()?;
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        (is_file && wanted.takes(base, entry.path())).then(|| entry.into_path())
    });
    let mut next_round = || {
        let files = files.by_ref().take_while(|_| !patience.is_over());
        files.take(ROUND).collect::<Vec<_>>()
    };
    let mut round = next_round();
    while !round.is_empty() && !report.is_full() && !patience.is_over() {
        let (found, next) = with_matches(&round, &wanted.matcher, patience, &mut next_round);
        for (file, _) in round.iter().zip(found).filter(|(_, is_found)| *is_found) {
            if report.is_full() || patience.is_over() {
                break;
            }
            let name = one_line(&shown(root, file));
            let searched = opener.open(file).and_then(|file| {
                let file = Patient::new(file, patience);
                searcher.search_reader(&wanted.matcher, file, report.file(&name, &wanted.matcher))
            });
            if searched.is_err() && !patience.is_over() {
                report.unreadable += 1;
            }
        }
        round = next;
    }
    report.unreadable += unreadable.get();
    if patience.is_over() {
        report.stopped = Some(TOO_LONG);
    }
    report.hidden = hidden.load(Ordering::Relaxed);
    Ok(report.into_text())
}

/// Returns which of the files have a match or cannot be searched, and the result of `meanwhile`.
fn with_matches<T>(
    files: &[PathBuf],
    matcher: &RegexMatcher,
    patience: &Patience,
    meanwhile: impl FnOnce() -> T,
) -> (Vec<bool>, T) {
    let next = AtomicUsize::new(0);
    let look = || {
        let (mut searcher, mut opener, mut found) = (searcher(0), Opener::default(), Vec::new());
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            let Some(files) = files.chunks(PART).nth(part) else {
                return found;
            };
            for (file, at) in files.iter().zip(part * PART..) {
                let mut any = AnyMatch(false);
                let searched = opener
                    .open(file)
                    .and_then(|file| searcher.search_reader(matcher, Patient::new(file, patience), &mut any));
                if any.0 || searched.is_err() {
                    found.push(at);
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(MAX_THREADS).min(files.len().div_ceil(PART));
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..threads).map(|_| scope.spawn(look)).collect();
        let result = meanwhile();
        let mut found = vec![false; files.len()];
        for other in others {
            match other.join() {
                Ok(places) => places.into_iter().for_each(|at| found[at] = true),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        (found, result)
    })
}

/// Becomes true with the first match, which ends the search of a file.
struct AnyMatch(bool);

impl Sink for AnyMatch {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, _found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.0 = true;
        Ok(false)
    }
}

fn searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_BUFFER_BYTES))
        .build()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Workspace;

    fn workspace() -> Workspace {
        let workspace = Workspace::new();
        workspace.write("src/boil.rs", "let steam = 100;\nlet ice = 0;\n");
        workspace.write("notes.md", "Steam rises.\nf(x) = y\n");
        workspace.write("bin", "steam\0steam\n");
        workspace.write(".env", "steam=1\n");
        workspace.write("target/out.rs", "steam\n");
        workspace.write(".gitignore", "target\n");
        workspace
    }

    async fn search(arguments: serde_json::Value) -> String {
        workspace()
            .call(&GrepFiles::new(FileWork::new()), arguments)
            .await
            .text
    }

    #[tokio::test]
    async fn matching_lines_come_with_path_and_number() {
        assert_eq!(
            search(json!({ "pattern": "steam" })).await,
            "src/boil.rs:1:let steam = 100;\n\n[1 match in 1 file; 2 hidden not looked at]"
        );
        assert_eq!(
            search(json!({ "pattern": "steam", "ignoreCase": true, "include": "*.md" })).await,
            "notes.md:1:Steam rises.\n\n[1 match in 1 file; 2 hidden not looked at]"
        );
        assert_eq!(
            search(json!({ "pattern": "i\\w+", "path": "src" }))
                .await
                .lines()
                .count(),
            3
        );
        assert_eq!(
            search(json!({ "pattern": "vapour" })).await,
            "[no match; 2 hidden not looked at]"
        );
    }

    #[tokio::test]
    async fn a_literal_pattern_is_no_expression() {
        assert!(
            search(json!({ "pattern": "f(x)", "literal": true }))
                .await
                .starts_with("notes.md:2:")
        );
        assert!(
            search(json!({ "pattern": "f(x)" }))
                .await
                .starts_with("[no match")
        );
    }

    #[tokio::test]
    async fn one_file_may_be_searched() {
        assert!(
            search(json!({ "pattern": "ice", "path": "src/boil.rs" }))
                .await
                .starts_with("src/boil.rs:2:")
        );
    }

    #[tokio::test]
    async fn matches_in_many_files_are_reported_in_their_order() {
        let workspace = Workspace::new();
        for n in 0..ROUND * 2 + 50 {
            let text = if n % 40 == 7 { "x\nneedle\n" } else { "x\n" };
            workspace.write(&format!("{:02}/{n:04}", n / 60), text);
        }
        let tool = GrepFiles::new(FileWork::new());
        let lines = |from: usize| {
            let places = (7..ROUND * 2 + 50).step_by(40).skip(from);
            let lines: Vec<String> = places
                .map(|n| format!("{:02}/{n:04}:2:needle\n", n / 60))
                .collect();
            lines.concat()
        };
        let all = workspace.call(&tool, json!({ "pattern": "needle" })).await.text;
        assert_eq!(all, format!("{}\n[53 matches in 53 files]", lines(0)));
        let rest = workspace
            .call(&tool, json!({ "pattern": "needle", "offset": 30 }))
            .await
            .text;
        assert_eq!(
            rest,
            format!("{}\n[23 matches in 23 files, behind the first 30]", lines(30))
        );
        let one = workspace
            .call(&tool, json!({ "pattern": "needle", "output": "files" }))
            .await
            .text;
        assert!(one.starts_with("00/0007\n00/0047\n01/0087\n") && one.ends_with("[53 files with matches]"));
        let broad = workspace.call(&tool, json!({ "pattern": "x" })).await.text;
        assert!(
            broad.starts_with("00/0000:1:x\n00/0001:1:x\n")
                && broad.contains("[500 matches in 500 files; stopped")
        );
    }

    #[tokio::test]
    async fn the_report_is_bounded() {
        let workspace = Workspace::new();
        workspace.write("many", &"x\n".repeat(2000));
        workspace.write("wide", &format!("y{}\n", "é".repeat(2000)));
        let tool = GrepFiles::new(FileWork::new());
        let many = workspace.call(&tool, json!({ "pattern": "x" })).await.text;
        assert!(many.ends_with(
            "[500 matches in 1 file; stopped: too many, narrow the search or go on with offset 500]"
        ));
        let wide = workspace.call(&tool, json!({ "pattern": "y" })).await.text;
        assert!(wide.len() < 600 && wide.contains(" […]"), "{wide}");
    }

    #[tokio::test]
    async fn a_match_in_a_long_line_is_shown_with_what_is_around_it() {
        let workspace = Workspace::new();
        let line = format!("{}needle{}\n", "é ".repeat(5_000), " z".repeat(5_000));
        workspace.write("wide.js", &line);
        let tool = GrepFiles::new(FileWork::new());
        let found = workspace.call(&tool, json!({ "pattern": "needle" })).await.text;
        let (text, _) = found.split_once('\n').unwrap();
        assert!(
            text.starts_with("wide.js:1:[…] ") && text.contains("é needle z z"),
            "{text}"
        );
        assert!(text.ends_with(" […] [column 9934 on]"), "{text}");
        let end = workspace.call(&tool, json!({ "pattern": "z$" })).await.text;
        assert!(end.contains("z z z [column"), "{end}");
    }

    #[tokio::test]
    async fn results_are_lines_with_what_is_around_them_or_files_or_counts() {
        let workspace = Workspace::new();
        workspace.write("a.rs", "one\ntea\nthree\nfour\nfive\ntea\n");
        workspace.write("b.md", "tea\ntea\n");
        let tool = GrepFiles::new(FileWork::new());
        for (arguments, expected) in [
            (
                json!({ "pattern": "tea", "context": 1, "type": "rust" }),
                "a.rs-1-one\na.rs:2:tea\na.rs-3-three\n--\na.rs-5-five\na.rs:6:tea\n\n[2 matches in 1 file]",
            ),
            (
                json!({ "pattern": "tea", "context": 1, "include": "*.rs", "offset": 1 }),
                "a.rs-5-five\na.rs:6:tea\n\n[1 match in 1 file, behind the first 1]",
            ),
            (
                json!({ "pattern": "tea", "output": "files" }),
                "a.rs\nb.md\n\n[2 files with matches]",
            ),
            (
                json!({ "pattern": "tea", "output": "counts", "offset": 1 }),
                "b.md: 2\n\n[1 file with matches, behind the first 1]",
            ),
            (
                json!({ "pattern": "tea", "offset": 9 }),
                "[nothing behind the first 4]",
            ),
        ] {
            assert_eq!(
                workspace.call(&tool, arguments.clone()).await.text,
                expected,
                "{arguments}"
            );
        }
        let unknown = Workspace::json(&json!({ "pattern": "x", "type": "porcelain" }));
        assert!(tool.prepare(&unknown, &workspace.environment()).is_err());
    }

    #[test]
    fn a_search_ends_in_the_middle_of_a_file_when_its_time_is_over() {
        let workspace = Workspace::new();
        workspace.write("file", "x\n");
        let tool = json!({ "pattern": "x" });
        let arguments: Arguments = serde_json::from_value(tool).unwrap();
        let environment = workspace.environment();
        let search = |patience: &Patience| {
            let (target, _) = locate(&environment, ".", Access::Read).unwrap();
            let sight = Sight::of(&environment);
            super::search(
                &target,
                workspace.root(),
                sight,
                &Search::of(&arguments).unwrap(),
                patience,
                50_000,
            )
            .unwrap()
        };
        let stop = tokio_util::sync::CancellationToken::new();
        let patience = Patience::new(MAX_TIME, stop.clone());
        assert!(search(&patience).ends_with("[1 match in 1 file]"));
        stop.cancel();
        assert_eq!(search(&patience), "[no match; stopped: it took too long]");
    }

    #[test]
    fn a_pattern_that_is_none_is_refused() {
        let workspace = Workspace::new();
        let tool = GrepFiles::new(FileWork::new());
        for pattern in ["", "(", "a\\nb", "(((x{1000}){1000}){1000})"] {
            let arguments = Workspace::json(&json!({ "pattern": pattern }));
            assert!(
                tool.prepare(&arguments, &workspace.environment()).is_err(),
                "{pattern}"
            );
        }
    }
}
