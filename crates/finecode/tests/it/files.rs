//! Where actions come from: FineCode's files, presets, settings, trust.

use std::fs;
use std::path::Path;

use bobbin_finecode::{Presets, ProjectStatus, RunError, Settings};
use serde_json::json;

use crate::support::{ALL, Workspace, environments, exports, request, trail};

const PYPROJECT: &str = r#"[project]
name = "the-shop"

[dependency-groups]
dev_workspace = ["finecode==0.3.*"]

[tool.finecode.action.tally]
source = "lab.Tally"
handlers = [
  { name = "count", source = "lab.Count", env = "tools" },
  { name = "peek", source = "lab.Peek", env = "tools" },
]
"#;

fn workspace(files: &[(&str, &str)]) -> Workspace {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let shop = directory.path().join("shop");
    environments(&shop, &["tools", "docs", "dev_workspace"], &exports(ALL[0]));
    Workspace::at(directory, Settings::default())
}

#[tokio::test]
async fn projects_are_found_and_their_actions_run() {
    let workspace = workspace(&[
        ("shop/pyproject.toml", PYPROJECT),
        ("plain/pyproject.toml", "[project]\nname = \"plain\"\n"),
        ("node_modules/x/pyproject.toml", PYPROJECT),
        ("shop/.venvs/tools/pyproject.toml", PYPROJECT),
    ]);
    let projects = workspace.host.projects().await;
    let shown: Vec<_> = projects
        .iter()
        .map(|project| (project.name.as_str(), project.status))
        .collect();
    assert_eq!(
        shown,
        [
            ("plain", ProjectStatus::NoConfig),
            ("the-shop", ProjectStatus::Valid)
        ]
    );
    let actions = workspace.host.actions(None, Presets::Known).await;
    assert_eq!((actions.len(), actions[0].name.as_str()), (1, "tally"));
    assert_eq!(
        (&actions[0].envs, &actions[0].handlers),
        (
            &vec!["tools".to_owned()],
            &vec!["count".to_owned(), "peek".to_owned()]
        )
    );
    let outcome = workspace.run("tally", json!({ "words": ["a"] })).await.unwrap();
    assert_eq!(trail(&outcome), ["count", "peek:1"]);
    let actions = workspace.host.actions(None, Presets::Known).await;
    assert_eq!(actions[0].canonical_source.as_deref(), Some("lab.actions.Tally"));
    let mut asked = request("tally", &json!({}));
    asked.projects = Some(vec!["plain".into()]);
    let error = workspace.run_with(&asked, None).await.unwrap_err().to_string();
    assert!(
        error.contains("add finecode to its dependency group dev_workspace"),
        "{error}"
    );
    workspace.end().await;
}

#[tokio::test]
async fn a_changed_file_counts_at_the_next_run_without_a_new_process() {
    let workspace = workspace(&[("shop/pyproject.toml", PYPROJECT)]);
    workspace.run("tally", json!({ "words": ["a"] })).await.unwrap();
    let changed = PYPROJECT.replace("\"peek\", source = \"lab.Peek\"", "\"bad\", source = \"lab.Bad\"");
    fs::write(workspace.shop().join("pyproject.toml"), changed).unwrap();
    let outcome = workspace.run("tally", json!({ "words": ["a"] })).await.unwrap();
    assert_eq!(trail(&outcome), ["count", "bad"]);
    assert_eq!(workspace.starts("tools"), 1);
    workspace.end().await;
}

#[tokio::test]
async fn a_mistake_is_one_sentence_with_file_and_line_and_the_rest_works() {
    let mistakes = format!(
        "{PYPROJECT}\n[tool.finecode.action.lost]\nhandlers = []\n\n[tool.finecode.action.half]\nsource = \"lab.Other\"\nhandlers = [{{ name = \"h\", source = \"lab.Count\" }}]\n"
    );
    let workspace = workspace(&[
        ("shop/pyproject.toml", &mistakes),
        ("torn/pyproject.toml", "[project]\nname = \n"),
        ("twice/pyproject.toml", PYPROJECT),
        ("twice/finecode.toml", "[finecode]\n"),
    ]);
    let projects = workspace.host.projects().await;
    let of = |dir: &str| {
        projects
            .iter()
            .find(|project| project.path.ends_with(dir))
            .unwrap()
    };
    let root = workspace.directory.path();
    let at = |file: &str| root.join(file).display().to_string();
    let expected = [
        format!(
            "{}:14: action lost has no source; name its import path",
            at("shop/pyproject.toml")
        ),
        format!(
            "{}:19: handler h of action half has no env",
            at("shop/pyproject.toml")
        ),
    ];
    assert_eq!(of("shop").problems, expected);
    assert_eq!(of("shop").status, ProjectStatus::Valid);
    workspace.run("tally", json!({ "words": ["a"] })).await.unwrap();
    let torn = of("torn");
    assert_eq!(torn.status, ProjectStatus::Invalid);
    assert!(
        torn.problems[0].starts_with(&format!("{}:2: ", at("torn/pyproject.toml"))),
        "{:?}",
        torn.problems
    );
    let twice = of("twice");
    let both = format!(
        "{}:1: pyproject.toml has [tool.finecode] too; keep one of the two",
        at("twice/finecode.toml")
    );
    assert_eq!(
        (twice.status, &twice.problems),
        (ProjectStatus::Invalid, &vec![both])
    );
    workspace.end().await;
}

#[tokio::test]
async fn nothing_is_started_in_a_folder_that_is_not_trusted() {
    let workspace = workspace(&[("stranger/pyproject.toml", PYPROJECT)]);
    let directory = workspace.directory.path().join("stranger");
    environments(&directory, &["tools"], &exports(ALL[0]));
    assert_eq!(
        workspace.host.projects().await[0].status,
        ProjectStatus::Untrusted
    );
    assert_eq!(workspace.host.actions(None, Presets::Load).await.len(), 1);
    let mut asked = request("tally", &json!({ "words": [] }));
    asked.projects = Some(vec!["stranger".into()]);
    let error = workspace.run_with(&asked, None).await.unwrap_err();
    assert_eq!(
        error,
        RunError::Untrusted("trust this folder first: bobbin trust".to_owned())
    );
    assert!(!directory.join(".venvs/tools/bin/python.starts").exists());
    workspace.end().await;
}

/// A package with a preset, and the answer of a runner that finds it.
fn package(directory: &Path, name: &str, preset: &str) -> serde_json::Value {
    let path = directory.join(name);
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("preset.toml"), preset).unwrap();
    json!({ "packageName": name, "packagePath": path })
}

#[tokio::test]
async fn presets_are_found_by_the_runner_of_dev_workspace_and_the_project_counts_over_them() {
    let packages = tempfile::tempdir().unwrap();
    let outer = package(
        packages.path(),
        "outer",
        "[finecode]\npresets = [{ source = \"inner\" }]\n[finecode.action.tally]\nsource = \"lab.Tally\"\nhandlers = [{ name = \"peek\", source = \"lab.Peek\", env = \"tools\" }]\n",
    );
    let inner = package(
        packages.path(),
        "inner",
        "[finecode.action.tally]\nsource = \"lab.Wrong\"\nhandlers = [{ name = \"count\", source = \"lab.Count\", env = \"tools\" }]\n",
    );
    let project = "[project]\nname = \"shop\"\n[dependency-groups]\ndev_workspace = [\"finecode\"]\n[tool.finecode]\npresets = [{ source = \"outer\" }, { source = \"absent\" }]\n[[tool.finecode.action.tally.handlers]]\nname = \"bad\"\nsource = \"lab.Bad\"\nenv = \"tools\"\n";
    let workspace = workspace(&[("shop/pyproject.toml", project)]);
    let fixture = packages.path().join("frames.jsonl");
    let mut frames = vec![
        json!({ "env": "dev_workspace", "from": "manager", "message": { "id": 1, "method": "initialize" } }),
        json!({ "env": "dev_workspace", "from": "runner", "message": { "id": 1, "result": { "capabilities": {} } } }),
    ];
    // They are asked for in this order: the last one first.
    let answers = [None, Some(outer), Some(inner)];
    for (at, answer) in answers.iter().enumerate() {
        let id = at + 2;
        frames.push(json!({ "env": "dev_workspace", "from": "manager", "message": { "id": id, "method": "packages/resolvePath" } }));
        let mut message = json!({ "id": id });
        match answer {
            Some(answer) => message["result"] = answer.clone(),
            None => message["error"] = json!({ "code": -32603, "message": "no such package" }),
        }
        frames.push(json!({ "env": "dev_workspace", "from": "runner", "message": message }));
    }
    let text: Vec<_> = frames.iter().map(ToString::to_string).collect();
    fs::write(&fixture, text.join("\n")).unwrap();
    let replay = format!("LAB_MODE=replay\nLAB_FIXTURE={}", fixture.display());
    environments(&workspace.shop(), &["dev_workspace"], &replay);
    let outcome = workspace.run("tally", json!({ "words": ["a"] })).await.unwrap();
    assert_eq!(trail(&outcome), ["count", "peek:1", "bad"]);
    let problems = &workspace.host.projects().await[0].problems;
    assert_eq!(problems.len(), 1);
    let said = "pyproject.toml:6: preset absent cannot be found: no such package";
    assert!(problems[0].ends_with(said), "{problems:?}");
    workspace.end().await;
}

#[tokio::test]
async fn an_environment_that_is_not_there_is_said_with_the_line_that_names_it() {
    let project = "[dependency-groups]\ndev_workspace = [\"finecode\"]\n[tool.finecode.action.tally]\nsource = \"lab.Tally\"\nhandlers = [{ name = \"count\", source = \"lab.Count\", env = \"tulls\" }]\n";
    let workspace = workspace(&[("shop/pyproject.toml", project)]);
    let error = workspace.run("tally", json!({ "words": [] })).await.unwrap_err();
    let place = workspace.shop().join("pyproject.toml");
    let said = format!("then run the action again; {}:5 names it", place.display());
    assert!(error.to_string().ends_with(&said), "{error}");
    workspace.end().await;
}
