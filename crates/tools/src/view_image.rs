//! `ViewImage`: shows the model a picture of the workspace.
//!
//! The result names the file; the agent reads it for the request, as it reads pictures that a user attached. So the tool
//! refuses a file that needs an approval: later requests would read it without one.

use std::io::Read as _;

use bobbin_agent_api::picture::{MAX_PICTURE_BYTES, media_type};
use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::Json;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::arguments::{decode, done, spec};
use super::blocking::FileWork;
use super::paths::{Access, Target, locate};
use bobbin_files::open_file;

/// The tool's name: it is offered to models that see pictures.
pub const VIEW_IMAGE: &str = "ViewImage";
/// Bytes that show the kind of a picture.
const PROBE_BYTES: u64 = 16;

#[derive(Debug)]
pub(super) struct ViewImage {
    spec: ToolSpec,
    work: FileWork,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
}

impl ViewImage {
    pub(super) fn new(work: FileWork) -> Self {
        let spec = spec(
            VIEW_IMAGE,
            Effect::Reads,
            "Shows you a picture of the workspace: PNG, JPEG, GIF or WebP.",
            &["path"],
            &serde_json::json!({
                "path": { "type": "string", "description": "Path, relative to the workspace or absolute." },
            }),
        );
        Self { spec, work }
    }
}

impl Tool for ViewImage {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let Arguments { path } = decode(arguments)?;
        let (target, permission) = locate(environment, &path, Access::Read)?;
        if permission != Permission::Free {
            return Err(ToolRefusal::denied(format_args!(
                "{path} is outside the workspace or under a rule; only pictures of the workspace are shown"
            )));
        }
        Ok(Box::new(Prepared {
            target,
            path,
            work: self.work.clone(),
        }))
    }
}

struct Prepared {
    target: Target,
    path: String,
    work: FileWork,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn run(self: Box<Self>, _context: CallContext) -> BoxFuture<'static, ToolOutput> {
        let Self { target, path, work } = *self;
        work.run(move || {
            view(&target, path).map_err(|error| format!("cannot show {}: {error}", target.shown()))
        })
        .boxed()
    }
}

fn view(target: &Target, path: String) -> Result<ToolOutput, String> {
    let file = open_file(target.confirm()?).map_err(|error| error.to_string())?;
    let bytes = file.metadata().map_err(|error| error.to_string())?.len();
    if bytes > MAX_PICTURE_BYTES as u64 {
        return Err(format!(
            "it has {bytes} bytes; at most {MAX_PICTURE_BYTES} can be shown, so make it smaller"
        ));
    }
    let mut probe = Vec::new();
    file.take(PROBE_BYTES)
        .read_to_end(&mut probe)
        .map_err(|error| error.to_string())?;
    let kind = media_type(&probe).ok_or("it is no PNG, JPEG, GIF or WebP file")?;
    Ok(ToolOutput {
        pictures: vec![path],
        ..done(format!("{} is shown ({kind}, {bytes} bytes)", target.shown()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Workspace;

    #[tokio::test]
    async fn a_picture_is_named_for_the_model_and_anything_else_says_why_not() {
        let workspace = Workspace::new();
        std::fs::write(workspace.root().join("a.png"), b"\x89PNG\r\n\x1a\nrest").unwrap();
        workspace.write("a.txt", "text");
        let tool = ViewImage::new(FileWork::new());
        let shown = workspace.call(&tool, json!({ "path": "a.png" })).await;
        assert_eq!(
            (shown.text.as_str(), shown.success),
            ("a.png is shown (image/png, 12 bytes)", true)
        );
        assert_eq!(shown.pictures, ["a.png"]);
        for path in ["a.txt", "gone.png", "."] {
            let shown = workspace.call(&tool, json!({ "path": path })).await;
            assert!(
                !shown.success && shown.pictures.is_empty(),
                "{path}: {}",
                shown.text
            );
        }
        let outside = Workspace::json(&json!({ "path": "/etc/hostname" }));
        assert!(tool.prepare(&outside, &workspace.environment()).is_err());
    }
}
