//! A bubblewrap that does not work, or works no more: people are told, and nothing runs with less than was said.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::sync::Arc;

use bobbin_agent_api::tool::CallContext;
use bobbin_sandbox::Support;
use bobbin_tools::{BubblewrapUse, Sandbox};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::held_place::{Ears, Place, STRICT, told};

/// Writes a program that stands in for bubblewrap.
fn program(place: &Place, text: &str) -> PathBuf {
    let path = place.top.join("bwrap");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
async fn where_it_cannot_be_had_that_is_told_and_nothing_is_promised_of_it() {
    let place = Place::new();
    let broken = program(
        &place,
        "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1",
    );
    let idle = place.top.join("idle");
    std::fs::copy(&broken, &idle).unwrap();
    std::fs::write(&idle, "#!/bin/sh\nexit 0\n").unwrap();
    let roots = broken.metadata().unwrap().uid() == 0;
    for (path, why) in [
        (place.top.join("nothing"), "there is no "),
        (broken, "setting up uid map: Permission denied"),
        (idle, "ended and said nothing"),
    ] {
        // Who is not root has programs that are not root's, and those are not run at all.
        let why = if path.exists() && !roots {
            "does not belong to root"
        } else {
            why
        };
        let places = || vec![path.clone()];
        let auto = with_places(&place, BubblewrapUse::Auto, places());
        auto.settle().await;
        let found = auto.bubblewrap.found().unwrap().unwrap_err();
        assert!(found.contains(why), "{found}");
        if auto.missing().is_none() {
            let prepared = place
                .prepared(&auto, "echo x > ../out/new; echo ran")
                .await
                .unwrap();
            let (reason, line) = told(&*prepared);
            assert!(line.sandboxed && !reason.contains("bubblewrap"), "{reason}");
            assert!(!line.sandboxed_by.contains(&"bubblewrap".to_owned()));
            let output = place.run(&auto, "echo x > ../out/new; echo ran").await;
            assert!(output.text.ends_with("ran\n"), "{}", output.text);
            assert!(!place.file.with_file_name("new").exists());
        }
        let require = with_places(&place, BubblewrapUse::Require, places());
        let refused = place.prepared(&require, "make").await.err().unwrap();
        assert!(
            refused.starts_with("refused: ")
                && refused.contains("Sandbox.Bubblewrap")
                && refused.contains(why),
            "{refused}"
        );
    }
    let off = place.sandbox(STRICT, place.bubblewrap(BubblewrapUse::Off));
    off.settle().await;
    assert_eq!(off.bubblewrap.found(), None);
}

fn with_places(place: &Place, wanted: BubblewrapUse, places: Vec<PathBuf>) -> Sandbox {
    place.sandbox(STRICT, place.bubblewrap(wanted).with_places(places))
}

#[tokio::test]
async fn a_command_that_was_promised_it_does_not_run_without_it() {
    let place = Place::new();
    let Some(works) = place.held(STRICT).await else {
        return;
    };
    let real = works.bubblewrap.found().unwrap().unwrap();
    let broken = place.top.join("broken");
    let text = format!(
        "[ -e {} ] && {{ echo 'bwrap: no room' >&2; exit 1; }}\nexec {} \"$@\"",
        broken.display(),
        real.display()
    );
    let path = program(&place, &text);
    let sandbox = with_places(&place, BubblewrapUse::Auto, vec![path.clone()]);
    sandbox.settle().await;
    if path.metadata().unwrap().uid() != 0 {
        let why = sandbox.bubblewrap.found().unwrap().unwrap_err();
        assert!(why.contains("does not belong to root"), "{why}");
        return;
    }
    let prepared = place.prepared(&sandbox, "echo x > ran").await.unwrap();
    let (reason, line) = told(&*prepared);
    assert!(
        reason.contains("(bubblewrap, ") && line.sandboxed_by[0] == "bubblewrap",
        "{reason}"
    );
    std::fs::write(&broken, "").unwrap();
    let context = CallContext::alone(CancellationToken::new(), Arc::new(Ears::default()));
    let output = prepared.run(context).await;
    assert!(
        output
            .text
            .starts_with("did not run: it cannot be confined as planned: bwrap: no room"),
        "{}",
        output.text
    );
    assert!(!output.success && !place.work.join("ran").exists());
    // The next one is told what holds it now, and held so.
    let prepared = place.prepared(&sandbox, "echo x > ran").await;
    if Support::probe().missing(STRICT).is_none() {
        let (reason, _) = told(&*prepared.unwrap());
        assert!(!reason.contains("bubblewrap"), "{reason}");
        let output = place.run(&sandbox, "echo x > ran; echo x > ../out/new").await;
        assert!(place.work.join("ran").exists(), "{}", output.text);
        assert!(!place.file.with_file_name("new").exists());
    }
}

#[tokio::test]
async fn one_that_fails_commands_alone_is_not_given_up() {
    let place = Place::new();
    let Some(works) = place.held(STRICT).await else {
        return;
    };
    let real = works.bubblewrap.found().unwrap().unwrap();
    // A try is made at the root.
    let text = format!(
        "[ \"$(pwd)\" = / ] || {{ echo 'bwrap: no room' >&2; exit 1; }}\nexec {} \"$@\"",
        real.display()
    );
    let path = program(&place, &text);
    if path.metadata().unwrap().uid() != 0 {
        println!("!! not tested: only root can put a program in the place of bubblewrap");
        return;
    }
    let sandbox = with_places(&place, BubblewrapUse::Auto, vec![path.clone()]);
    for _ in 0..3 {
        // What fails only a command may be the workspace's doing.
        let output = place.run(&sandbox, "echo x > ran").await;
        let said = "did not run: it cannot be confined as planned: bwrap: no room.";
        assert!(output.text.starts_with(said), "{}", output.text);
        assert!(!place.work.join("ran").exists());
    }
}

#[tokio::test]
async fn one_that_hangs_is_tried_again_before_the_next_command() {
    let place = Place::new();
    let Some(works) = place.held(STRICT).await else {
        return;
    };
    let real = works.bubblewrap.found().unwrap().unwrap();
    let hangs = place.top.join("hangs");
    let text = format!(
        "while [ -e {} ]; do sleep 0.1; done\nexec {} \"$@\"",
        hangs.display(),
        real.display()
    );
    let path = program(&place, &text);
    let sandbox = with_places(&place, BubblewrapUse::Auto, vec![path.clone()]);
    sandbox.settle().await;
    if path.metadata().unwrap().uid() != 0 {
        println!("!! not tested: only root can put a program in the place of bubblewrap");
        return;
    }
    let arguments = json!({ "command": "echo x > ran", "timeoutMs": 200 });
    let prepared = place.prepared_with(&sandbox, &arguments).await.unwrap();
    std::fs::write(&hangs, "").unwrap();
    let context = CallContext::alone(CancellationToken::new(), Arc::new(Ears::default()));
    let output = prepared.run(context).await;
    let said = "did not run: it cannot be confined as planned: it had not started after ";
    assert!(output.text.starts_with(said), "{}", output.text);
    assert!(!output.success && !place.work.join("ran").exists());
    assert_eq!(sandbox.bubblewrap.found(), None);
    std::fs::remove_file(&hangs).unwrap();
    let output = place.run(&sandbox, "echo x > ran").await;
    assert!(
        output.success && place.work.join("ran").exists(),
        "{}",
        output.text
    );
    assert_eq!(sandbox.bubblewrap.found(), Some(Ok(path)));
}
