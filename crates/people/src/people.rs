//! The people of a listener: who presents which token, with which role, until when.
//!
//! The record is read again when its file is another one: at each connection, and twice a second while a person may be
//! connected. The entries of connections are bounded: one for each token of the record and each paired device.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::Clock;
use bobbin_model::{Actor, Need, Person, Role};
use bobbin_transport::{Admitted, Denied};
use bobbin_workspace::Workspace;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::file::{PeopleFile, PersonRecord, digest};

/// Interval in which the record is looked at: a removed person is out within a second, the time to read the reason included.
const WATCH: Duration = Duration::from_millis(500);

/// The workspaces behind a listener.
#[derive(Debug, Clone)]
pub enum Scope {
    /// This one.
    Workspace(Box<Workspace>),
    /// Those of a node: `/w/NAME/…` is that of the name.
    Node,
}

/// The people of a listener. Clones are the same.
#[derive(Clone)]
pub struct People(Arc<Inner>);

struct Inner {
    file: PeopleFile,
    scope: Scope,
    clock: Arc<dyn Clock>,
    read: Mutex<Read>,
    /// The folders of the workspaces by name, as of the last look. `None` until a person with a role in a single one connects.
    named: Mutex<Option<BTreeMap<String, PathBuf>>>,
    /// The ends of connections.
    open: Mutex<HashMap<Presented, Open>>,
}

/// The record as it was read last.
#[derive(Default)]
struct Read {
    stamp: Option<Stamp>,
    people: Arc<Vec<PersonRecord>>,
}

/// The facts by which another content of a file shows. The file is only ever replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    changed: (i64, i64),
    len: u64,
}

/// The proof by which a person connected.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Presented {
    /// The digest of a token.
    Token(String),
    /// The id of a paired browser.
    Device(String),
}

/// The connections of a token or a device.
struct Open {
    person: String,
    /// The roles of the person, as of then.
    roles: (Option<Role>, BTreeMap<String, Role>),
    until: CancellationToken,
}

impl Open {
    fn new(person: &PersonRecord, until: CancellationToken) -> Self {
        Self {
            person: person.name.clone(),
            roles: (person.role, person.workspaces.clone()),
            until,
        }
    }

    fn has_roles_of(&self, person: &PersonRecord) -> bool {
        self.roles.0 == person.role && self.roles.1 == person.workspaces
    }

    /// Whether a role of the person is in a workspace of one of these names.
    fn is_in_one_of(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.roles.1.contains_key(name))
    }
}

impl People {
    /// Returns the people of a listener, with the record of its user.
    pub fn new(file: PeopleFile, scope: Scope, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            file,
            scope,
            clock,
            read: Mutex::default(),
            named: Mutex::default(),
            open: Mutex::default(),
        }))
    }

    /// Admits the person that a token belongs to, for a request of a path.
    ///
    /// # Errors
    /// Nobody has the token, or its person has no role there.
    pub fn of_token(&self, token: &[u8], path: &str) -> Result<Admitted, Denied> {
        let digest = digest(token);
        let now = self.0.clock.now();
        let people = self.0.read().ok_or(Denied::WrongToken)?;
        let person = people.iter().find(|person| person.has_token(&digest, now));
        let person = person.ok_or(Denied::WrongToken)?;
        self.0.admit(
            person,
            None,
            Presented::Token(digest),
            path,
            CancellationToken::new(),
        )
    }

    /// Admits a person with a paired browser, for a request of a path. `until` is cancelled when the browser may no longer
    /// be connected.
    ///
    /// # Errors
    /// There is no such person, or the person has no role there.
    pub fn of_device(
        &self,
        name: &str,
        (id, label): (&str, &str),
        path: &str,
        until: &CancellationToken,
    ) -> Result<Admitted, Denied> {
        let people = self.0.read().ok_or(Denied::NoRole)?;
        let person = people.iter().find(|person| person.name == name);
        let person = person.ok_or(Denied::NoRole)?;
        let presented = Presented::Device(id.to_owned());
        self.0.admit(
            person,
            Some(label.to_owned()),
            presented,
            path,
            until.child_token(),
        )
    }

    /// Whether the record has a person of this name.
    pub fn has(&self, name: &str) -> bool {
        let people = self.0.read();
        people.is_some_and(|people| people.iter().any(|person| person.name == name))
    }

    /// Whether a person who is no owner may prompt in the workspace of this listener. A record that cannot be read has one.
    pub fn may_prompt(&self) -> bool {
        let Some(people) = self.0.read() else { return true };
        let roles = people.iter().filter_map(|person| self.0.role(person, ""));
        roles
            .into_iter()
            .any(|role| role.may(Need::Prompt) && !role.may(Need::Own))
    }

    /// Returns the role of an actor in the workspace of a name.
    pub fn role_in(&self, actor: &Actor, workspace: &str) -> Option<Role> {
        let Some(person) = actor.person() else {
            return Some(Role::Owner);
        };
        let people = self.0.read()?;
        let record = people.iter().find(|record| record.name == person.name);
        record?.role_in(Some(workspace))
    }

    /// Ends the connections of people who are no longer in the record, whose token does not count any more, or who have
    /// another role. Runs until it is dropped.
    pub async fn watch(&self) {
        loop {
            tokio::time::sleep(WATCH).await;
            self.0.look();
        }
    }
}

impl Inner {
    /// Returns the record; `None` where it cannot be read, so that nobody in it gets in.
    fn read(&self) -> Option<Arc<Vec<PersonRecord>>> {
        let found = std::fs::symlink_metadata(self.file.path());
        let stamp = found.ok().map(|found| Stamp {
            inode: found.ino(),
            changed: (found.ctime(), found.ctime_nsec()),
            len: found.len(),
        });
        let mut read = self.read.lock();
        if stamp != read.stamp {
            match self.file.read() {
                Ok(people) => {
                    *read = Read {
                        stamp,
                        people: Arc::new(people),
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "nobody but the user of this server gets in");
                    return None;
                }
            }
        }
        Some(read.people.clone())
    }

    /// Returns the role of a person at a path.
    fn role(&self, person: &PersonRecord, path: &str) -> Option<Role> {
        match &self.scope {
            // Only a role of its own takes a look at the name.
            Scope::Workspace(_) if person.workspaces.is_empty() => person.role,
            Scope::Workspace(workspace) => person.role_in(workspace.name().as_deref()),
            Scope::Node => match path.strip_prefix("/w/").and_then(|rest| rest.split('/').next()) {
                Some(name) => person.role_in(Some(name)),
                // The list of workspaces, of which each person is sent those with a role.
                None => person
                    .role
                    .or_else(|| person.workspaces.values().min().map(|_| Role::Viewer)),
            },
        }
    }

    fn admit(
        &self,
        person: &PersonRecord,
        device: Option<String>,
        presented: Presented,
        path: &str,
        until: CancellationToken,
    ) -> Result<Admitted, Denied> {
        let role = self.role(person, path).ok_or(Denied::NoRole)?;
        if !person.workspaces.is_empty() {
            let mut named = self.named.lock();
            if named.is_none() {
                *named = self.names();
            }
        }
        let until = {
            let mut open = self.open.lock();
            let known = open.get(&presented);
            let known = known.filter(|open| open.has_roles_of(person) && !open.until.is_cancelled());
            if let Some(until) = known.map(|open| open.until.clone()) {
                until
            } else {
                if let Some(old) = open.insert(presented, Open::new(person, until.clone())) {
                    old.until.cancel();
                }
                until
            }
        };
        let person = Person {
            name: person.name.clone(),
            role,
            device,
        };
        Ok(Admitted {
            actor: Actor::Person(Box::new(person)),
            until,
        })
    }

    /// Returns the folders of the user's workspaces by name; `None` if they cannot be listed.
    fn names(&self) -> Option<BTreeMap<String, PathBuf>> {
        match self.file.workspaces() {
            Ok(named) => Some(named),
            Err(error) => {
                tracing::warn!(%error, "names of workspaces cannot be read");
                None
            }
        }
    }

    /// Returns the names that are those of another folder since the last look. Roles count by name.
    fn renamed(&self) -> Vec<String> {
        let has_any = |open: &Open| !open.roles.1.is_empty();
        if !self.open.lock().values().any(has_any) {
            return Vec::new();
        }
        let Some(now) = self.names() else {
            return Vec::new();
        };
        let before = self.named.lock().replace(now.clone()).unwrap_or_default();
        let names = before.keys().chain(now.keys());
        let renamed = names.filter(|name| before.get(*name) != now.get(*name));
        renamed.cloned().collect()
    }

    /// Compares the open connections with the record.
    fn look(&self) {
        if self.open.lock().is_empty() {
            return;
        }
        let renamed = self.renamed();
        let people = self.read().unwrap_or_default();
        let now = self.clock.now();
        self.open.lock().retain(|presented, open| {
            let person = people.iter().find(|person| person.name == open.person);
            let stays = person.is_some_and(|person| {
                let presents = match presented {
                    Presented::Token(digest) => person.has_token(digest, now),
                    Presented::Device(_) => true,
                };
                presents && open.has_roles_of(person) && !open.is_in_one_of(&renamed)
            });
            if !stays && !open.until.is_cancelled() {
                tracing::info!(person = open.person, "a person is disconnected");
                open.until.cancel();
            }
            stays && !open.until.is_cancelled()
        });
    }
}

#[cfg(test)]
mod tests {
    use bobbin_model::UnixMillis;
    use bobbin_testkit::ManualClock;
    use bobbin_workspace::StateDirectory;
    use tempfile::TempDir;

    use super::*;

    struct Set {
        state: TempDir,
        file: PeopleFile,
        clock: Arc<ManualClock>,
    }

    impl Set {
        fn new() -> Self {
            let state = tempfile::tempdir().unwrap();
            let file = PeopleFile::of(state.path());
            let clock = Arc::new(ManualClock::default());
            Self { state, file, clock }
        }

        fn people(&self, scope: Scope) -> People {
            People::new(self.file.clone(), scope, self.clock.clone())
        }

        fn token(&self, name: &str, role: Role, workspace: Option<&str>) -> String {
            self.file.give(name, role, workspace).unwrap();
            self.file.issue(name, self.clock.now(), None).unwrap()
        }
    }

    fn role(admitted: Result<Admitted, Denied>) -> Result<Role, Denied> {
        admitted.map(|admitted| admitted.actor.role())
    }

    #[test]
    fn a_token_gives_the_role_of_its_person_in_the_workspace_of_the_path() {
        let set = Set::new();
        let people = set.people(Scope::Node);
        assert_eq!(
            role(people.of_token(b"none", "/w/tea/ws")),
            Err(Denied::WrongToken)
        );
        let ana = set.token("ana", Role::Author, Some("tea"));
        let bo = set.token("bo", Role::Viewer, None);
        set.file.give("bo", Role::Owner, Some("pot")).unwrap();
        for (token, path, expected) in [
            (&ana, "/w/tea/ws", Ok(Role::Author)),
            (&ana, "/w/pot/ws", Err(Denied::NoRole)),
            (&ana, "/w/", Err(Denied::NoRole)),
            (&ana, "/node/ws", Ok(Role::Viewer)),
            (&bo, "/w/tea/ws", Ok(Role::Viewer)),
            (&bo, "/w/pot/ws", Ok(Role::Owner)),
            (&bo, "/node/ws", Ok(Role::Viewer)),
        ] {
            assert_eq!(role(people.of_token(token.as_bytes(), path)), expected, "{path}");
        }
        let actor = people.of_token(ana.as_bytes(), "/w/tea/ws").unwrap().actor;
        assert_eq!(people.role_in(&actor, "tea"), Some(Role::Author));
        assert_eq!(people.role_in(&actor, "pot"), None);
        assert_eq!(people.role_in(&Actor::Owner, "pot"), Some(Role::Owner));
    }

    #[test]
    fn a_server_looks_at_the_name_of_its_workspace() {
        let set = Set::new();
        let root = set.state.path().join("folder");
        std::fs::create_dir(&root).unwrap();
        let state = StateDirectory::at(&set.state.path().join("state"));
        let workspace = Workspace::find(Some(&root), state.clone()).unwrap();
        let people = set.people(Scope::Workspace(Box::new(workspace.clone())));
        let ana = set.token("ana", Role::Author, Some("tea"));
        assert_eq!(role(people.of_token(ana.as_bytes(), "/ws")), Err(Denied::NoRole));
        state.add_name(&workspace, Some("tea")).unwrap();
        assert_eq!(role(people.of_token(ana.as_bytes(), "/ws")), Ok(Role::Author));
    }

    #[tokio::test(start_paused = true)]
    async fn a_person_is_disconnected_who_is_removed_or_gets_another_role() {
        let set = Set::new();
        let people = set.people(Scope::Node);
        let (ana, bo) = (
            set.token("ana", Role::Author, None),
            set.token("bo", Role::Author, None),
        );
        let admit = |token: &str| people.of_token(token.as_bytes(), "/w/tea/ws").unwrap().until;
        let (first, second, stays) = (admit(&ana), admit(&ana), admit(&bo));
        let device = CancellationToken::new();
        let of_device = people
            .of_device("ana", ("1", "phone"), "/w/tea/ws", &device)
            .unwrap();
        let watching = people.clone();
        let watching = tokio::spawn(async move { watching.watch().await });
        set.file.give("ana", Role::Viewer, None).unwrap();
        for until in [first, second, of_device.until] {
            until.cancelled().await;
        }
        let again = people.of_token(ana.as_bytes(), "/w/tea/ws").unwrap();
        assert_eq!(again.actor.role(), Role::Viewer);
        set.file.remove("ana").unwrap();
        again.until.cancelled().await;
        assert!(!stays.is_cancelled());
        assert_eq!(
            role(people.of_token(ana.as_bytes(), "/w/tea/ws")),
            Err(Denied::WrongToken)
        );
        assert!(
            people
                .of_device("ana", ("1", "phone"), "/w/tea/ws", &device)
                .is_err()
        );
        std::fs::write(set.file.path(), "{").unwrap();
        stays.cancelled().await;
        watching.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_workspace_of_another_name_has_other_people() {
        let set = Set::new();
        let root = tempfile::tempdir().unwrap();
        let state = StateDirectory::at(set.state.path());
        let workspace = Workspace::find(Some(root.path()), state.clone()).unwrap();
        state.add_name(&workspace, Some("tea")).unwrap();
        let [ana, bo] = [("ana", Some("tea")), ("bo", None)]
            .map(|(name, workspace)| set.token(name, Role::Author, workspace));
        for (scope, path) in [
            (Scope::Node, "/w/tea/ws"),
            (Scope::Workspace(Box::new(workspace.clone())), "/ws"),
        ] {
            state.add_name(&workspace, Some("tea")).unwrap();
            let people = set.people(scope);
            let [out, stays] =
                [&ana, &bo].map(|token| people.of_token(token.as_bytes(), path).unwrap().until);
            let watching = people.clone();
            let watching = tokio::spawn(async move { watching.watch().await });
            state.add_name(&workspace, Some("pot")).unwrap();
            out.cancelled().await;
            assert!(!stays.is_cancelled(), "{path}");
            watching.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_that_expires_ends_its_connection() {
        let set = Set::new();
        let people = set.people(Scope::Node);
        set.file.give("ana", Role::Viewer, None).unwrap();
        let now = set.clock.now();
        let expires_at = UnixMillis(now.0 + 1000);
        let token = set.file.issue("ana", now, Some(expires_at)).unwrap();
        let open = people.of_token(token.as_bytes(), "/node/ws").unwrap();
        set.clock.advance(1000);
        people.0.look();
        assert!(open.until.is_cancelled());
        assert_eq!(
            role(people.of_token(token.as_bytes(), "/node/ws")),
            Err(Denied::WrongToken)
        );
    }

    #[test]
    fn a_revoked_browser_of_a_person_is_out() {
        let set = Set::new();
        let people = set.people(Scope::Node);
        set.file.give("ana", Role::Viewer, None).unwrap();
        let device = CancellationToken::new();
        let open = people
            .of_device("ana", ("1", "phone"), "/node/ws", &device)
            .unwrap();
        let person = open.actor.person().unwrap();
        assert_eq!(person.device.as_deref(), Some("phone"));
        device.cancel();
        assert!(open.until.is_cancelled());
    }
}
