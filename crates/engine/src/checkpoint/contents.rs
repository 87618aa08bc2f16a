//! Contents in the shadow repository, by their names: how large they are, and what they are.

use super::git::{GitError, Job};
use super::shadow::{CHUNK_BYTES, Checkpoints, MAX_NAMES, TIME};

impl Checkpoints {
    /// Returns the sizes of contents, in their order; one that is not there has none.
    ///
    /// # Errors
    /// Any [`GitError`].
    pub(super) async fn sizes(&self, blobs: &[&str]) -> Result<Vec<Option<u64>>, GitError> {
        if blobs.is_empty() {
            return Ok(Vec::new());
        }
        let job = Job::new(["cat-file", "--batch-check=%(objectsize)"], TIME);
        let said = self.git.run(job.input(lines(blobs)).up_to(MAX_NAMES)).await?;
        Ok(String::from_utf8_lossy(&said)
            .lines()
            .map(|line| line.parse().ok())
            .collect())
    }

    /// Returns contents, in their order. The caller bounds them by [`CHUNK_BYTES`].
    ///
    /// # Errors
    /// Any [`GitError`]; also where one is not there.
    pub(super) async fn contents(&self, blobs: &[&str]) -> Result<Vec<Vec<u8>>, GitError> {
        if blobs.is_empty() {
            return Ok(Vec::new());
        }
        let room = usize::try_from(CHUNK_BYTES).unwrap_or(usize::MAX) + blobs.len() * 128;
        let job = Job::new(["cat-file", "--batch"], TIME)
            .input(lines(blobs))
            .up_to(room);
        let said = self.git.run(job).await?;
        let broken = || GitError::Pipe(std::io::ErrorKind::InvalidData.into());
        let mut rest = said.as_slice();
        let mut found = Vec::with_capacity(blobs.len());
        for _ in blobs {
            let end = rest.iter().position(|&byte| byte == b'\n').ok_or_else(broken)?;
            let about = String::from_utf8_lossy(&rest[..end]).into_owned();
            let size = about
                .rsplit(' ')
                .next()
                .and_then(|size| size.parse::<usize>().ok());
            let size = size.ok_or_else(broken)?;
            let content = rest.get(end + 1..end + 1 + size).ok_or_else(broken)?;
            found.push(content.to_vec());
            rest = rest.get(end + size + 2..).ok_or_else(broken)?;
        }
        Ok(found)
    }
}

fn lines(words: &[&str]) -> Vec<u8> {
    let mut text = words.join("\n").into_bytes();
    text.push(b'\n');
    text
}
