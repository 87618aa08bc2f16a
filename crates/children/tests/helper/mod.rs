//! What starts children as the server does.

use bobbin_children::{Children, Helper};

/// Returns what starts children, each with a parent that `examples/run_child.rs` runs.
pub(crate) fn children() -> Children {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/run_child");
    Children::new(Some(Helper {
        program,
        arguments: vec!["run-child".into()],
    }))
}
