use std::sync::Arc;

use bobbin_agent_api::channel::MediaKind;
use bobbin_agent_api::policy::{CommandRuling, NoRules, Policy, Ruling};
use bobbin_children::Environment;

use super::*;

fn can(ability: MediaAbility) -> Abilities {
    Abilities {
        delivers: true,
        media: [(MediaKind::Image, ability)].into(),
        ..Abilities::default()
    }
}

fn picture(source: MediaSource) -> ChatMedia {
    ChatMedia {
        kind: MediaKind::Image,
        caption: None,
        file_name: None,
        media_type: None,
        source,
    }
}

/// Refuses files with keys.
#[derive(Debug)]
struct NoKeys;

impl Policy for NoKeys {
    fn command(&self, command: &str, root: &Path) -> CommandRuling {
        NoRules.command(command, root)
    }

    fn path(&self, access: PathAccess, path: &Path, _root: &Path) -> Option<Ruling> {
        let is_key = access == PathAccess::Read && path.ends_with("key.png");
        is_key.then(|| Ruling {
            judgement: Judgement::Deny,
            reason: "a rule says so".to_owned(),
            rule: None,
        })
    }

    fn tool(&self, _name: &str) -> Option<Ruling> {
        None
    }
}

struct Place {
    _directory: tempfile::TempDir,
    root: PathBuf,
    temporary: PathBuf,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let [root, temporary] = ["work", "tmp"].map(|name| base.join(name));
        for path in [&root, &temporary, &root.join(".craft")] {
            std::fs::create_dir(path).unwrap();
        }
        std::fs::write(root.join("roof.png"), "four").unwrap();
        std::fs::write(root.join("key.png"), "key").unwrap();
        std::os::unix::fs::symlink("key.png", root.join("to-key.png")).unwrap();
        std::fs::write(root.join(".craft/config.json"), "{}").unwrap();
        std::fs::write(base.join("outside.png"), "x").unwrap();
        std::os::unix::fs::symlink("../outside.png", root.join("link.png")).unwrap();
        Self {
            _directory: directory,
            root,
            temporary,
        }
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings {
            root: self.root.clone(),
            environment: Environment::empty(),
            temporary: self.temporary.clone(),
            policy: Arc::new(NoKeys),
            modules: None,
        }
    }

    fn prepare(&self, media: ChatMedia, ability: MediaAbility) -> Result<Prepared, DeliveryErrorCode> {
        let prepared = prepare(media, &can(ability), &self.surroundings());
        prepared.map_err(|error| error.code)
    }
}

#[test]
fn what_an_adapter_does_not_take_is_refused_with_its_code() {
    use DeliveryErrorCode as Code;
    let place = Place::new();
    let path = |path: &str| picture(MediaSource::HostPath(path.to_owned()));
    let url = |url: &str| picture(MediaSource::Url(url.to_owned()));
    let any = MediaAbility {
        supports_host_path: true,
        supports_base64: true,
        supports_url: true,
        ..MediaAbility::default()
    };
    let but = |change: fn(&mut MediaAbility)| {
        let mut ability = any.clone();
        change(&mut ability);
        ability
    };
    let captioned = ChatMedia {
        caption: Some("hi".to_owned()),
        ..path("roof.png")
    };
    let video = ChatMedia {
        kind: MediaKind::Video,
        ..path("roof.png")
    };
    let table = [
        (captioned, any.clone(), Code::UnsupportedDeliveryKind),
        (video, any.clone(), Code::UnsupportedDeliveryKind),
        (path("none.png"), any.clone(), Code::MediaResolutionFailed),
        (path("../outside.png"), any.clone(), Code::MediaResolutionFailed),
        (path("link.png"), any.clone(), Code::MediaResolutionFailed),
        (path("."), any.clone(), Code::MediaResolutionFailed),
        // A rule refuses reads of this file under any name.
        (path("key.png"), any.clone(), Code::MediaResolutionFailed),
        (path("to-key.png"), any.clone(), Code::MediaResolutionFailed),
        (
            path(".craft/config.json"),
            any.clone(),
            Code::MediaResolutionFailed,
        ),
        (
            path("roof.png"),
            but(|can| can.max_bytes = Some(3)),
            Code::MediaTooLarge,
        ),
        (
            path("roof.png"),
            MediaAbility::default(),
            Code::UnsupportedMediaSource,
        ),
        (
            path("roof.png"),
            but(|can| can.allowed_mime_types = Some(vec!["image/jpeg".to_owned()])),
            Code::MediaTypeNotAllowed,
        ),
        (
            path("roof.png"),
            but(|can| can.allowed_extensions = Some(vec![".jpg".to_owned()])),
            Code::MediaTypeNotAllowed,
        ),
        (
            picture(MediaSource::DataBase64("AAAA".to_owned())),
            but(|can| can.allowed_mime_types = Some(vec!["image/*".to_owned()])),
            Code::MediaTypeNotAllowed,
        ),
        (
            picture(MediaSource::DataBase64("?".to_owned())),
            any.clone(),
            Code::MediaResolutionFailed,
        ),
        (
            url("ftp://example.org/x.png"),
            any.clone(),
            Code::MediaResolutionFailed,
        ),
        (
            url("https://example.org/x.png"),
            but(|can| can.supports_url = false),
            Code::UnsupportedMediaSource,
        ),
        (
            url("https://example.org/x.png"),
            but(|can| can.max_bytes = Some(1 << 20)),
            Code::MediaResolutionFailed,
        ),
        (
            picture(MediaSource::Artifact("a1".to_owned())),
            any.clone(),
            Code::MediaArtifactNotFound,
        ),
    ];
    for (media, ability, code) in table {
        let shown = format!("{media:?} {ability:?}");
        assert_eq!(place.prepare(media, ability).unwrap_err(), code, "{shown}");
    }
}

#[test]
fn an_adapter_gets_the_first_form_that_it_takes() {
    let place = Place::new();
    let file = || picture(MediaSource::HostPath("roof.png".to_owned()));
    let bytes = || picture(MediaSource::DataBase64(STANDARD.encode("four")));
    let paths = MediaAbility {
        supports_host_path: true,
        supports_base64: true,
        allowed_mime_types: None,
        ..MediaAbility::default()
    };
    let inline = MediaAbility {
        supports_base64: true,
        ..MediaAbility::default()
    };
    let prepared = place.prepare(file(), paths.clone()).unwrap();
    let host_path = place.root.join("roof.png").to_string_lossy().into_owned();
    assert_eq!(
        prepared.message.source,
        Some(ChannelMessageSource::HostPath { host_path })
    );
    assert_eq!(prepared.message.media_type.as_deref(), Some("image/png"));
    assert_eq!(prepared.message.file_name.as_deref(), Some("roof.png"));
    for media in [file(), bytes()] {
        let prepared = place.prepare(media, inline.clone()).unwrap();
        let data_base64 = STANDARD.encode("four");
        assert_eq!(
            prepared.message.source,
            Some(ChannelMessageSource::DataBase64 { data_base64 })
        );
    }
    let prepared = place.prepare(bytes(), paths).unwrap();
    let Some(ChannelMessageSource::HostPath { host_path }) = &prepared.message.source else {
        panic!("{prepared:?}");
    };
    assert_eq!(std::fs::read(host_path).unwrap(), b"four");
    drop(prepared);
    let left = std::fs::read_dir(&place.temporary).unwrap().count();
    assert_eq!(left, 0, "the file is removed with the message");
}
