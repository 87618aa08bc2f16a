//! Tests of looks after one that was killed.

use std::fs;

use super::*;
use crate::tools::testing::Workspace;

#[tokio::test]
async fn a_look_goes_on_after_one_that_was_killed_while_it_wrote() {
    let workspace = Workspace::new();
    let mut environment = Environment::empty();
    environment.set("PATH", "/usr/local/bin:/usr/bin:/bin");
    let directory = workspace.outside().join("kept");
    let children = Children::new(None).unwrap();
    let checkpoints = Checkpoints::open(&directory, workspace.root(), children, &environment)
        .await
        .unwrap();
    let root = workspace.root();
    workspace.write("a", "1");
    let seen = checkpoints.look(root, Skipped::Unnamed).await.unwrap();
    checkpoints.keep(root, &seen).await.unwrap();
    // As git leaves them behind when it is killed.
    let locks =
        [checkpoints.index(root), directory.join(last_tree(root))].map(|path| path.with_extension("lock"));
    for lock in &locks {
        fs::write(lock, "").unwrap();
    }
    workspace.write("a", "2");
    let next = checkpoints.look(root, Skipped::Unnamed).await.unwrap();
    assert_ne!(seen.tree, next.tree);
    checkpoints.keep(root, &next).await.unwrap();
    let kept = format!("{}:seen", last_tree(root));
    assert_eq!(checkpoints.differences(&next.tree, &kept).await.unwrap(), []);
    assert!(!locks.iter().any(|lock| lock.exists()));
    checkpoints.end().await;
}
