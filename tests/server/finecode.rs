//! `bobbin finecode` as scripts meet it: a green run means that everything ran.

use crate::support::Workspace;

const PROJECT: &str = "[dependency-groups]\ndev_workspace = [\"finecode\"]\n";

fn project(workspace: &Workspace, name: &str, rest: &str) {
    let directory = workspace.path().join(name);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("pyproject.toml"), format!("{PROJECT}{rest}")).unwrap();
}

/// Runs the action `rest`; returns the exit code and what stderr has.
async fn run(workspace: &Workspace, more: &[&str]) -> (Option<i32>, String) {
    let args = [&["finecode", "run", "rest"], more].concat();
    let output = workspace.run(&args).await;
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[tokio::test]
async fn a_project_that_cannot_be_used_is_named_and_the_run_is_not_green() {
    let workspace = Workspace::new();
    let rest = "[tool.finecode.action.rest]\nsource = \"shop_tools.Rest\"\nhandlers = []\n";
    project(&workspace, "shop", rest);
    workspace.run(&["trust", "--yes"]).await;
    assert_eq!(run(&workspace, &[]).await, (Some(0), String::new()));

    project(&workspace, "yard", "[tool.finecode\n");
    let (code, said) = run(&workspace, &[]).await;
    assert_eq!(code, Some(1));
    assert!(said.contains("yard/pyproject.toml:3: "), "{said}");
    assert_eq!(run(&workspace, &["--project", "shop"]).await.0, Some(0));
}

#[tokio::test]
async fn an_action_without_its_only_handler_is_not_clean() {
    let workspace = Workspace::new();
    let rest = "[tool.finecode.action.rest]\nsource = \"shop_tools.Rest\"\nhandlers = [{ name = \"nap\", env = \"tools\" }]\n";
    project(&workspace, "shop", rest);
    workspace.run(&["trust", "--yes"]).await;
    let (code, said) = run(&workspace, &[]).await;
    assert_eq!(code, Some(1));
    assert!(
        said.contains("shop/pyproject.toml:5: handler nap of action rest has no source"),
        "{said}"
    );
}
