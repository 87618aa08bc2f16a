//! Writes many objects as one pack of git, with its index: a file for each object would cost the disk three times as
//! much, and most of the time.
//!
//! Several threads write to one pack: each compresses its own objects, and appends them one at a time. The pack is a
//! temporary file until it is finished; a server that starts removes those of a killed one. Bounded by [`MAX_BYTES`].
//! Blocking.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, Write};
use std::path::{Path, PathBuf};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use parking_lot::Mutex;
use sha1::{Digest as _, Sha1};

use crate::objects::{Digest, ObjectKind, half_name, put};

/// Most bytes of a pack: its index has a short form for places up to this one.
const MAX_BYTES: u64 = (1 << 31) - 1;
/// Bytes before the first object.
const HEAD_BYTES: u64 = 12;

/// A pack that is being written.
#[derive(Debug)]
pub(crate) struct Pack {
    repository: PathBuf,
    /// The temporary file.
    half: PathBuf,
    /// The objects that a thread writes or has written.
    claimed: Mutex<HashSet<Digest>>,
    /// Encoders that no thread uses at the moment: the memory of a new one costs more than a small object.
    encoders: Mutex<Vec<ZlibEncoder<Vec<u8>>>>,
    content: Mutex<Content>,
}

#[derive(Debug)]
struct Content {
    file: BufWriter<File>,
    /// Offset of the next object.
    end: u64,
    /// The objects with their checksums and places.
    objects: BTreeMap<Digest, (u32, u32)>,
}

impl Pack {
    /// Starts a pack of a repository.
    ///
    /// # Errors
    /// The temporary file cannot be made.
    pub(crate) fn start(repository: &Path) -> io::Result<Self> {
        let half = half_name(repository, Path::new("pack"));
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&half)?;
        let pack = Self {
            repository: repository.to_owned(),
            half,
            claimed: Mutex::default(),
            encoders: Mutex::default(),
            content: Mutex::new(Content {
                file: BufWriter::with_capacity(1 << 20, file),
                end: HEAD_BYTES,
                objects: BTreeMap::new(),
            }),
        };
        pack.content.lock().file.write_all(&head(0))?;
        Ok(pack)
    }

    /// Writes an object, unless the pack has it, and returns its name.
    ///
    /// # Errors
    /// It cannot be written, or the pack is too large.
    pub(crate) fn write(&self, kind: ObjectKind, content: &[u8]) -> io::Result<Digest> {
        let digest = Digest::of(kind, content);
        if !self.claimed.lock().insert(digest) {
            return Ok(digest);
        }
        let encoder = self.encoders.lock().pop();
        let mut encoder = encoder.unwrap_or_else(|| ZlibEncoder::new(Vec::new(), Compression::fast()));
        *encoder.get_mut() = object_head(kind, content.len());
        encoder.write_all(content)?;
        let packed = encoder.reset(Vec::new())?;
        self.encoders.lock().push(encoder);
        let mut sum = Crc::new();
        sum.update(&packed);
        let mut content = self.content.lock();
        let place = content.end;
        content.end += packed.len() as u64;
        let place = u32::try_from(place).ok().filter(|_| content.end <= MAX_BYTES);
        let place = place.ok_or(io::ErrorKind::FileTooLarge)?;
        content.file.write_all(&packed)?;
        content.objects.insert(digest, (sum.sum(), place));
        Ok(digest)
    }

    /// Makes the pack a part of the repository. It is on the disk then, since later servers rely on it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn finish(self) -> io::Result<()> {
        let mut content = self.content.lock();
        let Content { file, objects, .. } = &mut *content;
        file.flush()?;
        let file = file.get_mut();
        file.rewind()?;
        file.write_all(&head(u32::try_from(objects.len()).unwrap_or(u32::MAX)))?;
        file.rewind()?;
        let mut sum = Sha1::new();
        let mut part = vec![0; 256 << 10];
        let mut reader = BufReader::with_capacity(0, &*file);
        loop {
            match reader.read(&mut part)? {
                0 => break,
                length => sum.update(&part[..length]),
            }
        }
        let sum: [u8; 20] = sum.finalize().into();
        file.write_all(&sum)?;
        file.sync_data()?;
        let directory = self.repository.join("objects/pack");
        std::fs::create_dir_all(&directory)?;
        let name = format!("pack-{}", hex::encode(sum));
        // Git looks for indexes, so the pack comes first.
        std::fs::rename(&self.half, directory.join(format!("{name}.pack")))?;
        put(
            &self.repository,
            &directory.join(format!("{name}.idx")),
            &index(objects, sum),
        )
    }
}

impl Drop for Pack {
    fn drop(&mut self) {
        // It is gone if the pack is finished.
        drop(std::fs::remove_file(&self.half));
    }
}

fn head(objects: u32) -> Vec<u8> {
    [b"PACK".as_slice(), &2_u32.to_be_bytes(), &objects.to_be_bytes()].concat()
}

/// Returns the kind and the size of an object as a pack has them: four bits of the size, then seven in each byte.
fn object_head(kind: ObjectKind, size: usize) -> Vec<u8> {
    let kind = match kind {
        ObjectKind::Tree => 2,
        ObjectKind::Blob => 3,
    };
    // Only the lowest byte of the size counts each time.
    let low = |size: usize| size.to_le_bytes()[0];
    let (mut byte, mut rest) = (kind << 4 | low(size) & 0xf, size >> 4);
    let mut bytes = Vec::new();
    while rest > 0 {
        bytes.push(byte | 0x80);
        (byte, rest) = (low(rest) & 0x7f, rest >> 7);
    }
    bytes.push(byte);
    bytes
}

/// Returns the index of a pack, in git's second format.
fn index(objects: &BTreeMap<Digest, (u32, u32)>, pack: [u8; 20]) -> Vec<u8> {
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    let mut counts = [0_u32; 256];
    for digest in objects.keys() {
        counts[usize::from(digest.as_bytes()[0])] += 1;
    }
    let mut count = 0;
    for more in counts {
        count += more;
        index.extend_from_slice(&count.to_be_bytes());
    }
    index.extend(objects.keys().flat_map(Digest::as_bytes));
    index.extend(objects.values().flat_map(|(sum, _)| sum.to_be_bytes()));
    index.extend(objects.values().flat_map(|(_, place)| place.to_be_bytes()));
    index.extend_from_slice(&pack);
    let sum: [u8; 20] = Sha1::digest(&index).into();
    index.extend_from_slice(&sum);
    index
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test asks git itself")]
    fn git_takes_a_pack_and_finds_each_object_in_it() {
        let work = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let run = Command::new("git")
                .current_dir(work.path())
                .args(args)
                .output()
                .unwrap();
            assert!(
                run.status.success(),
                "{args:?}: {}",
                String::from_utf8_lossy(&run.stderr)
            );
            String::from_utf8(run.stdout).unwrap()
        };
        git(&["init", "-q", "--bare", "."]);
        let pack = Pack::start(work.path()).unwrap();
        let contents: Vec<String> = (0..300).map(|n| "tea ".repeat(n * 7)).collect();
        let names = std::thread::scope(|threads| {
            let write = || {
                contents
                    .iter()
                    .map(|text| pack.write(ObjectKind::Blob, text.as_bytes()).unwrap())
            };
            let other = threads.spawn(move || write().count());
            let names: Vec<Digest> = write().collect();
            assert_eq!(other.join().unwrap(), contents.len());
            names
        });
        let tree = pack.write(ObjectKind::Tree, b"").unwrap();
        pack.finish().unwrap();
        git(&["fsck", "--full", "--strict"]);
        assert!(git(&["count-objects", "-v"]).contains("in-pack: 301"));
        assert_eq!(git(&["cat-file", "-t", &tree.to_string()]).trim(), "tree");
        for (name, text) in names.iter().zip(&contents).step_by(37) {
            assert_eq!(&git(&["cat-file", "blob", &name.to_string()]), text);
        }
        let mut left = std::fs::read_dir(work.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        assert!(!left.any(|name| name.to_string_lossy().starts_with("half-")));
    }

    #[test]
    fn a_pack_that_is_not_finished_leaves_nothing() {
        let work = tempfile::tempdir().unwrap();
        Pack::start(work.path())
            .unwrap()
            .write(ObjectKind::Blob, b"x")
            .unwrap();
        assert_eq!(std::fs::read_dir(work.path()).unwrap().count(), 0);
    }
}
