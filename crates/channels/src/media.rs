//! Prepares a medium for an adapter: checks it, and converts it to a form that the adapter accepts (AppServer protocol 06
//! §B4).
//!
//! Blocks on the disk. Files are those of the workspace; nothing is fetched from the web. A message contains at most
//! [`MAX_INLINE`] bytes of a medium.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_agent_api::channel::{ChatMedia, DeliveryError, DeliveryErrorCode, MediaSource};
use bobbin_agent_api::policy::{Judgement, PathAccess};
use tempfile::TempPath;
use url::Url;

use crate::descriptor::{Abilities, MediaAbility};
use crate::group::wire::{ChannelMessage, ChannelMessageKind, ChannelMessageSource};
use crate::host::Surroundings;

/// Most bytes of a medium inside of a message, so that their Base64 fits the queue of a connection.
const MAX_INLINE: u64 = 5 << 20;

/// A message that is ready to be sent.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) message: ChannelMessage,
    /// A temporary file of the message, removed when this is dropped.
    pub(crate) _file: Option<TempPath>,
}

/// A medium that the server can read.
enum Bytes {
    File(PathBuf, u64),
    Memory(Vec<u8>),
}

/// Returns the error of a delivery.
pub(crate) fn error(code: DeliveryErrorCode, message: impl Into<String>) -> DeliveryError {
    let message = message.into();
    DeliveryError { code, message }
}

/// Checks a medium and converts it to a form that the adapter accepts. Temporary files go into the temporary directory of
/// `place`.
///
/// # Errors
/// The adapter does not accept the medium, or it cannot be read.
pub(crate) fn prepare(
    media: ChatMedia,
    can: &Abilities,
    place: &Surroundings,
) -> Result<Prepared, DeliveryError> {
    use DeliveryErrorCode as Code;
    let kind = ChannelMessageKind::of(media.kind);
    let Some(ability) = can.media.get(&media.kind) else {
        let why = format!("the adapter takes no {}", kind.as_str());
        return Err(error(Code::UnsupportedDeliveryKind, why));
    };
    if media.caption.is_some() && !ability.supports_caption {
        let why = format!("the adapter takes no caption with a {}", kind.as_str());
        return Err(error(Code::UnsupportedDeliveryKind, why));
    }
    let file_name = media.file_name.clone().or_else(|| name_in(&media.source));
    let media_type = media.media_type.clone().or_else(|| {
        let guessed = mime_guess::from_path(file_name.as_deref()?).first()?;
        Some(guessed.essence_str().to_owned())
    });
    allowed(ability, file_name.as_deref(), media_type.as_deref())?;
    let (source, made) = match media.source {
        MediaSource::Url(address) => (from_url(address, ability)?, None),
        MediaSource::HostPath(path) => from_bytes(in_workspace(&path, place)?, ability, &place.temporary)?,
        MediaSource::DataBase64(text) => {
            let bytes = STANDARD
                .decode(text.trim())
                .map_err(|_| error(Code::MediaResolutionFailed, "'dataBase64' is not Base64"))?;
            from_bytes(Bytes::Memory(bytes), ability, &place.temporary)?
        }
        MediaSource::Artifact(id) => {
            let why = format!("there is no artifact {id:?}");
            return Err(error(Code::MediaArtifactNotFound, why));
        }
    };
    let message = ChannelMessage {
        kind,
        text: None,
        caption: media.caption,
        file_name,
        media_type,
        source: Some(source),
    };
    Ok(Prepared { message, _file: made })
}

fn name_in(source: &MediaSource) -> Option<String> {
    let path = match source {
        MediaSource::HostPath(path) => path.clone(),
        MediaSource::Url(address) => Url::parse(address).ok()?.path().to_owned(),
        MediaSource::DataBase64(_) | MediaSource::Artifact(_) => return None,
    };
    let name = Path::new(&path).file_name()?;
    Some(name.to_string_lossy().into_owned())
}

/// Checks a medium against the adapter's lists. A list does not allow an unknown type or extension.
fn allowed(
    ability: &MediaAbility,
    name: Option<&str>,
    media_type: Option<&str>,
) -> Result<(), DeliveryError> {
    let refuse = |what: &str, found: Option<&str>| {
        let found = found.unwrap_or("unknown");
        let why = format!("the adapter does not take media whose {what} is {found}");
        Err(error(DeliveryErrorCode::MediaTypeNotAllowed, why))
    };
    if let Some(types) = &ability.allowed_mime_types {
        let fits = |pattern: &String| match pattern.strip_suffix("/*") {
            Some(family) => media_type
                .and_then(|found| found.split_once('/'))
                .is_some_and(|(found, _)| found.eq_ignore_ascii_case(family)),
            None => media_type.is_some_and(|found| found.eq_ignore_ascii_case(pattern)),
        };
        if !types.iter().any(fits) {
            return refuse("type", media_type);
        }
    }
    if let Some(extensions) = &ability.allowed_extensions {
        let found = name
            .and_then(|name| Path::new(name).extension())
            .and_then(|found| found.to_str());
        let fits = |known: &String| {
            found.is_some_and(|found| found.eq_ignore_ascii_case(known.trim_start_matches('.')))
        };
        if !extensions.iter().any(fits) {
            return refuse("extension", found);
        }
    }
    Ok(())
}

fn from_url(address: String, ability: &MediaAbility) -> Result<ChannelMessageSource, DeliveryError> {
    use DeliveryErrorCode as Code;
    let parsed = Url::parse(&address).ok();
    if !parsed.is_some_and(|url| matches!(url.scheme(), "http" | "https")) {
        return Err(error(
            Code::MediaResolutionFailed,
            "'url' is no http or https address",
        ));
    }
    if !ability.supports_url {
        return Err(error(
            Code::UnsupportedMediaSource,
            "the adapter takes no media by address",
        ));
    }
    if ability.max_bytes.is_some() {
        let why = "the adapter limits the size, which is not known of a medium by address";
        return Err(error(Code::MediaResolutionFailed, why));
    }
    Ok(ChannelMessageSource::Url { url: address })
}

/// Finds a file in the workspace.
fn in_workspace(path: &str, place: &Surroundings) -> Result<Bytes, DeliveryError> {
    let cannot = |why: String| error(DeliveryErrorCode::MediaResolutionFailed, why);
    let root = &place.root;
    let found = root.join(path).canonicalize();
    let found = found.map_err(|why| cannot(format!("{path} cannot be read: {why}")))?;
    // `.craft` contains configuration, which may contain secrets.
    if !found.starts_with(root) || found.starts_with(root.join(".craft")) {
        return Err(cannot(format!("{path} is not a file of the workspace")));
    }
    // A request of a client is not a reason to override the user's rule.
    let ruling = place.policy.path(PathAccess::Read, &found, root);
    if let Some(ruling) = ruling.filter(|ruling| ruling.judgement == Judgement::Deny) {
        return Err(cannot(format!("{path} may not be read: {}", ruling.reason)));
    }
    let metadata = found
        .metadata()
        .map_err(|why| cannot(format!("{path} cannot be read: {why}")))?;
    if !metadata.is_file() {
        return Err(cannot(format!("{path} is not a file")));
    }
    Ok(Bytes::File(found, metadata.len()))
}

fn from_bytes(
    bytes: Bytes,
    ability: &MediaAbility,
    temporary: &Path,
) -> Result<(ChannelMessageSource, Option<TempPath>), DeliveryError> {
    use DeliveryErrorCode as Code;
    let cannot = |why: std::io::Error| {
        error(
            Code::MediaResolutionFailed,
            format!("the medium cannot be read: {why}"),
        )
    };
    let length = match &bytes {
        Bytes::File(_, length) => *length,
        Bytes::Memory(bytes) => bytes.len() as u64,
    };
    let too_large = |most: u64| {
        let why = format!("the medium has {length} bytes, and {most} are the most");
        Err(error(Code::MediaTooLarge, why))
    };
    if let Some(most) = ability.max_bytes.filter(|most| length > *most) {
        return too_large(most);
    }
    match bytes {
        Bytes::File(path, _) if ability.supports_host_path => {
            let host_path = path.to_string_lossy().into_owned();
            Ok((ChannelMessageSource::HostPath { host_path }, None))
        }
        Bytes::Memory(bytes) if ability.supports_host_path => {
            let mut file = tempfile::NamedTempFile::new_in(temporary).map_err(cannot)?;
            file.write_all(&bytes).map_err(cannot)?;
            let path = file.into_temp_path();
            let host_path = path.to_string_lossy().into_owned();
            Ok((ChannelMessageSource::HostPath { host_path }, Some(path)))
        }
        _ if !ability.supports_base64 => {
            let why = "the adapter takes neither a file nor its bytes";
            Err(error(Code::UnsupportedMediaSource, why))
        }
        _ if length > MAX_INLINE => too_large(MAX_INLINE),
        Bytes::File(path, _) => {
            let mut content = Vec::new();
            let file = File::open(path).map_err(cannot)?;
            file.take(MAX_INLINE).read_to_end(&mut content).map_err(cannot)?;
            let data_base64 = STANDARD.encode(content);
            Ok((ChannelMessageSource::DataBase64 { data_base64 }, None))
        }
        Bytes::Memory(bytes) => {
            let data_base64 = STANDARD.encode(bytes);
            Ok((ChannelMessageSource::DataBase64 { data_base64 }, None))
        }
    }
}

#[cfg(test)]
#[path = "media_tests.rs"]
mod tests;
