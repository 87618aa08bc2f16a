//! Admits browsers without the token: codes, devices, tickets, and the sockets that are open with them.
//!
//! Codes and tickets are in memory, a few at a time; devices are in the [record](DeviceFile). A WebSocket ends when its
//! device is revoked, by whichever server or command that was: [`Devices::watch`] looks once a second.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::Clock;
use bobbin_model::UnixMillis;
use bobbin_people::People;
use bobbin_transport::{Admitted, Denied, Guests, PageOrigin};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::file::{Device, DeviceFile, FileError, Presented};
use crate::once::OneTime;

/// How long a code counts.
const CODE_LIFETIME: Duration = Duration::from_mins(5);
/// How long a ticket counts.
pub(crate) const TICKET_LIFETIME: Duration = Duration::from_secs(30);
/// Codes at once (guess: one for each terminal and each phone that is being paired).
const MAX_CODES: usize = 16;
/// Tickets at once (guess: many more than one user's browsers ask for in their 30 seconds).
const MAX_TICKETS: usize = 256;
/// How long a revoked device may still be connected, where another process has revoked it.
const WATCH: Duration = Duration::from_secs(1);
/// Random bytes of a secret or a ticket.
const SECRET_BYTES: usize = 32;
/// Letters of a code. 50 bits are enough: in its five minutes an attacker has some 15,000 late answers.
const CODE_LETTERS: usize = 10;
/// The characters of codes: no character looks like another (Crockford's base 32).
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Longest name of a device, in characters.
const MAX_LABEL: usize = 64;

/// The way in for browsers. Clones are the same.
#[derive(Clone)]
pub struct Devices(Arc<Inner>);

struct Inner {
    file: DeviceFile,
    people: People,
    page: PageOrigin,
    clock: Arc<dyn Clock>,
    codes: Mutex<OneTime<Invited>>,
    tickets: Mutex<OneTime<Ticket>>,
    /// Tokens that end the WebSockets of each device that has asked for one, by the device's id.
    open: Mutex<HashMap<String, CancellationToken>>,
}

/// The device that a code lets in.
#[derive(Debug, Default)]
pub struct Invited {
    /// The name that it will have.
    pub label: Option<String>,
    /// The person whose it will be; the user of the server without one.
    pub person: Option<String>,
}

/// The client of a ticket.
#[derive(Debug, Clone)]
struct Ticket {
    /// The id, the label and the person of a device that is not the user's own.
    guest: Option<(String, String, String)>,
    until: CancellationToken,
}

/// A code that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The code as its user reads it.
    pub text: String,
    /// When it does not count any more.
    pub expires_at: UnixMillis,
}

/// A paired device.
#[derive(Debug, Clone)]
pub struct Entered {
    /// The secret that it presents from now on.
    pub secret: String,
    /// The device.
    pub device: Device,
}

/// Why a device does not get in.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The code or the secret does not count.
    #[error("it does not count, or not any more")]
    Wrong,
    /// The person is not in the record.
    #[error("there is nobody called {0}; `bobbin people add` adds one")]
    NoPerson(String),
    /// The record of devices cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The system has no random numbers.
    #[error("there are no random numbers: {0}")]
    Random(#[from] getrandom::Error),
    /// The server ends.
    #[error("the server ends")]
    Ended,
}

impl Devices {
    /// Returns the way in of a server whose page is at `page`, with the record of its user.
    pub fn new(file: DeviceFile, people: People, page: PageOrigin, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            file,
            people,
            page,
            clock,
            codes: Mutex::new(OneTime::new(CODE_LIFETIME, MAX_CODES)),
            tickets: Mutex::new(OneTime::new(TICKET_LIFETIME, MAX_TICKETS)),
            open: Mutex::default(),
        }))
    }

    /// Makes a code that lets one device in.
    ///
    /// # Errors
    /// There is no such person, or the system has no random numbers.
    pub fn invite(&self, invited: Invited) -> Result<Code, DeviceError> {
        if let Some(person) = invited
            .person
            .as_ref()
            .filter(|person| !self.0.people.has(person))
        {
            return Err(DeviceError::NoPerson(person.clone()));
        }
        let mut random = [0; CODE_LETTERS];
        getrandom::fill(&mut random)?;
        let letters = random.map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
        let code = String::from_iter(letters);
        let label = invited.label.as_deref().and_then(clean);
        self.0.codes.lock().add(&code, Invited { label, ..invited });
        let (front, back) = code.split_at(CODE_LETTERS / 2);
        let lifetime = i64::try_from(CODE_LIFETIME.as_millis()).unwrap_or_default();
        Ok(Code {
            text: format!("{front}-{back}"),
            expires_at: UnixMillis(self.0.clock.now().0 + lifetime),
        })
    }

    /// Lets a device in that has a code. Its secret counts for pages of `origin`. The device is called `label` if the code
    /// has no name for it.
    ///
    /// # Errors
    /// The code does not count, or the record cannot be written.
    pub async fn enter(&self, code: &str, origin: &str, label: &str) -> Result<Entered, DeviceError> {
        let code = read_code(code);
        let invited = self.0.codes.lock().take(code.as_bytes());
        let invited = invited.ok_or(DeviceError::Wrong)?;
        let label = invited.label.unwrap_or_else(|| label.to_owned());
        let person = invited.person;
        let secret = random()?;
        let (now, added, origin) = (self.0.clock.now(), secret.clone(), origin.to_owned());
        let device = self
            .with_file(move |file| file.add(&added, &origin, (&label, person), now))
            .await?;
        tracing::info!(id = device.id, "a device was paired");
        Ok(Entered { secret, device })
    }

    /// Returns a ticket for a device whose page of this origin has this secret.
    ///
    /// # Errors
    /// The secret does not count, or the record cannot be read.
    pub async fn ticket(&self, secret: &str, origin: &str) -> Result<String, DeviceError> {
        let now = self.0.clock.now();
        let presented = Presented {
            secret: secret.to_owned(),
            origin: origin.to_owned(),
            // Others may have read it at the origin that it was given to, unless nobody else was here.
            takes_unnamed: self.0.page == PageOrigin::Stable,
        };
        let device = self.with_file(move |file| file.used(&presented, now)).await?;
        let device = device.ok_or(DeviceError::Wrong)?;
        if device
            .person
            .as_ref()
            .is_some_and(|person| !self.0.people.has(person))
        {
            return Err(DeviceError::Wrong);
        }
        let until = self.0.open.lock().entry(device.id.clone()).or_default().clone();
        let guest = device.person.map(|person| (device.id, device.label, person));
        self.give(Ticket { guest, until })
    }

    /// Returns a ticket for a browser that needs no secret.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn free_ticket(&self) -> Result<String, DeviceError> {
        self.give(Ticket {
            guest: None,
            until: CancellationToken::new(),
        })
    }

    fn give(&self, stands_for: Ticket) -> Result<String, DeviceError> {
        let ticket = random()?;
        self.0.tickets.lock().add(&ticket, stands_for);
        Ok(ticket)
    }

    /// Returns the devices, in the order in which they were paired.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn list(&self) -> Result<Vec<Device>, DeviceError> {
        self.with_file(DeviceFile::read).await
    }

    /// Removes devices by their ids, or all, and ends their WebSockets. Returns those that are left.
    ///
    /// # Errors
    /// The record cannot be written.
    pub async fn revoke(&self, ids: Option<Vec<String>>) -> Result<Vec<Device>, DeviceError> {
        let left = self.with_file(move |file| file.revoke(ids.as_deref())).await?;
        self.cut_all_but(&left);
        Ok(left)
    }

    /// Removes the devices of pages with a fresh name at this port: those of listeners that have ended, and of this one when
    /// it ends.
    ///
    /// # Errors
    /// The record cannot be written.
    pub async fn forget_fresh(&self, port: u16) -> Result<(), DeviceError> {
        self.with_file(move |file| file.forget_fresh(port)).await
    }

    /// Ends the WebSockets of devices that other processes revoke, and those of people as [`People::watch`]. Runs until it is
    /// dropped.
    pub async fn watch(&self) {
        tokio::join!(self.0.people.watch(), self.watch_devices());
    }

    async fn watch_devices(&self) {
        loop {
            tokio::time::sleep(WATCH).await;
            if self.0.open.lock().is_empty() {
                continue;
            }
            match self.list().await {
                Ok(devices) => self.cut_all_but(&devices),
                Err(error) => tracing::warn!(%error, "it is not known which devices were revoked"),
            }
        }
    }

    fn cut_all_but(&self, devices: &[Device]) {
        self.0.open.lock().retain(|id, until| {
            let stays = devices.iter().any(|device| device.id == *id);
            if !stays {
                tracing::info!(id, "a device was revoked");
                until.cancel();
            }
            stays
        });
    }

    async fn with_file<R: Send + 'static>(
        &self,
        job: impl FnOnce(&DeviceFile) -> Result<R, FileError> + Send + 'static,
    ) -> Result<R, DeviceError> {
        let file = self.0.file.clone();
        let done = tokio::task::spawn_blocking(move || job(&file)).await;
        Ok(done.map_err(|_| DeviceError::Ended)??)
    }
}

impl Guests for Devices {
    fn ticket(&self, ticket: &[u8], path: &str) -> Result<Admitted, Denied> {
        let ticket = self.0.tickets.lock().take(ticket).ok_or(Denied::WrongTicket)?;
        match ticket.guest {
            None => Ok(Admitted {
                until: ticket.until,
                ..Admitted::default()
            }),
            Some((id, label, person)) => self
                .0
                .people
                .of_device(&person, (&id, &label), path, &ticket.until),
        }
    }

    fn token(&self, token: &[u8], path: &str) -> Result<Admitted, Denied> {
        self.0.people.of_token(token, path)
    }
}

/// Returns a code as it was made, of what a user has typed.
fn read_code(typed: &str) -> String {
    let letters = typed
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(CODE_LETTERS + 1);
    letters
        .map(|letter| match letter.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        })
        .collect()
}

/// Returns a name in one line, without what acts on a terminal; `None` where nothing is left.
fn clean(label: &str) -> Option<String> {
    let label = label.trim();
    let visible = label.chars().filter(|c| !bobbin_model::visible::acts(*c));
    let label: String = visible.take(MAX_LABEL).collect();
    (!label.is_empty()).then_some(label)
}

fn random() -> Result<String, getrandom::Error> {
    let mut random = [0; SECRET_BYTES];
    getrandom::fill(&mut random)?;
    Ok(hex::encode(random))
}

#[cfg(test)]
mod tests {
    use bobbin_model::Role;
    use bobbin_people::{PeopleFile, Scope};
    use bobbin_testkit::ManualClock;
    use tempfile::TempDir;

    use super::*;

    const HERE: &str = "http://127.0.0.1:9100";

    fn devices() -> (TempDir, Devices) {
        let state = tempfile::tempdir().unwrap();
        let file = DeviceFile::of(state.path());
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
        let people = People::new(PeopleFile::of(state.path()), Scope::Node, clock.clone());
        (state, Devices::new(file, people, PageOrigin::Stable, clock))
    }

    async fn entered(devices: &Devices) -> Entered {
        let code = devices.invite(Invited::default()).unwrap();
        devices.enter(&code.text, HERE, "Firefox").await.unwrap()
    }

    fn labelled(label: &str) -> Invited {
        Invited {
            label: Some(label.to_owned()),
            person: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_lets_one_device_in_within_five_minutes() {
        let (_state, devices) = devices();
        let wrong = |entered: Result<Entered, DeviceError>| matches!(entered, Err(DeviceError::Wrong));
        let code = devices.invite(Invited::default()).unwrap().text;
        assert_eq!((code.len(), &code[5..6]), (11, "-"));
        assert!(wrong(devices.enter("", HERE, "").await));
        assert!(wrong(devices.enter(&format!("{code}0"), HERE, "").await));
        let typed = format!(" {} ", code.to_lowercase().replace('-', " ").replace('0', "o"));
        let entered = devices.enter(&typed, HERE, "Firefox").await.unwrap();
        assert_eq!(entered.device.label, "Firefox");
        assert!(wrong(devices.enter(&code, HERE, "").await), "used");
        let late = devices.invite(Invited::default()).unwrap().text;
        tokio::time::advance(CODE_LIFETIME).await;
        assert!(wrong(devices.enter(&late, HERE, "").await), "too late");
        let named = devices.invite(labelled("\u{1b}[2Jphone\n")).unwrap().text;
        let entered = devices.enter(&named, HERE, "Firefox").await.unwrap();
        assert_eq!(entered.device.label, "[2Jphone");
    }

    #[tokio::test(start_paused = true)]
    async fn a_ticket_counts_once_for_thirty_seconds_and_no_longer_than_its_device() {
        let (_state, devices) = devices();
        let Entered { secret, device } = entered(&devices).await;
        let redeem = |ticket: &[u8]| Guests::ticket(&devices, ticket, "/ws");
        assert!(matches!(
            devices.ticket("other", HERE).await,
            Err(DeviceError::Wrong)
        ));
        let ticket = devices.ticket(&secret, HERE).await.unwrap();
        assert_eq!(redeem(b"other").map(drop), Err(Denied::WrongTicket));
        let until = redeem(ticket.as_bytes()).unwrap().until;
        assert!(redeem(ticket.as_bytes()).is_err(), "used");
        let late = devices.ticket(&secret, HERE).await.unwrap();
        tokio::time::advance(TICKET_LIFETIME).await;
        assert!(redeem(late.as_bytes()).is_err(), "too late");
        let unused = devices.ticket(&secret, HERE).await.unwrap();
        assert!(!until.is_cancelled());
        devices.revoke(Some(vec![device.id])).await.unwrap();
        assert!(until.is_cancelled());
        let unused = redeem(unused.as_bytes()).unwrap().until;
        assert!(
            unused.is_cancelled(),
            "a ticket of a revoked device opens nothing"
        );
        assert!(matches!(
            devices.ticket(&secret, HERE).await,
            Err(DeviceError::Wrong)
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn a_device_that_another_process_revokes_is_cut_within_a_second() {
        let (state, devices) = devices();
        let (stays, goes) = (entered(&devices).await, entered(&devices).await);
        let mut open = Vec::new();
        for device in [&stays, &goes] {
            let ticket = devices.ticket(&device.secret, HERE).await.unwrap();
            open.push(Guests::ticket(&devices, ticket.as_bytes(), "/ws").unwrap().until);
        }
        let watching = devices.clone();
        let watching = tokio::spawn(async move { watching.watch().await });
        let elsewhere = DeviceFile::of(state.path());
        elsewhere.revoke(Some(&[goes.device.id])).unwrap();
        open[1].cancelled().await;
        assert!(!open[0].is_cancelled());
        watching.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_browser_of_a_person_has_the_role_of_the_person_for_as_long_as_there_is_one() {
        let (state, devices) = devices();
        let of_ana = || Invited {
            label: Some("phone".to_owned()),
            person: Some("ana".to_owned()),
        };
        assert!(matches!(devices.invite(of_ana()), Err(DeviceError::NoPerson(_))));
        let people = PeopleFile::of(state.path());
        people.give("ana", Role::Approver, None).unwrap();
        let code = devices.invite(of_ana()).unwrap();
        let entered = devices.enter(&code.text, HERE, "Safari").await.unwrap();
        assert_eq!(entered.device.person.as_deref(), Some("ana"));
        let ticket = devices.ticket(&entered.secret, HERE).await.unwrap();
        let admitted = Guests::ticket(&devices, ticket.as_bytes(), "/ws").unwrap();
        let person = admitted.actor.person().unwrap();
        assert_eq!(
            (person.role, person.device.as_deref()),
            (Role::Approver, Some("phone"))
        );
        let unused = devices.ticket(&entered.secret, HERE).await.unwrap();
        people.remove("ana").unwrap();
        let late = Guests::ticket(&devices, unused.as_bytes(), "/ws");
        assert_eq!(late.map(drop), Err(Denied::NoRole));
        let gone = devices.ticket(&entered.secret, HERE).await;
        assert!(matches!(gone, Err(DeviceError::Wrong)));
    }
}
