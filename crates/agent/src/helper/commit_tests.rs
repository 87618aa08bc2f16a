//! Tests of commit messages, over a real git.

use std::sync::{Arc, Mutex};

use bobbin_agent_api::suggest::Suggestions as _;
use bobbin_children::{Children, Environment, ProcessSpec};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::helper::Helpers;
use bobbin_agent_api::model::{Message, ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink, Stop};
use bobbin_offline::Offline;
use bobbin_testkit::Folder;
use bobbin_tools::{Git, Sandbox};

/// Always gives the same answer, and remembers its requests.
struct Parrot {
    says: &'static str,
    asked: Mutex<String>,
}

impl Model for Parrot {
    fn history_turns(&self, _: Option<&str>) -> u32 {
        0
    }

    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let [Message::User { parts }] = request.messages else {
            panic!("one question")
        };
        *self.asked.lock().unwrap() = parts[0].display().into_owned();
        async move {
            sink.event(ModelEvent::Reasoning("Hm.".to_owned())).await?;
            sink.event(ModelEvent::Text(self.says.to_owned())).await?;
            Ok(ModelReply {
                stop: Stop::Done,
                usage: None,
            })
        }
        .boxed()
    }
}

fn environment(workspace: &Folder) -> Environment {
    let mut environment = Environment::empty();
    environment.set("PATH", "/usr/bin:/bin");
    environment.set("HOME", workspace.outside());
    for who in ["AUTHOR", "COMMITTER"] {
        environment.set(format!("GIT_{who}_NAME"), "Mika");
        environment.set(format!("GIT_{who}_EMAIL"), "mika@example.org");
    }
    environment
}

async fn git(workspace: &Folder, args: &[&str]) {
    let spec = ProcessSpec::new("git", workspace.root(), environment(workspace)).args(args);
    let children = Children::new(None);
    let limits = bobbin_children::Limits::default();
    let outcome = children
        .run(spec, &limits, None, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(
        outcome.exit,
        bobbin_children::Exit::Exited(0),
        "{}",
        outcome.output.text
    );
}

fn helpers(workspace: &Folder, model: Arc<dyn Model>) -> Helpers {
    let git = Git::new(Children::new(None), environment(workspace), Sandbox::default());
    Helpers::new(model, git)
}

fn request(workspace: &Folder, paths: &[&str]) -> CommitRequest {
    CommitRequest {
        root: workspace.root().to_owned(),
        model: None,
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        max_diff_chars: 100_000,
    }
}

/// A repository with a commit and changes after it.
async fn kettle() -> Folder {
    let workspace = Folder::new();
    git(&workspace, &["init", "-q"]).await;
    workspace.write("boil.txt", "90\n");
    workspace.write("old.txt", "x\n");
    git(&workspace, &["add", "."]).await;
    git(&workspace, &["commit", "-q", "-m", "Begin"]).await;
    workspace.write("boil.txt", "100\n");
    workspace.write("src/new file.rs", "fn pour() {}\n");
    std::fs::remove_file(workspace.root().join("old.txt")).unwrap();
    workspace
}

#[tokio::test]
async fn a_model_is_shown_the_changes_and_its_message_is_cleaned() {
    let workspace = kettle().await;
    let parrot = Arc::new(Parrot {
        says: "```text\nRaise boiling point to 100\n```\n",
        asked: Mutex::default(),
    });
    let helpers = helpers(&workspace, parrot.clone());
    let message = helpers
        .commit_message(request(&workspace, &["boil.txt", "src"]))
        .await;
    assert_eq!(message.as_deref(), Ok("Raise boiling point to 100"));
    let asked = parrot.asked.lock().unwrap().clone();
    for part in [
        "Update boil.txt",
        "Add src/new file.rs",
        "-90\n+100\n",
        "+fn pour() {}",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    assert!(!asked.contains("old.txt"), "it was not named: {asked}");
    let short = CommitRequest {
        max_diff_chars: 20,
        ..request(&workspace, &["."])
    };
    helpers.commit_message(short).await.unwrap();
    assert!(parrot.asked.lock().unwrap().contains("[the rest is left out]"));
}

#[tokio::test]
async fn the_offline_model_says_which_files_and_no_more() {
    let workspace = kettle().await;
    let helpers = helpers(&workspace, Arc::new(Offline));
    for (paths, message) in [
        (vec!["boil.txt"], "Update boil.txt"),
        (vec!["old.txt"], "Remove old.txt"),
        (vec!["src"], "Add src/new file.rs"),
        (vec!["."], "Update boil.txt, old.txt and src/new file.rs"),
    ] {
        let said = helpers.commit_message(request(&workspace, &paths)).await;
        assert_eq!(said.as_deref(), Ok(message));
    }
    for name in ["a", "b", "c", "d"] {
        workspace.write(&format!("docs/{name}.md"), "x");
    }
    let said = helpers.commit_message(request(&workspace, &["docs"])).await;
    assert_eq!(said.as_deref(), Ok("Add 4 files in docs"));
}

#[tokio::test]
async fn what_cannot_be_suggested_for_is_said() {
    let workspace = Folder::new();
    let helpers = helpers(&workspace, Arc::new(Offline));
    let nowhere = helpers.commit_message(request(&workspace, &["a"])).await;
    assert!(
        matches!(&nowhere, Err(SuggestError::Unusable(text)) if text.contains("not a git repository")),
        "{nowhere:?}"
    );
    for paths in [&[][..], &["../out"], &["/etc/passwd"]] {
        let refused = helpers.commit_message(request(&workspace, paths)).await;
        assert!(matches!(refused, Err(SuggestError::Invalid(_))), "{refused:?}");
    }
    // Before the first commit, only staged files count.
    git(&workspace, &["init", "-q"]).await;
    workspace.write("a", "x\n");
    let unchanged = helpers.commit_message(request(&workspace, &["b"])).await;
    assert!(matches!(&unchanged, Err(SuggestError::Invalid(text)) if text.contains("Nothing has changed")));
    git(&workspace, &["add", "a"]).await;
    let first = helpers.commit_message(request(&workspace, &["a"])).await;
    assert_eq!(first.as_deref(), Ok("Add a"));
}

#[tokio::test]
async fn programs_that_a_repository_names_are_not_run() {
    let workspace = kettle().await;
    let trap = format!("touch {}/ran; cat", workspace.outside().display());
    for name in ["core.fsmonitor", "diff.external", "diff.x.textconv", "core.pager"] {
        git(&workspace, &["config", name, &trap]).await;
    }
    workspace.write(".gitattributes", "*.txt diff=x\n");
    let parrot = Arc::new(Parrot {
        says: "m",
        asked: Mutex::default(),
    });
    let helpers = helpers(&workspace, parrot);
    assert_eq!(
        helpers
            .commit_message(request(&workspace, &["."]))
            .await
            .as_deref(),
        Ok("m")
    );
    assert!(!workspace.outside().join("ran").exists());
}

#[test]
fn messages_lose_what_models_put_around_them() {
    for (answer, message) in [
        ("  Fix it \n", "Fix it"),
        ("```\nFix it\n\nBecause.\n```", "Fix it\n\nBecause."),
        ("\"Fix it\"", "Fix it"),
        ("Say \"hi\"", "Say \"hi\""),
        ("\"a\" and \"b\"", "\"a\" and \"b\""),
    ] {
        assert_eq!(clean(answer), message);
    }
}
