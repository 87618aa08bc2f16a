//! One command's output: its end in memory, and all of it in a file once it exceeds memory.
//!
//! Anyone may read a [`OutputBuffer`]; [`Writer`] belongs to the command's task. The file is written before readers are
//! notified of more output.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::watch;

use crate::output_files::OutputFiles;
use crate::tail::{Tail, last};

/// The output of a running command.
#[derive(Debug)]
pub(crate) struct OutputBuffer {
    tail: Mutex<Tail>,
    /// Bytes so far; notifies readers of more.
    grown: watch::Sender<u64>,
}

impl OutputBuffer {
    pub(crate) fn new(tail_bytes: usize) -> Self {
        Self {
            tail: Mutex::new(Tail::new(tail_bytes)),
            grown: watch::Sender::new(0),
        }
    }

    /// Returns the last `chars` characters, and the number of all characters.
    pub(crate) fn last(&self, chars: usize) -> (String, u64) {
        let mut tail = self.tail.lock();
        let all = tail.chars();
        (last(tail.text(), chars).to_owned(), all)
    }

    /// Returns a receiver that is notified of growth.
    pub(crate) fn growth(&self) -> watch::Receiver<u64> {
        self.grown.subscribe()
    }
}

/// Writes a [`OutputBuffer`].
pub(crate) struct Writer {
    buffer: Arc<OutputBuffer>,
    output_files: Option<Arc<OutputFiles>>,
    thread: String,
    id: String,
    file: OutputFile,
    file_bytes: u64,
    tail_bytes: usize,
}

/// The destination of the output beside memory.
enum OutputFile {
    /// None: memory still has all of it.
    Memory,
    /// The file, which has so many bytes.
    File(File, u64),
    /// The file is full; so many later bytes were left out.
    Full(File, u64),
    /// There is no file, or writing to it has failed.
    Nowhere,
}

impl Writer {
    pub(crate) fn new(
        buffer: Arc<OutputBuffer>,
        output_files: Option<Arc<OutputFiles>>,
        thread: String,
        id: String,
        tail_bytes: usize,
        file_bytes: u64,
    ) -> Self {
        Self {
            buffer,
            output_files,
            thread,
            id,
            file: OutputFile::Memory,
            file_bytes,
            tail_bytes,
        }
    }

    /// Adds a piece of output.
    pub(crate) async fn push(&mut self, text: &str) {
        let before = self.buffer.tail.lock().bytes();
        if matches!(self.file, OutputFile::Memory) && before + text.len() as u64 > self.tail_bytes as u64 {
            // Memory still has all of the output, for the last time.
            self.open().await;
        }
        self.write(text.as_bytes()).await;
        self.buffer.tail.lock().push(text);
        self.buffer.grown.send_replace(before + text.len() as u64);
    }

    /// Ensures that a file has all output so far. Returns whether there is one.
    pub(crate) async fn open(&mut self) -> bool {
        if matches!(self.file, OutputFile::Memory) {
            self.file = self.create().await;
            let so_far = self.buffer.tail.lock().text().as_bytes().to_vec();
            self.write(&so_far).await;
        }
        self.has_file()
    }

    /// Returns whether there is a file.
    pub(crate) fn has_file(&self) -> bool {
        matches!(self.file, OutputFile::File(..) | OutputFile::Full(..))
    }

    /// Returns the path of the file, if there is one.
    pub(crate) fn path(&self) -> Option<String> {
        let output_files = self.output_files.as_ref().filter(|_| self.has_file())?;
        let path = output_files.log_path(&self.thread, &self.id);
        Some(path.to_string_lossy().into_owned())
    }

    /// Appends the end of the output that did not fit into the file. Returns how many bytes of the output the file
    /// lacks.
    pub(crate) async fn finish(&mut self) -> u64 {
        let OutputFile::Full(file, left_out) = &mut self.file else {
            return 0;
        };
        let end = self.buffer.tail.lock().text().to_owned();
        let fits = usize::try_from(*left_out).unwrap_or(usize::MAX);
        let end = &end[end.ceil_char_boundary(end.len().saturating_sub(fits))..];
        let lost = left_out.saturating_sub(end.len() as u64);
        let note = format!("\n[... {lost} bytes left out ...]\n{end}");
        // Exceeds the limit by less than the size of memory; other files are removed for it.
        if let Some(output_files) = &self.output_files {
            output_files.add(note.len() as u64);
        }
        match append(file, note.as_bytes()).await {
            Ok(()) => lost,
            Err(error) => {
                tracing::warn!(%error, id = self.id, "the end of a command's output was not written");
                *left_out
            }
        }
    }

    async fn create(&self) -> OutputFile {
        let Some(output_files) = self.output_files.clone() else {
            return OutputFile::Nowhere;
        };
        let (thread, id) = (self.thread.clone(), self.id.clone());
        let created = tokio::task::spawn_blocking(move || output_files.create_log(&thread, &id)).await;
        match created.map_err(std::io::Error::other).flatten() {
            Ok(file) => OutputFile::File(File::from_std(file), 0),
            Err(error) => {
                tracing::warn!(%error, id = self.id, "there is no file for a command's output");
                OutputFile::Nowhere
            }
        }
    }

    async fn write(&mut self, bytes: &[u8]) {
        let place = std::mem::replace(&mut self.file, OutputFile::Nowhere);
        let length = bytes.len() as u64;
        self.file = match place {
            OutputFile::File(mut file, written) => {
                let room = written + length <= self.file_bytes
                    && self
                        .output_files
                        .as_ref()
                        .is_some_and(|output_files| output_files.take(length));
                if !room {
                    OutputFile::Full(file, length)
                } else if let Err(error) = append(&mut file, bytes).await {
                    tracing::warn!(%error, id = self.id, "a command's output cannot be written");
                    OutputFile::Full(file, length)
                } else {
                    OutputFile::File(file, written + length)
                }
            }
            OutputFile::Full(file, left_out) => OutputFile::Full(file, left_out + length),
            other @ (OutputFile::Memory | OutputFile::Nowhere) => other,
        };
    }
}

async fn append(file: &mut File, bytes: &[u8]) -> std::io::Result<()> {
    file.write_all(bytes).await?;
    // Flushed to the system, so that a notified reader finds the output.
    file.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(place: &std::path::Path, file_bytes: u64) -> (Arc<OutputBuffer>, Writer) {
        let output_files = Arc::new(OutputFiles::open(place, 1 << 20).unwrap());
        let buffer = Arc::new(OutputBuffer::new(8));
        let (thread, id) = ("thread_1".to_owned(), "term_1".to_owned());
        let writer = Writer::new(buffer.clone(), Some(output_files), thread, id, 8, file_bytes);
        (buffer, writer)
    }

    #[tokio::test]
    async fn there_is_a_file_with_everything_once_memory_is_not_enough() {
        let place = tempfile::tempdir().unwrap();
        let (buffer, mut writer) = writer(place.path(), 1000);
        writer.push("12345678").await;
        assert_eq!(writer.path(), None);
        writer.push("9").await;
        writer.push("abc").await;
        let path = writer.path().unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "123456789abc");
        assert_eq!(buffer.last(100), ("56789abc".to_owned(), 12));
        assert_eq!(buffer.last(2), ("bc".to_owned(), 12));
    }

    #[tokio::test]
    async fn a_full_file_gets_the_end_of_the_output_behind_a_word_about_the_rest() {
        let place = tempfile::tempdir().unwrap();
        let (_, mut writer) = writer(place.path(), 10);
        for piece in ["0123456789", "aaaa", "bbbbbb"] {
            writer.push(piece).await;
        }
        assert_eq!(writer.finish().await, 2);
        let text = std::fs::read_to_string(writer.path().unwrap()).unwrap();
        assert_eq!(text, "0123456789\n[... 2 bytes left out ...]\naabbbbbb");
    }
}
