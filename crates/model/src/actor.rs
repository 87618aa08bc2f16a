//! The people who use a server, and what each of them may do.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A right of a caller, from the least to the most. Each right includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// Lists, reads and subscribes.
    Read,
    /// Starts, steers and queues Turns, and manages the Threads that they are in.
    Prompt,
    /// Answers approvals and questions.
    Approve,
    /// Changes configuration, trust, keys, jobs and devices, reads secrets, changes files outside of a Turn, starts programs
    /// and manages the server.
    Own,
}

impl Need {
    /// All rights, from the least to the most.
    pub const ALL: [Self; 4] = [Self::Read, Self::Prompt, Self::Approve, Self::Own];

    /// Returns the word that pages and errors have.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Prompt => "prompt",
            Self::Approve => "approve",
            Self::Own => "own",
        }
    }

    /// Returns the least role that has the right.
    pub const fn role(self) -> Role {
        match self {
            Self::Read => Role::Viewer,
            Self::Prompt => Role::Author,
            Self::Approve => Role::Approver,
            Self::Own => Role::Owner,
        }
    }
}

/// The role of a person in a workspace, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Reads.
    Viewer,
    /// Prompts too, and stops Turns of their own.
    Author,
    /// Answers approvals and questions too.
    Approver,
    /// May do everything.
    Owner,
}

impl Role {
    /// All roles, from the least to the most.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Author, Self::Approver, Self::Owner];

    /// Returns the role's word on the wire and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Author => "author",
            Self::Approver => "approver",
            Self::Owner => "owner",
        }
    }

    /// Whether the role has a right.
    pub fn may(self, need: Need) -> bool {
        self >= need.role()
    }

    /// Returns the role of the same person on a machine where bubblewrap does not confine commands: who may have commands run
    /// without owning the server reads only.
    #[must_use]
    pub fn unconfined(self) -> Self {
        if self == Self::Owner { self } else { Self::Viewer }
    }
}

/// A person with a role, as records name them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ActorInfo")
)]
#[serde(rename_all = "camelCase")]
pub struct Person {
    /// The name, as the owner of the server has given it.
    pub name: String,
    /// The role in the workspace at that time.
    pub role: Role,
    /// The paired browser that the person used. Absent with a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.device {
            Some(device) => write!(f, "{}, on {device}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// On whose behalf a client acts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Actor {
    /// The user whose server it is.
    #[default]
    Owner,
    /// A person to whom the user has given a role.
    Person(Box<Person>),
}

impl Actor {
    /// Whether it is the user whose server it is.
    pub fn is_owner(&self) -> bool {
        matches!(self, Self::Owner)
    }

    /// Returns the person, unless it is the user whose server it is.
    pub fn person(&self) -> Option<&Person> {
        match self {
            Self::Owner => None,
            Self::Person(person) => Some(person),
        }
    }

    /// Returns the role.
    pub fn role(&self) -> Role {
        self.person().map_or(Role::Owner, |person| person.role)
    }

    /// Whether the actor has a right.
    pub fn may(&self, need: Need) -> bool {
        self.role().may(need)
    }

    /// Whether the actor may stop, steer or take back the input of another one. An author may where both are the same person;
    /// an approver may always.
    pub fn may_change_input_of(&self, other: &Self) -> bool {
        let name = |actor: &Self| actor.person().map(|person| person.name.clone());
        self.may(Need::Approve) || name(self) == name(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(name: &str, role: Role) -> Actor {
        Actor::Person(Box::new(Person {
            name: name.to_owned(),
            role,
            device: None,
        }))
    }

    #[test]
    fn only_owners_have_their_role_where_nothing_confines_commands() {
        let left = Role::ALL.map(Role::unconfined);
        assert_eq!(left, [Role::Viewer, Role::Viewer, Role::Viewer, Role::Owner]);
    }

    #[test]
    fn each_role_has_its_right_and_those_before_it() {
        for (index, role) in Role::ALL.into_iter().enumerate() {
            let has: Vec<_> = Need::ALL.into_iter().filter(|need| role.may(*need)).collect();
            assert_eq!(has, Need::ALL[..=index], "{role:?}");
            assert_eq!(Need::ALL[index].role(), role);
            assert_eq!(serde_json::to_value(role).unwrap(), role.word());
        }
        assert_eq!(Actor::default().role(), Role::Owner);
    }

    #[test]
    fn authors_change_their_own_input_alone() {
        let ana = person("ana", Role::Author);
        let mut on_phone = ana.clone();
        if let Actor::Person(person) = &mut on_phone {
            person.device = Some("phone".to_owned());
        }
        for (who, whose, may) in [
            (&ana, &ana, true),
            (&on_phone, &ana, true),
            (&ana, &person("bo", Role::Author), false),
            (&ana, &Actor::Owner, false),
            (&person("bo", Role::Approver), &ana, true),
            (&person("bo", Role::Approver), &Actor::Owner, true),
            (&Actor::Owner, &ana, true),
        ] {
            assert_eq!(who.may_change_input_of(whose), may, "{who:?} {whose:?}");
        }
    }

    #[test]
    fn the_owner_is_one_word_as_before() {
        assert_eq!(serde_json::to_string(&Actor::Owner).unwrap(), "\"owner\"");
        let ana = person("ana", Role::Viewer);
        let text = serde_json::to_string(&ana).unwrap();
        assert_eq!(text, r#"{"person":{"name":"ana","role":"viewer"}}"#);
        assert_eq!(serde_json::from_str::<Actor>(&text).unwrap(), ana);
    }
}
