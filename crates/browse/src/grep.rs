//! Finds lines of files by their text.

use std::time::{Duration, Instant};

use bobbin_files::Opener;
use bobbin_files::search::{FoundPath, all_under};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::file::types::{WorkspaceFilesGrepResult, WorkspaceFilesMatch};
use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, SearcherBuilder, sinks::Lossy};

use crate::folder::Folder;

/// Longest text to look for, bytes.
const MAX_QUERY_BYTES: usize = 1_000;
/// Most lines of an answer.
const MAX_MATCHES: usize = 500;
/// Most files that are searched.
const MAX_FILES: usize = 50_000;
/// Largest file that is searched, bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Longest line of a file that is searched, bytes.
const MAX_LINE_BYTES: usize = 1 << 20;
/// Most characters of a line in an answer.
const MAX_LINE_CHARS: usize = 300;
/// Longest search.
const MAX_TIME: Duration = Duration::from_secs(10);

pub(crate) fn grep(folder: &Folder, query: &str) -> Result<WorkspaceFilesGrepResult, RpcError> {
    if query.trim().is_empty() || query.len() > MAX_QUERY_BYTES || query.contains('\n') {
        let why = format!("'query' must be one line of 1 to {MAX_QUERY_BYTES} bytes.");
        return Err(RpcError::invalid_params(why));
    }
    let matcher = RegexMatcherBuilder::new()
        .case_smart(true)
        .fixed_strings(true)
        .line_terminator(Some(b'\n'))
        .build(query);
    let matcher = matcher.map_err(|error| RpcError::invalid_params(error.to_string()))?;
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_LINE_BYTES))
        .build();
    let started = Instant::now();
    let check = folder.check();
    let mut opener = Opener::default();
    let files = all_under(&folder.root, MAX_FILES);
    let mut result = WorkspaceFilesGrepResult {
        truncated: files.len() == MAX_FILES,
        ..WorkspaceFilesGrepResult::default()
    };
    for FoundPath { path, is_directory } in files {
        if started.elapsed() > MAX_TIME
            || folder.cancelled.is_cancelled()
            || result.matches.len() > MAX_MATCHES
        {
            result.truncated = true;
            break;
        }
        let Some(name) = folder.name(&path).filter(|_| !is_directory) else {
            continue;
        };
        let Ok(real) = check.path(name) else { continue };
        let Ok(file) = opener.open(&real) else { continue };
        if file.metadata().map_or(true, |found| found.len() > MAX_FILE_BYTES) {
            continue;
        }
        let before = result.matches.len();
        let matched = |line: u64, text: &str| {
            result.matches.push(WorkspaceFilesMatch {
                path: name.to_owned(),
                line,
                text: text.trim_end().chars().take(MAX_LINE_CHARS).collect(),
            });
            Ok(result.matches.len() <= MAX_MATCHES)
        };
        // What is not text, or has too long a line, is left out.
        let searched = searcher.search_file(&matcher, &file, Lossy(matched));
        if searched.is_err() {
            result.matches.truncate(before);
        }
    }
    result.matches.truncate(MAX_MATCHES);
    Ok(result)
}
