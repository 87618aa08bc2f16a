//! The record of devices: `devices.json` in the user's state directory, 0600, with digests of their secrets.
//!
//! Shared by all servers and commands of the user. It is read at each use and changed under a lock, so none of them has a
//! copy that can be old. At most [`MAX_DEVICES`]; one more replaces the one that was unused the longest. Blocking.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use bobbin_model::UnixMillis;
use bobbin_workspace::{WorkspaceError, open_private, private_directory, write_small};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Most devices (guess: more browsers than a user has).
const MAX_DEVICES: usize = 64;
/// Most bytes of the file that are read.
const MAX_BYTES: u64 = 256 << 10;
/// Bytes of a digest that name a device.
const ID_BYTES: usize = 5;
/// How old the time of the last use may be before it is written again, in milliseconds.
const USE_MILLIS: i64 = 60_000;

/// A browser that has a secret of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// Names it for its user.
    pub id: String,
    /// Its name.
    pub label: String,
    /// When it was paired.
    pub created_at: UnixMillis,
    /// When it last asked for a WebSocket, to the minute.
    pub last_used_at: UnixMillis,
    /// The person whose it is; the user of the server without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// SHA-256 of its secret. The secret is random, so there is nothing to guess.
    digest: String,
    /// The origin that the secret was given to, the only one where it counts. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
}

/// The secret that a browser presents, with the origin of its page.
#[derive(Debug, Clone)]
pub(crate) struct Presented {
    /// The secret.
    pub(crate) secret: String,
    /// The origin, as the header has it.
    pub(crate) origin: String,
    /// Whether a record without an origin counts.
    pub(crate) takes_unnamed: bool,
}

/// The file with the record of devices.
#[derive(Debug, Clone)]
pub struct DeviceFile {
    state: PathBuf,
}

/// Why the record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something else wrote it.
    #[error("{} is damaged ({source}); remove it and let your browsers in again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// It cannot be written.
    #[error("the record of devices cannot be written: {0}")]
    Write(String),
}

#[derive(Default, Serialize, Deserialize)]
struct Content {
    devices: Vec<Device>,
}

impl Device {
    /// Returns a device with this secret.
    fn new(secret: &str, origin: &str, (label, person): (&str, Option<String>), now: UnixMillis) -> Self {
        let digest = digest(secret);
        Self {
            id: digest[..ID_BYTES * 2].to_owned(),
            label: label.to_owned(),
            created_at: now,
            last_used_at: now,
            person,
            digest,
            origin: Some(origin.to_owned()),
        }
    }

    fn is_of(&self, presented: &Presented, digest: &str) -> bool {
        let origin = self.origin.as_ref();
        self.digest == digest && origin.map_or(presented.takes_unnamed, |origin| *origin == presented.origin)
    }
}

fn digest(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

impl DeviceFile {
    /// Returns the record in a state directory. Creates nothing.
    pub fn of(state: &Path) -> Self {
        Self {
            state: state.to_owned(),
        }
    }

    /// Returns the devices, in the order in which they were paired.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn read(&self) -> Result<Vec<Device>, FileError> {
        let path = self.path();
        let bytes = match bobbin_files::read_bytes(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(FileError::Read { path, source }),
        };
        match serde_json::from_slice::<Content>(&bytes) {
            Ok(content) => Ok(content.devices),
            Err(source) => Err(FileError::Damaged { path, source }),
        }
    }

    /// Adds a device with this secret, which counts for pages of this origin. `whose` is its label, and the person if it is
    /// not the user's own.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn add(
        &self,
        secret: &str,
        origin: &str,
        whose: (&str, Option<String>),
        now: UnixMillis,
    ) -> Result<Device, FileError> {
        let device = Device::new(secret, origin, whose, now);
        self.change(|devices| {
            if devices.len() >= MAX_DEVICES {
                let oldest = devices.iter().map(|device| device.last_used_at).min();
                let index = devices
                    .iter()
                    .position(|device| Some(device.last_used_at) == oldest);
                index.map(|index| devices.remove(index));
            }
            devices.push(device.clone());
        })?;
        Ok(device)
    }

    /// Returns the device that a browser is, and notes that it is in use.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn used(&self, presented: &Presented, now: UnixMillis) -> Result<Option<Device>, FileError> {
        let digest = digest(&presented.secret);
        let mut devices = self.read()?.into_iter();
        let found = devices.find(|device| device.is_of(presented, &digest));
        let Some(device) = found else {
            return Ok(None);
        };
        if now.0 - device.last_used_at.0 >= USE_MILLIS {
            self.change(|devices| {
                let same = devices.iter_mut().find(|other| other.digest == device.digest);
                if let Some(same) = same {
                    same.last_used_at = now;
                }
            })?;
        }
        Ok(Some(device))
    }

    /// Removes devices by their ids, or all. Returns those that are left.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn revoke(&self, ids: Option<&[String]>) -> Result<Vec<Device>, FileError> {
        self.change(|devices| {
            devices.retain(|device| ids.is_some_and(|ids| !ids.contains(&device.id)));
            devices.clone()
        })
    }

    /// Removes the devices of a person. Returns their number.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn revoke_of(&self, person: &str) -> Result<usize, FileError> {
        let is_theirs = |device: &Device| device.person.as_deref() == Some(person);
        if !self.read()?.iter().any(is_theirs) {
            return Ok(0);
        }
        self.change(|devices| {
            let before = devices.len();
            devices.retain(|device| !is_theirs(device));
            before - devices.len()
        })
    }

    /// Removes the devices of pages with a name under `localhost` at this port. The caller is the one listener there:
    /// no other has or will have one of these names.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn forget_fresh(&self, port: u16) -> Result<(), FileError> {
        let end = format!(".localhost:{port}");
        let is_fresh = |device: &Device| {
            device
                .origin
                .as_ref()
                .is_some_and(|origin| origin.ends_with(&end))
        };
        if self.read()?.iter().any(is_fresh) {
            self.change(|devices| devices.retain(|device| !is_fresh(device)))?;
        }
        Ok(())
    }

    fn change<R>(&self, change: impl FnOnce(&mut Vec<Device>) -> R) -> Result<R, FileError> {
        let write = |error: &dyn std::error::Error| {
            let cause = error.source().map(|cause| format!(": {cause}"));
            FileError::Write(format!("{error}{}", cause.unwrap_or_default()))
        };
        let written = |done: Result<(), WorkspaceError>| done.map_err(|error| write(&error));
        written(private_directory(&self.state))?;
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let lock = open_private(&self.state.join("devices.lock"), options)
            .and_then(|lock| lock.lock().map(|()| lock))
            .map_err(|error| write(&error))?;
        let mut devices = self.read()?;
        let result = change(&mut devices);
        let text = serde_json::to_vec_pretty(&Content { devices }).map_err(|error| write(&error))?;
        written(write_small(&self.path(), &text))?;
        drop(lock);
        Ok(result)
    }

    fn path(&self) -> PathBuf {
        self.state.join("devices.json")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const START: UnixMillis = UnixMillis(1_000_000);

    const HERE: &str = "http://127.0.0.1:9100";

    fn with(secret: &str, origin: &str) -> Presented {
        Presented {
            secret: secret.to_owned(),
            origin: origin.to_owned(),
            takes_unnamed: false,
        }
    }

    fn after(millis: i64) -> UnixMillis {
        UnixMillis(START.0 + millis)
    }

    #[test]
    fn the_record_is_private_and_has_no_secret() {
        let state = tempfile::tempdir().unwrap();
        let file = DeviceFile::of(&state.path().join("state"));
        assert_eq!(file.read().unwrap(), []);
        assert_eq!(file.used(&with("s3cret", HERE), START).unwrap(), None);
        let device = file.add("s3cret", HERE, ("phone", None), START).unwrap();
        assert_eq!(file.read().unwrap(), std::slice::from_ref(&device));
        let found = std::fs::metadata(file.path()).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600);
        assert!(!std::fs::read_to_string(file.path()).unwrap().contains("s3cret"));
        assert_eq!(file.used(&with("s3cret", HERE), after(1)).unwrap(), Some(device));
        assert_eq!(file.used(&with("other", HERE), after(1)).unwrap(), None);
    }

    #[test]
    fn a_use_is_noted_to_the_minute_and_a_revoked_secret_is_none() {
        let state = tempfile::tempdir().unwrap();
        let file = DeviceFile::of(state.path());
        let [one, _] = ["one", "two"].map(|secret| file.add(secret, HERE, (secret, None), START).unwrap());
        for (millis, noted) in [(59_999, START), (60_000, after(60_000))] {
            file.used(&with("one", HERE), after(millis)).unwrap();
            assert_eq!(file.read().unwrap()[0].last_used_at, noted);
        }
        let left = file.revoke(Some(&[one.id])).unwrap();
        assert_eq!((left.len(), left[0].label.as_str()), (1, "two"));
        assert_eq!(file.used(&with("one", HERE), START).unwrap(), None);
        assert_eq!(file.revoke(None).unwrap(), []);
    }

    #[test]
    fn the_devices_of_a_person_go_and_no_other() {
        let state = tempfile::tempdir().unwrap();
        let file = DeviceFile::of(state.path());
        assert_eq!(file.revoke_of("ana").unwrap(), 0);
        for (secret, person) in [
            ("1", Some("ana")),
            ("2", Some("bo")),
            ("3", None),
            ("4", Some("ana")),
        ] {
            let person = person.map(str::to_owned);
            file.add(secret, HERE, ("browser", person), START).unwrap();
        }
        assert_eq!(file.revoke_of("ana").unwrap(), 2);
        let left: Vec<_> = file
            .read()
            .unwrap()
            .into_iter()
            .map(|device| device.person)
            .collect();
        assert_eq!(left, [Some("bo".to_owned()), None]);
    }

    #[test]
    fn one_too_many_replaces_the_one_that_was_unused_the_longest() {
        let state = tempfile::tempdir().unwrap();
        let file = DeviceFile::of(state.path());
        for number in 0..MAX_DEVICES {
            file.add(
                &number.to_string(),
                HERE,
                ("browser", None),
                after(i64::try_from(number).unwrap()),
            )
            .unwrap();
        }
        file.used(&with("0", HERE), after(100_000)).unwrap();
        file.add("more", HERE, ("browser", None), after(100_001)).unwrap();
        assert_eq!(file.read().unwrap().len(), MAX_DEVICES);
        let known =
            ["0", "1", "2", "more"].map(|secret| file.used(&with(secret, HERE), START).unwrap().is_some());
        assert_eq!(known, [true, false, true, true]);
    }

    #[test]
    fn a_damaged_record_lets_nobody_in_and_says_what_to_do() {
        let state = tempfile::tempdir().unwrap();
        let file = DeviceFile::of(state.path());
        std::fs::write(file.path(), "{").unwrap();
        let error = file.used(&with("s", HERE), START).unwrap_err().to_string();
        assert!(error.contains("remove it"), "{error}");
        assert!(file.add("s", HERE, ("browser", None), START).is_err());
    }

    #[test]
    fn a_secret_counts_for_the_origin_that_it_was_given_to() {
        let state = tempfile::tempdir().unwrap();
        let file = DeviceFile::of(state.path());
        file.add("one", HERE, ("browser", None), START).unwrap();
        let counts = |presented: &Presented| file.used(presented, START).unwrap().is_some();
        assert!(counts(&with("one", HERE)));
        for other in [
            "https://127.0.0.1:9100",
            "http://127.0.0.1:9101",
            "http://tea.localhost:9100",
            "",
        ] {
            assert!(!counts(&with("one", other)), "{other}");
        }
        // A record of an earlier version, which names none.
        let record = std::fs::read_to_string(file.path()).unwrap();
        let mut record: serde_json::Value = serde_json::from_str(&record).unwrap();
        record["devices"][0].as_object_mut().unwrap().remove("origin");
        std::fs::write(file.path(), record.to_string()).unwrap();
        let mut presented = with("one", HERE);
        assert!(!counts(&presented));
        presented.takes_unnamed = true;
        assert!(counts(&presented));
    }

    #[test]
    fn devices_of_fresh_names_go_with_the_port_that_they_were_at() {
        let state = tempfile::tempdir().unwrap();
        let file = DeviceFile::of(state.path());
        let gone = "http://abc.localhost:9100";
        let stay = ["http://abc.localhost:9101", "http://localhost:9100", HERE];
        for origin in stay.into_iter().chain([gone]) {
            file.add(origin, origin, ("browser", None), START).unwrap();
        }
        file.forget_fresh(9100).unwrap();
        for (origin, counts) in stay
            .map(|origin| (origin, true))
            .into_iter()
            .chain([(gone, false)])
        {
            assert_eq!(
                file.used(&with(origin, origin), START).unwrap().is_some(),
                counts,
                "{origin}"
            );
        }
    }
}
