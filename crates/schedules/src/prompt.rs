//! The prompt of a run.

use std::path::Path;

use bobbin_model::InputPart;
pub(crate) use bobbin_prompts::front_matter;

use crate::job::{Job, Kind};
use crate::owner::Surroundings;

/// File in the workspace with the instructions of the heartbeat.
const HEARTBEAT: &str = "HEARTBEAT.md";
/// Most bytes of that file.
const MAX_HEARTBEAT: u64 = 64 << 10;

/// Returns the input of a run, or `None` if there is nothing to do.
///
/// # Errors
/// The job cannot run; the text is a sentence for the user.
pub(crate) async fn of(
    job: &Job,
    root: &Path,
    around: &Surroundings,
) -> Result<Option<Vec<InputPart>>, String> {
    let text = match job.kind {
        Kind::Cron => job.prompt.clone(),
        Kind::Task => filled(job),
        Kind::Heartbeat => match heartbeat(root, around).await? {
            Some(text) => text,
            None => return Ok(None),
        },
    };
    // The Turn's trigger names the job and its delay.
    Ok(Some(vec![InputPart::Text { text }]))
}

/// Returns a task's workflow without its front matter, with the task's values filled in.
fn filled(job: &Job) -> String {
    let description = job.task.as_ref().map_or("", |task| task.description.as_str());
    let words = [
        ("task.id", job.id.as_str()),
        ("task.title", job.name.as_str()),
        ("task.description", description),
    ];
    let (_, mut rest) = front_matter(job.prompt.trim_start());
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("{{") {
        text.push_str(before);
        let filled = after.split_once("}}").and_then(|(name, behind)| {
            let (_, word) = words.iter().find(|(known, _)| *known == name.trim())?;
            Some((*word, behind))
        });
        if let Some((word, behind)) = filled {
            text.push_str(word);
            rest = behind;
        } else {
            text.push_str("{{");
            rest = after;
        }
    }
    text.push_str(rest);
    if text.trim().is_empty() {
        description.to_owned()
    } else {
        text.trim().to_owned()
    }
}

async fn heartbeat(root: &Path, around: &Surroundings) -> Result<Option<String>, String> {
    let path = root.join(HEARTBEAT);
    let read = tokio::task::spawn_blocking(move || self::read(&path)).await;
    let text = match read {
        Ok(Ok(text)) => text,
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Ok(Err(error)) => return Err(format!("{HEARTBEAT} cannot be read: {error}.")),
        Err(_) => return Err(format!("{HEARTBEAT} cannot be read.")),
    };
    let says_something = |line: &str| {
        let line = line.trim();
        !(line.is_empty() || line.starts_with('#') || line.starts_with("<!--"))
    };
    if !text.lines().any(says_something) {
        return Ok(None);
    }
    if !around.trusts_folder().await {
        return Err(format!(
            "{HEARTBEAT} comes with the folder and counts once you trust it: run `bobbin trust`."
        ));
    }
    Ok(Some(format!(
        "Here is {HEARTBEAT} of this workspace. Do what it asks for now; when there is nothing to do, answer HEARTBEAT_OK.\n\n\
         {text}"
    )))
}

/// Reads a regular file; refuses symbolic links.
pub(crate) fn read(path: &Path) -> std::io::Result<String> {
    if !std::fs::symlink_metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is no ordinary file"));
    }
    bobbin_files::read_text(path, MAX_HEARTBEAT)
}
