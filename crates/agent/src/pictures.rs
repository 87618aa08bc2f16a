//! Reads the pictures that a conversation names, for models that accept pictures.
//!
//! A part of a message names a file or a web address. Each run reads it when a model first needs it, and never stores
//! it: the model sees the file's present content. A file is read only if a tool could read it without approval; its
//! first bytes, not its name, decide its type. Anything else stays a name, as for models without vision.
//!
//! [`fetch_picture`] fetches pictures of the web, unless a rule forbids the place; at most [`AT_ONCE`] at once.
//!
//! Bounded by [`MAX_PICTURES`] and [`MAX_BYTES`] in a request, the newest first.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_agent_api::TurnGone;
use bobbin_agent_api::model::{Message, Picture, PictureSource};
use bobbin_agent_api::picture::{MAX_PICTURE_BYTES, media_type};
use bobbin_agent_api::policy::Policy;
use bobbin_agent_api::tool::{Permission, ToolEnvironment};
use bobbin_model::{InputPart, ItemBody};
use futures_util::StreamExt as _;

use super::turn::TurnRun;
use bobbin_files::open_file;
use bobbin_tools::{Access, locate, reach_for_a_person};
use bobbin_web::{fetch_picture, parse};

/// Most pictures in a conversation.
const MAX_PICTURES: usize = 20;
/// Most bytes of their files together (guess: half of the strictest provider's limit for a request).
const MAX_BYTES: usize = 12 << 20;

/// Pictures fetched from the web at once.
const AT_ONCE: usize = 4;

/// Why the remaining pictures are not shown.
const TOO_MANY: &str = "there are too many of them";

/// Whether the user is notified of a picture that the model does not get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PictureNotice {
    Yes,
    /// Of those alone that the newest message is the first to name.
    New,
    No,
}

impl TurnRun {
    /// Adds the pictures of the last round's results to the conversation, behind these results.
    pub(super) async fn show_pictures(&mut self) -> Result<(), TurnGone> {
        let Some(message) = of_results(std::mem::take(&mut self.shown)) else {
            return Ok(());
        };
        let environment = self.turn.environment();
        if !self.model.sees_pictures(environment.config.model.as_deref()) {
            // The results say that there are pictures.
            return Ok(());
        }
        self.messages.push(message);
        self.read_pictures(PictureNotice::Yes).await
    }

    /// Reads the pictures that the conversation names and this run has not tried yet, if the model accepts any.
    pub(super) async fn read_pictures(&mut self, notice: PictureNotice) -> Result<(), TurnGone> {
        let turn = self.turn.clone();
        if !self
            .model
            .sees_pictures(turn.environment().config.model.as_deref())
        {
            return self.name_unseen(notice).await;
        }
        let named = sources(&self.messages);
        let old = self.named_before(notice);
        let wanted: Vec<PictureSource> = named
            .into_iter()
            .filter(|source| !self.pictures.knows(source))
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let environment = turn.environment().clone();
        let room = (
            MAX_PICTURES.saturating_sub(self.pictures.count()),
            MAX_BYTES.saturating_sub(self.pictures.bytes()),
        );
        let wanted = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Ok(()),
            wanted = fetch_all(&*environment.policy, wanted, room.0) => wanted,
        };
        let reading = tokio::task::spawn_blocking(move || read_all(&environment, wanted, room));
        let read = reading.await.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot read the pictures of a conversation");
            Vec::new()
        });
        for (source, picture) in read {
            let picture = match picture {
                Ok(picture) => Some(picture),
                Err(why) => {
                    if notice != PictureNotice::No && !old.contains(&source) {
                        let message =
                            format!("The model is not shown the picture {:?}: {why}.", source.name());
                        let note = ItemBody::Error {
                            message,
                            code: "picture_not_shown".to_owned(),
                            fatal: false,
                        };
                        turn.add(note).await?;
                    }
                    None
                }
            };
            self.pictures.insert(source, picture);
        }
        Ok(())
    }
}

impl TurnRun {
    /// Returns the pictures that the user was notified of when they were new, if they failed then.
    fn named_before(&self, notice: PictureNotice) -> Vec<PictureSource> {
        match (notice, self.messages.split_last()) {
            (PictureNotice::New, Some((_, before))) => sources(before),
            _ => Vec::new(),
        }
    }

    /// Notifies the user, once, of pictures in the newest message that a model without vision gets as names.
    async fn name_unseen(&mut self, notice: PictureNotice) -> Result<(), TurnGone> {
        let Some(Message::User { parts }) = self.messages.last() else {
            return Ok(());
        };
        let old = self.named_before(notice);
        let mut names = Vec::new();
        for part in parts {
            let Some(source) = PictureSource::of(part).filter(|source| !self.pictures.knows(source)) else {
                continue;
            };
            if old.contains(&source) {
                continue;
            }
            names.push(match part {
                InputPart::LocalImage {
                    file_name: Some(name),
                    ..
                } => name.clone(),
                _ => source.name().to_owned(),
            });
            self.pictures.insert(source, None);
        }
        if notice != PictureNotice::No && !names.is_empty() {
            let note = ItemBody::Error {
                message: format!(
                    "This model does not see pictures. It gets their names alone: {}.",
                    names.join(", ")
                ),
                code: "picture_not_shown".to_owned(),
                fatal: false,
            };
            self.turn.add(note).await?;
        }
        Ok(())
    }
}

/// Returns the message with the pictures of results; the wires have no place for them in the results.
pub(super) fn of_results(paths: Vec<String>) -> Option<Message> {
    if paths.is_empty() {
        return None;
    }
    let said = InputPart::Text {
        text: "[pictures of the last results]\n".to_owned(),
    };
    let picture = |path| InputPart::LocalImage {
        path,
        mime_type: None,
        file_name: None,
    };
    let parts = std::iter::once(said).chain(paths.into_iter().map(picture));
    Some(Message::User {
        parts: parts.collect(),
    })
}

/// Returns the sources of the pictures in messages, the newest first, without duplicates.
fn sources(messages: &[Message]) -> Vec<PictureSource> {
    let parts = messages.iter().rev().flat_map(|message| match message {
        Message::User { parts } => parts.as_slice(),
        Message::Agent { .. } | Message::Result { .. } => &[],
    });
    let mut sources: Vec<PictureSource> = Vec::new();
    for source in parts.filter_map(PictureSource::of) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources
}

/// A picture to be read, with its bytes if it was fetched.
type Wanted = (PictureSource, Option<Result<Vec<u8>, String>>);

/// Fetches the pictures of the web in order, at most `count`.
async fn fetch_all(policy: &dyn Policy, wanted: Vec<PictureSource>, count: usize) -> Vec<Wanted> {
    let fetched = wanted.into_iter().enumerate().map(|(place, source)| async move {
        let bytes = match &source {
            PictureSource::Web(url) if place < count => Some(fetch_one(policy, url).await),
            PictureSource::Web(_) => Some(Err(TOO_MANY.to_owned())),
            PictureSource::File(_) => None,
        };
        (source, bytes)
    });
    futures_util::stream::iter(fetched)
        .buffered(AT_ONCE)
        .collect()
        .await
}

async fn fetch_one(policy: &dyn Policy, url: &str) -> Result<Vec<u8>, String> {
    let url = parse(url)?;
    let reach = reach_for_a_person(&url, policy)?;
    fetch_picture(url, reach, MAX_PICTURE_BYTES).await
}

type ReadPictures = Vec<(PictureSource, Result<Picture, String>)>;

fn read_all(environment: &ToolEnvironment, wanted: Vec<Wanted>, room: (usize, usize)) -> ReadPictures {
    let (mut count, mut bytes) = room;
    let one = |(source, fetched): Wanted| {
        if count == 0 {
            return (source, Err(TOO_MANY.to_owned()));
        }
        let most = bytes.min(MAX_PICTURE_BYTES);
        let picture = match fetched {
            Some(fetched) => fetched.and_then(|bytes| picture(bytes, most)),
            None => read(environment, source.name(), most),
        };
        if let Ok(picture) = &picture {
            count -= 1;
            bytes -= picture.base64.len() / 4 * 3;
        }
        (source, picture)
    };
    wanted.into_iter().map(one).collect()
}

/// Reads one file, or returns the reason why not as half a sentence.
fn read(environment: &ToolEnvironment, path: &str, most: usize) -> Result<Picture, String> {
    let (target, permission) =
        locate(environment, path, Access::Read).map_err(|refusal| refusal.to_string())?;
    if permission != Permission::Free {
        return Err(
            "it lies outside the workspace or in a reserved place, or a rule wants a question first"
                .to_owned(),
        );
    }
    let path = target.confirm()?;
    let cannot = |error: std::io::Error| format!("it cannot be read ({error})");
    let mut bytes = Vec::new();
    open_file(path)
        .and_then(|file| file.take(most as u64 + 1).read_to_end(&mut bytes))
        .map_err(cannot)?;
    picture(bytes, most)
}

/// Returns bytes as a picture, or the reason why not as half a sentence.
fn picture(bytes: Vec<u8>, most: usize) -> Result<Picture, String> {
    if bytes.len() > most {
        return Err(format!("it has more than {most} bytes"));
    }
    let media_type = media_type(&bytes).ok_or("it is no PNG, JPEG, GIF or WebP file")?;
    Ok(Picture {
        media_type,
        base64: STANDARD.encode(bytes),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bobbin_agent_api::policy::NoRules;
    use bobbin_agent_api::tool::OutsideWorkspace;
    use bobbin_model::{ApprovalPolicy, Mode};

    use super::*;

    fn environment(root: &std::path::Path) -> ToolEnvironment {
        ToolEnvironment {
            root: root.to_owned(),
            mode: Mode::Agent,
            outside_workspace: OutsideWorkspace::Ask,
            config: Arc::default(),
            policy: Arc::new(NoRules),
            approvals: ApprovalPolicy::Default,
            clients: bobbin_agent_api::client::ThreadClients::default(),
        }
    }

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

    #[test]
    fn the_first_bytes_say_what_a_file_is() {
        for (bytes, expected) in [
            (PNG, Some("image/png")),
            (b"\xff\xd8\xff\xe0".as_slice(), Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"<svg/>", None),
            (b"", None),
        ] {
            assert_eq!(media_type(bytes), expected);
        }
    }

    #[test]
    fn only_what_a_tool_might_read_unasked_is_shown() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("w");
        std::fs::create_dir_all(root.join(".craft")).unwrap();
        std::fs::create_dir_all(root.join(".craft/attachments/images")).unwrap();
        let pasted = ".craft/attachments/images/3f.png";
        for path in ["../out.png", "in.png", ".craft/own.png", pasted] {
            std::fs::write(root.join(path), PNG).unwrap();
        }
        std::fs::write(root.join("text.png"), "no picture").unwrap();
        std::fs::write(root.join("big.png"), [PNG, &[0; 100]].concat()).unwrap();
        std::os::unix::fs::symlink("../out.png", root.join("link.png")).unwrap();
        let environment = environment(&root);
        let read = |path: &str| super::read(&environment, path, 64);
        std::os::unix::fs::symlink("../own.png", root.join(".craft/attachments/link.png")).unwrap();
        assert!(read(pasted).is_ok());
        let shown = read("in.png").unwrap();
        assert_eq!(
            (
                shown.media_type,
                STANDARD.decode(shown.base64).unwrap().as_slice()
            ),
            ("image/png", PNG)
        );
        for (path, why) in [
            ("../out.png", "outside"),
            ("link.png", "outside"),
            (".craft/own.png", "reserved"),
            (".craft/attachments/link.png", "reserved"),
            ("text.png", "no PNG"),
            ("big.png", "more than 64"),
            (".", "directory"),
            ("gone.png", "cannot be read"),
        ] {
            let said = read(path).unwrap_err();
            assert!(said.contains(why), "{path}: {said}");
        }
    }

    #[test]
    fn the_newest_have_the_room() {
        let part = |path: &str| InputPart::LocalImage {
            path: path.into(),
            mime_type: None,
            file_name: None,
        };
        let said = |paths: &[&str]| Message::User {
            parts: paths.iter().map(|path| part(path)).collect(),
        };
        let named = sources(&[said(&["a", "b"]), said(&["c", "a"])]);
        let names: Vec<&str> = named.iter().map(PictureSource::name).collect();
        assert_eq!(names, ["c", "a", "b"]);
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for path in ["a", "b", "c"] {
            std::fs::write(root.join(path), PNG).unwrap();
        }
        let environment = environment(&root);
        let names = || {
            ["a", "b", "c"]
                .map(|path| (PictureSource::File(path.into()), None))
                .to_vec()
        };
        let shown = |room| -> Vec<bool> {
            let read = read_all(&environment, names(), room);
            read.iter().map(|(_, picture)| picture.is_ok()).collect()
        };
        assert_eq!(shown((2, 1000)), [true, true, false]);
        assert_eq!(shown((9, PNG.len() + 3)), [true, false, false]);
    }
    #[tokio::test]
    async fn a_picture_of_the_web_is_told_by_its_bytes_and_those_that_cannot_be_had_say_why() {
        let place = tempfile::tempdir().unwrap();
        let environment = environment(&place.path().canonicalize().unwrap());
        let web = |url: &str| PictureSource::Web(url.to_owned());
        // The address is this machine's, with no listener and no approval.
        let wanted = vec![
            web("http://127.0.0.1:9/pot.png"),
            web("data:image/png;base64,AA"),
            web("three"),
        ];
        let fetched = fetch_all(&NoRules, wanted, 2).await;
        let said: Vec<String> = read_all(&environment, fetched, (9, 1000))
            .into_iter()
            .map(|(_, picture)| picture.unwrap_err())
            .collect();
        for (said, why) in said.iter().zip(["refused: ", "only http", TOO_MANY]) {
            assert!(said.contains(why), "{said}");
        }
        let shown = picture(PNG.to_vec(), 64).unwrap();
        assert_eq!(shown.media_type, "image/png");
    }
}
