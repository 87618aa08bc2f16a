//! Table of paths into and out of a workspace.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use bobbin_agent_api::tool::OutsideWorkspace;

use super::*;
use crate::testing::Workspace;
use bobbin_policy::RulesPolicy;
use bobbin_rules::{RuleSet, RuleText};

/// `work/` is the root; beside it lies `out/secret`.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let root = workspace.root();
    let out = workspace.outside();
    std::fs::write(out.join("secret"), "s").unwrap();
    std::fs::create_dir_all(root.join("src/deep")).unwrap();
    std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
    std::fs::create_dir_all(root.join(".craft")).unwrap();
    std::fs::write(root.join("src/lib.rs"), "l").unwrap();
    symlink(out, root.join("leak")).unwrap();
    symlink(out.join("secret"), root.join("src/leaf")).unwrap();
    symlink(out.join("not-there"), root.join("dangling")).unwrap();
    symlink("src/lib.rs", root.join("fine")).unwrap();
    symlink("nowhere/yet", root.join("later")).unwrap();
    symlink(".git", root.join("git-link")).unwrap();
    symlink("/", root.join("src/deep/top")).unwrap();
    workspace
}

#[test]
fn an_absolute_path_into_the_workspace_is_inside() {
    let workspace = workspace();
    let text = workspace.root().join("src/lib.rs");
    let (target, permission) =
        locate(&workspace.environment(), text.to_str().unwrap(), Access::Write).unwrap();
    assert_eq!(permission, Permission::Free);
    assert_eq!(target.shown(), "src/lib.rs");
}

#[test]
fn outside_is_asked_about_with_its_real_path_or_refused() {
    let workspace = workspace();
    let mut environment = workspace.environment();
    let (_, permission) = locate(&environment, "leak/secret", Access::Edit).unwrap();
    let Permission::Ask { scope, .. } = permission else {
        panic!("free")
    };
    assert_eq!(scope.operation, "edit");
    assert_eq!(scope.target, workspace.outside().join("secret").to_str().unwrap());
    environment.outside_workspace = OutsideWorkspace::Refuse;
    assert!(locate(&environment, "leak/secret", Access::Read).is_err());
}

#[test]
fn reserved_places_are_never_written_and_read_only_when_asked() {
    let workspace = workspace();
    for access in [Access::Write, Access::Edit] {
        assert!(locate(&workspace.environment(), ".craft/config.json", access).is_err());
        assert!(locate(&workspace.environment(), "git-link/hooks/pre-commit", access).is_err());
    }
    let (_, permission) = locate(&workspace.environment(), ".craft/config.json", Access::Read).unwrap();
    assert_ne!(permission, Permission::Free);
}

#[test]
fn outputs_and_pictures_of_threads_are_read_without_a_question_and_nothing_beside_them() {
    let workspace = workspace();
    let outputs = workspace.outside().join("terminals");
    std::fs::create_dir_all(outputs.join("thread_1")).unwrap();
    std::fs::write(outputs.join("thread_1/shell_1.log"), "x").unwrap();
    std::fs::write(outputs.join("thread_1/picture_1.png"), "x").unwrap();
    symlink("../../secret", outputs.join("thread_1/link.log")).unwrap();
    for outside_workspace in [OutsideWorkspace::Ask, OutsideWorkspace::Refuse] {
        let policy = RulesPolicy::default()
            .guarding([workspace.outside().to_owned()])
            .showing(outputs.clone());
        let environment = ToolEnvironment {
            policy: Arc::new(policy),
            outside_workspace,
            ..workspace.environment()
        };
        let reach = |path: &str, access| {
            let path = outputs.join(path);
            let found = locate(&environment, path.to_str().unwrap(), access);
            found.is_ok_and(|(_, permission)| permission == Permission::Free)
        };
        assert!(reach("thread_1/shell_1.log", Access::Read));
        assert!(reach("thread_1/picture_1.png", Access::Read));
        for other in [
            "thread_1/shell_1.json",
            "thread_1/link.log",
            "thread_1.log",
            "thread_1/deep/x.log",
            "../keys/x.log",
        ] {
            assert!(!reach(other, Access::Read), "{other}");
        }
        assert!(!reach("thread_1/shell_1.log", Access::Write));
    }
}

#[test]
fn a_target_that_was_swapped_for_a_link_is_not_confirmed() {
    let workspace = workspace();
    let (target, _) = locate(&workspace.environment(), "src/lib.rs", Access::Write).unwrap();
    assert!(target.confirm().is_ok());
    std::fs::remove_file(workspace.root().join("src/lib.rs")).unwrap();
    symlink(
        workspace.outside().join("secret"),
        workspace.root().join("src/lib.rs"),
    )
    .unwrap();
    assert!(target.confirm().is_err());
}

#[test]
fn where_git_keeps_its_own_is_reserved_however_it_is_reached() {
    let workspace = Workspace::new();
    let root = workspace.root();
    std::fs::create_dir_all(root.join("gd/hooks")).unwrap();
    std::fs::create_dir_all(root.join("sub/gd")).unwrap();
    symlink("gd", root.join(".git")).unwrap();
    symlink("gd", root.join("sub/.git")).unwrap();
    symlink("sub/.git", root.join("way")).unwrap();
    let refused = [
        ".git/hooks/pre-commit",
        "gd/hooks/pre-commit",
        "sub/.git/hooks/x",
        "way/config",
    ];
    let refuses = |text: &str| locate(&workspace.environment(), text, Access::Write).is_err();
    for text in refused {
        assert!(refuses(text), "{text}");
    }
    // `git init --separate-git-dir=gd`, and a work tree of it.
    for (kept, common) in [("gd", None), ("gd/worktrees/x", Some("../.."))] {
        std::fs::remove_file(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join(kept)).unwrap();
        std::fs::write(
            root.join(".git"),
            format!("gitdir: {}\n", root.join(kept).display()),
        )
        .unwrap();
        if let Some(common) = common {
            std::fs::write(root.join(kept).join("commondir"), format!("{common}\n")).unwrap();
        }
        for text in [".git", "gd/hooks/pre-commit", "gd/worktrees/x/config"] {
            assert!(refuses(text), "{text} in {kept}");
        }
        assert!(!refuses("src/new"));
    }
}

#[test]
fn a_link_of_gits_name_to_the_workspace_itself_takes_nothing_away() {
    let workspace = Workspace::new();
    symlink(".", workspace.root().join(".git")).unwrap();
    assert!(locate(&workspace.environment(), "src/new", Access::Write).is_ok());
    assert!(locate(&workspace.environment(), ".git/src/new", Access::Write).is_err());
}

#[test]
fn a_tilde_is_the_home_and_never_a_directory() {
    let home = Some(Path::new("/home/me"));
    for (text, path) in [
        ("~", "/home/me"),
        ("~/.bashrc", "/home/me/.bashrc"),
        ("./~/x", "./~/x"),
        ("~lock", "~lock"),
        ("a/~/b", "a/~/b"),
    ] {
        assert_eq!(expanded(text, home).unwrap(), path);
    }
    assert!(expanded("~/x", None).is_err());
    let workspace = workspace();
    let mut environment = workspace.environment();
    let rules = bobbin_rules::RuleSet::new([], Some(workspace.outside())).unwrap();
    environment.policy = std::sync::Arc::new(bobbin_policy::RulesPolicy::new(rules));
    let (target, permission) = locate(&environment, "~/secret", Access::Write).unwrap();
    assert_eq!(target.path(), workspace.outside().join("secret"));
    assert!(matches!(permission, Permission::Ask { .. }));
    assert!(target.confirm().is_ok());
}

#[tokio::test]
async fn file_tools_obey_rules_for_paths() {
    use bobbin_agent_api::tool::{Permission, Tool, ToolEnvironment};
    use serde_json::json;

    use crate::testing::{read_file, search, write_file};

    let workspace = Workspace::new();
    for path in ["a.txt", "secrets/key", "docs/plan"] {
        workspace.write(path, "needle\n");
    }
    let outside = workspace.outside().join("**").to_string_lossy().into_owned();
    let rule = |action: &str, operation: Option<&str>, path: &str| RuleText {
        action: action.to_owned(),
        path: Some(path.to_owned()),
        operation: operation.map(str::to_owned),
        ..RuleText::default()
    };
    let rules = [
        rule("deny", None, "secrets"),
        rule("ask", Some("write"), "docs/**"),
        rule("allow", Some("read"), &outside),
    ];
    let policy = RulesPolicy::new(RuleSet::new(rules, None).unwrap());
    let environment = ToolEnvironment {
        policy: std::sync::Arc::new(policy),
        ..workspace.environment()
    };
    let permission = |tool: &dyn Tool, arguments: serde_json::Value| {
        let call = tool.prepare(&Workspace::json(&arguments), &environment);
        call.map(|call| call.permission())
    };
    let write = |path: &str| permission(&write_file(), json!({ "path": path, "content": "" }));
    let read = |path: &str| permission(&read_file(), json!({ "path": path }));
    assert!(
        read("secrets/key")
            .unwrap_err()
            .to_string()
            .contains("deny path `secrets`")
    );
    assert!(write("secrets/new").is_err());
    assert!(matches!(write("docs/plan"), Ok(Permission::Ask { .. })));
    assert_eq!(read("docs/plan"), Ok(Permission::Free));
    let outside = workspace.outside().join("note").to_string_lossy().into_owned();
    assert_eq!(read(&outside), Ok(Permission::Free));
    assert!(matches!(write(&outside), Ok(Permission::Ask { .. })));

    let call = search().prepare(&Workspace::json(&json!({ "pattern": "needle" })), &environment);
    let found = call.unwrap().run(Workspace::context()).await.text;
    assert!(found.contains("a.txt") && found.contains("docs/plan"), "{found}");
    assert!(!found.contains("secrets"), "{found}");
}
