//! Reads trees and contents: loose objects as they are, packed ones with git.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use crate::git::{GitError, Job};
use crate::objects::{Digest, FileMode, LooseContent, StoredFile, open_object};
use crate::repository::{Repository, TIME};

/// Most bytes of names in one answer.
pub(crate) const MAX_NAMES: usize = 32 << 20;
/// Most bytes of contents in memory at once.
pub(crate) const CHUNK_BYTES: u64 = 64 << 20;

/// A file that differs between two trees; the path is that in the trees.
pub(crate) type Difference = (PathBuf, Option<StoredFile>, Option<StoredFile>);

impl Repository {
    /// Returns the differences between the trees of each pair, in the order of the pairs.
    ///
    /// # Errors
    /// Any [`GitError`].
    pub(crate) async fn differences(
        &self,
        pairs: &[(String, String)],
    ) -> Result<Vec<Vec<Difference>>, GitError> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let args = [
            "diff-tree",
            "--stdin",
            "-r",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
        ];
        let asked: Vec<String> = pairs
            .iter()
            .map(|(before, after)| format!("{before} {after}"))
            .collect();
        let said = self
            .git
            .run(Job::new(args, TIME).input(lines(&asked)).up_to(MAX_NAMES))
            .await?;
        let (mut found, mut rest) = (Vec::new(), said.as_slice());
        while let Some(first) = rest.first() {
            // A pair's line ends with a line break, every other with a zero byte.
            let end = if *first == b':' { 0 } else { b'\n' };
            let (line, more) = cut(rest, end)?;
            rest = more;
            if *first != b':' {
                found.push(Vec::new());
                continue;
            }
            let (path, more) = cut(rest, 0)?;
            rest = more;
            let about = String::from_utf8_lossy(line);
            let mut words = about.trim_start_matches(':').split(' ');
            let (old, new) = (words.next(), words.next());
            let entry = |mode: Option<&str>, blob: Option<&str>| {
                Some(StoredFile {
                    mode: FileMode::from_word(mode?)?,
                    blob: Digest::from_hex(blob?)?,
                })
            };
            let (before, after) = (entry(old, words.next()), entry(new, words.next()));
            let path = PathBuf::from(OsString::from_vec(path.to_vec()));
            found.last_mut().ok_or_else(broken)?.push((path, before, after));
        }
        if found.len() != pairs.len() {
            return Err(broken());
        }
        Ok(found)
    }

    /// Returns the sizes of contents, in their order; `None` for a missing one.
    ///
    /// # Errors
    /// Any [`GitError`].
    pub(crate) async fn sizes(self: &Arc<Self>, blobs: &[String]) -> Result<Vec<Option<u64>>, GitError> {
        if let Some(sizes) = self.loose(blobs, |(size, _)| Some(Some(size))).await? {
            return Ok(sizes);
        }
        let job = Job::new(["cat-file", "--batch-check=%(objectsize)"], TIME);
        let said = self.git.run(job.input(lines(blobs)).up_to(MAX_NAMES)).await?;
        Ok(String::from_utf8_lossy(&said)
            .lines()
            .map(|line| line.parse().ok())
            .collect())
    }

    /// Returns objects, in their order. The caller bounds them by [`CHUNK_BYTES`].
    ///
    /// # Errors
    /// Any [`GitError`]; also if an object is missing.
    pub(crate) async fn contents(self: &Arc<Self>, objects: &[String]) -> Result<Vec<Vec<u8>>, GitError> {
        let read = |(size, content): (u64, LooseContent)| {
            let mut bytes = Vec::new();
            content.take(size).read_to_end(&mut bytes).ok()?;
            (bytes.len() as u64 == size).then_some(bytes)
        };
        if let Some(contents) = self.loose(objects, read).await? {
            return Ok(contents);
        }
        let room = usize::try_from(CHUNK_BYTES).unwrap_or(usize::MAX) + objects.len() * 128;
        let job = Job::new(["cat-file", "--batch"], TIME)
            .input(lines(objects))
            .up_to(room);
        let said = self.git.run(job).await?;
        let mut rest = said.as_slice();
        let mut found = Vec::with_capacity(objects.len());
        for _ in objects {
            let (about, more) = cut(rest, b'\n')?;
            let about = String::from_utf8_lossy(about);
            let size = about
                .rsplit(' ')
                .next()
                .and_then(|size| size.parse::<usize>().ok());
            let size = size.ok_or_else(broken)?;
            found.push(more.get(..size).ok_or_else(broken)?.to_vec());
            rest = more.get(size + 1..).ok_or_else(broken)?;
        }
        Ok(found)
    }

    /// Reads something of each object; `None` if git has packed one of them.
    async fn loose<T: Send + 'static>(
        self: &Arc<Self>,
        objects: &[String],
        read: impl Fn((u64, LooseContent)) -> Option<T> + Send + 'static,
    ) -> Result<Option<Vec<T>>, GitError> {
        let objects = objects.to_vec();
        let found = self.blocking(move |repository| {
            let directory = repository.git.directory();
            Ok(objects
                .iter()
                .map(|object| read(open_object(directory, object)?))
                .collect())
        });
        Ok(found.await?)
    }
}

fn cut(bytes: &[u8], end: u8) -> Result<(&[u8], &[u8]), GitError> {
    let at = bytes.iter().position(|&byte| byte == end).ok_or_else(broken)?;
    Ok((&bytes[..at], &bytes[at + 1..]))
}

fn broken() -> GitError {
    GitError::Pipe(std::io::ErrorKind::InvalidData.into())
}

fn lines(words: &[String]) -> Vec<u8> {
    let mut text = words.join("\n").into_bytes();
    text.push(b'\n');
    text
}
