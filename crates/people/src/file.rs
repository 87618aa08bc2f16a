//! The record of people: `people.json` in the user's state directory, 0600, with digests of their tokens.
//!
//! Shared by all servers and commands of the user, and changed under a lock. Blocking.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use bobbin_model::{Role, UnixMillis};
use bobbin_workspace::{StateDirectory, WorkspaceError, open_private, private_directory, write_small};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Most people (a guess: more than use one person's server).
pub(crate) const MAX_PEOPLE: usize = 256;
/// Most tokens of one person.
const MAX_TOKENS: usize = 16;
/// Most workspaces in which a person has a role of its own: as many as a node serves.
const MAX_WORKSPACES: usize = 256;
/// Longest name of a person or a workspace, in bytes.
const MAX_NAME: usize = 64;
/// Most bytes of the file that are read.
const MAX_BYTES: u64 = 8 << 20;
/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// A person with roles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonRecord {
    /// The name.
    pub name: String,
    /// The role in each workspace that `workspaces` does not name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The roles in single workspaces, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workspaces: BTreeMap<String, Role>,
    /// The tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<TokenRecord>,
}

/// A token of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRecord {
    /// SHA-256 of the token. It is random, so there is nothing to guess.
    pub digest: String,
    /// When it was made.
    pub created_at: UnixMillis,
    /// When it stops to count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UnixMillis>,
}

/// The file with the record.
#[derive(Debug, Clone)]
pub struct PeopleFile {
    state: PathBuf,
}

/// Why the record cannot be used or changed.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// It cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Something else wrote it.
    #[error("{} is damaged ({source}); remove it and add your people again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: serde_json::Error,
    },
    /// It cannot be written.
    #[error("the record of people cannot be written: {0}")]
    Write(String),
    /// The name cannot be used.
    #[error(
        "{0:?} is no name: it has 1 to {MAX_NAME} letters, digits and '.', '_', '-' or '@', the first of them a letter"
    )]
    BadName(String),
    /// There is no such person.
    #[error("there is nobody called {0}; `bobbin people list` names all")]
    Unknown(String),
    /// A limit is reached.
    #[error("there are {0} already; remove one first")]
    Full(String),
    /// The system has no random numbers.
    #[error("there are no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

#[derive(Default, Serialize, Deserialize)]
struct Content {
    people: Vec<PersonRecord>,
}

impl PersonRecord {
    /// Returns the role in the workspace of a name, or in one without a name.
    pub fn role_in(&self, workspace: Option<&str>) -> Option<Role> {
        let own = workspace.and_then(|name| self.workspaces.get(name));
        own.copied().or(self.role)
    }

    /// Whether a token with this digest counts.
    pub(crate) fn has_token(&self, digest: &str, now: UnixMillis) -> bool {
        let mut tokens = self.tokens.iter();
        tokens.any(|token| token.digest == digest && token.counts(now))
    }
}

impl TokenRecord {
    /// Whether it has not expired.
    pub fn counts(&self, now: UnixMillis) -> bool {
        self.expires_at.is_none_or(|expires_at| now < expires_at)
    }
}

pub(crate) fn digest(token: &[u8]) -> String {
    hex::encode(Sha256::digest(token))
}

fn check_name(name: &str) -> Result<(), PeopleError> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if starts && name.len() <= MAX_NAME && name.bytes().all(is_part) {
        Ok(())
    } else {
        Err(PeopleError::BadName(name.to_owned()))
    }
}

impl PeopleFile {
    /// Returns the record in a state directory. Creates nothing.
    pub fn of(state: &Path) -> Self {
        Self {
            state: state.to_owned(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.state.join("people.json")
    }

    /// Returns the folders of the user's workspaces by their names.
    ///
    /// # Errors
    /// They cannot be listed.
    pub(crate) fn workspaces(&self) -> Result<BTreeMap<String, PathBuf>, WorkspaceError> {
        let named = StateDirectory::at(&self.state).named()?.into_iter();
        Ok(named.map(|named| (named.name, named.root)).collect())
    }

    /// Returns the people, in the order of their names.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn read(&self) -> Result<Vec<PersonRecord>, PeopleError> {
        let path = self.path();
        let bytes = match bobbin_files::read_bytes(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(PeopleError::Read { path, source }),
        };
        match serde_json::from_slice::<Content>(&bytes) {
            Ok(content) => Ok(content.people),
            Err(source) => Err(PeopleError::Damaged { path, source }),
        }
    }

    /// Gives a person a role: everywhere, or in the workspace of a name. Adds the person if there is none of this name.
    ///
    /// # Errors
    /// A name cannot be used, a limit is reached, or the file cannot be read or written.
    pub fn give(&self, name: &str, role: Role, workspace: Option<&str>) -> Result<(), PeopleError> {
        check_name(name)?;
        if let Some(workspace) = workspace.filter(|workspace| workspace.len() > MAX_NAME) {
            return Err(PeopleError::BadName(workspace.to_owned()));
        }
        self.change(|people| {
            let index = match people.binary_search_by(|person| person.name.as_str().cmp(name)) {
                Ok(index) => index,
                Err(_) if people.len() >= MAX_PEOPLE => {
                    return Err(PeopleError::Full(format!("{MAX_PEOPLE} people")));
                }
                Err(index) => {
                    let person = PersonRecord {
                        name: name.to_owned(),
                        role: None,
                        workspaces: BTreeMap::new(),
                        tokens: Vec::new(),
                    };
                    people.insert(index, person);
                    index
                }
            };
            let person = &mut people[index];
            match workspace {
                None => person.role = Some(role),
                Some(workspace) => {
                    person.workspaces.insert(workspace.to_owned(), role);
                }
            }
            if person.workspaces.len() > MAX_WORKSPACES {
                return Err(PeopleError::Full(format!(
                    "{MAX_WORKSPACES} workspaces of {name}"
                )));
            }
            Ok(())
        })
    }

    /// Removes a person, with all roles and tokens.
    ///
    /// # Errors
    /// There is none of this name, or the file cannot be read or written.
    pub fn remove(&self, name: &str) -> Result<(), PeopleError> {
        self.change(|people| {
            let before = people.len();
            people.retain(|person| person.name != name);
            if people.len() == before {
                return Err(PeopleError::Unknown(name.to_owned()));
            }
            Ok(())
        })
    }

    /// Makes a token for a person. Only its digest is stored. Tokens that have expired make room.
    ///
    /// # Errors
    /// There is nobody of this name, the person has too many tokens, or the file cannot be read or written.
    pub fn issue(
        &self,
        name: &str,
        now: UnixMillis,
        expires_at: Option<UnixMillis>,
    ) -> Result<String, PeopleError> {
        let mut random = [0; TOKEN_BYTES];
        getrandom::fill(&mut random)?;
        let token = hex::encode(random);
        self.change(|people| {
            let person = people.iter_mut().find(|person| person.name == name);
            let person = person.ok_or_else(|| PeopleError::Unknown(name.to_owned()))?;
            person.tokens.retain(|token| token.counts(now));
            if person.tokens.len() >= MAX_TOKENS {
                let full =
                    format!("{MAX_TOKENS} tokens of {name} (`bobbin people remove {name}` takes all back)");
                return Err(PeopleError::Full(full));
            }
            person.tokens.push(TokenRecord {
                digest: digest(token.as_bytes()),
                created_at: now,
                expires_at,
            });
            Ok(())
        })?;
        Ok(token)
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Vec<PersonRecord>) -> Result<(), PeopleError>,
    ) -> Result<(), PeopleError> {
        let write = |error: &dyn std::error::Error| {
            let cause = error.source().map(|cause| format!(": {cause}"));
            PeopleError::Write(format!("{error}{}", cause.unwrap_or_default()))
        };
        let written = |done: Result<(), WorkspaceError>| done.map_err(|error| write(&error));
        written(private_directory(&self.state))?;
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let lock = open_private(&self.state.join("people.lock"), options)
            .and_then(|lock| lock.lock().map(|()| lock))
            .map_err(|error| write(&error))?;
        let mut people = self.read()?;
        change(&mut people)?;
        let text = serde_json::to_vec_pretty(&Content { people }).map_err(|error| write(&error))?;
        written(write_small(&self.path(), &text))?;
        drop(lock);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_000_000);

    fn file() -> (tempfile::TempDir, PeopleFile) {
        let state = tempfile::tempdir().unwrap();
        let file = PeopleFile::of(&state.path().join("state"));
        (state, file)
    }

    #[test]
    fn the_record_is_private_and_has_no_token() {
        let (_state, file) = file();
        assert_eq!(file.read().unwrap(), []);
        file.give("ana", Role::Viewer, None).unwrap();
        let token = file.issue("ana", NOW, None).unwrap();
        let found = std::fs::metadata(file.path()).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600);
        assert!(!std::fs::read_to_string(file.path()).unwrap().contains(&token));
        let people = file.read().unwrap();
        assert!(people[0].has_token(&digest(token.as_bytes()), NOW));
        assert!(!people[0].has_token(&digest(b"other"), NOW));
    }

    #[test]
    fn a_role_counts_everywhere_unless_the_workspace_has_one_of_its_own() {
        let (_state, file) = file();
        file.give("bo", Role::Author, Some("tea")).unwrap();
        file.give("ana", Role::Viewer, None).unwrap();
        file.give("ana", Role::Approver, Some("tea")).unwrap();
        file.give("ana", Role::Owner, Some("tea")).unwrap();
        let people = file.read().unwrap();
        let [ana, bo] = &people[..] else {
            panic!("{people:?}")
        };
        let roles = |person: &PersonRecord| {
            [Some("tea"), Some("pot"), None].map(|workspace| person.role_in(workspace))
        };
        assert_eq!(
            roles(ana),
            [Some(Role::Owner), Some(Role::Viewer), Some(Role::Viewer)]
        );
        assert_eq!(roles(bo), [Some(Role::Author), None, None]);
        file.remove("bo").unwrap();
        assert!(matches!(file.remove("bo"), Err(PeopleError::Unknown(_))));
        assert_eq!(file.read().unwrap().len(), 1);
    }

    #[test]
    fn names_are_plain_and_everything_has_a_bound() {
        let (_state, file) = file();
        for name in ["", "1ana", "an a", "ana/", "a\u{1b}[", "ä", &"a".repeat(65)] {
            let given = file.give(name, Role::Viewer, None);
            assert!(matches!(given, Err(PeopleError::BadName(_))), "{name:?}");
        }
        file.give("ana@tea.example", Role::Viewer, None).unwrap();
        assert!(matches!(
            file.issue("bo", NOW, None),
            Err(PeopleError::Unknown(_))
        ));
        let later = |millis| Some(UnixMillis(NOW.0 + millis));
        for _ in 0..MAX_TOKENS {
            file.issue("ana@tea.example", NOW, later(1)).unwrap();
        }
        let full = file.issue("ana@tea.example", NOW, None).unwrap_err();
        assert!(full.to_string().contains("remove"), "{full}");
        file.issue("ana@tea.example", UnixMillis(NOW.0 + 1), None)
            .unwrap();
        assert_eq!(file.read().unwrap()[0].tokens.len(), 1);
        for number in 1..MAX_PEOPLE {
            file.give(&format!("p{number}"), Role::Viewer, None).unwrap();
        }
        assert!(matches!(
            file.give("zo", Role::Viewer, None),
            Err(PeopleError::Full(_))
        ));
        file.give("p1", Role::Author, None).unwrap();
    }

    #[test]
    fn a_damaged_record_says_what_to_do() {
        let (state, file) = file();
        std::fs::create_dir(state.path().join("state")).unwrap();
        std::fs::write(file.path(), "{").unwrap();
        let error = file.give("ana", Role::Viewer, None).unwrap_err().to_string();
        assert!(error.contains("remove it"), "{error}");
    }
}
