//! The starter of processes, and the search paths of commands and of the server's own processes.

use std::ffi::OsString;
use std::path::Path;

use bobbin_children::{Children, Environment};
use bobbin_policy::Programs;
use bobbin_tools::Sandbox;

/// Returns the search path of commands, with the directories in it that the agent may write.
pub(crate) fn programs(
    environment: &Environment,
    root: &Path,
    temporary: &Path,
    sandbox: &Sandbox,
) -> Programs {
    // With bubblewrap, `/tmp` is the commands' own.
    let writable = [root, temporary, Path::new("/tmp")].map(Path::to_path_buf);
    let writable = writable.into_iter();
    let writable = writable.chain(sandbox.write.iter().cloned());
    Programs::new(environment.get("PATH"), writable)
}

/// Returns the variables for the server's own processes. The sandbox does not confine these, so their search path
/// contains no directory that the agent may write.
pub(crate) fn own_environment(environment: &Environment, programs: &Programs, root: &Path) -> Environment {
    let mut own = environment.clone();
    if let Some(search) = programs.search_path(root) {
        own.set("PATH", search);
    }
    own
}

/// Returns variables with the search path of the server's own processes.
pub(crate) fn with_search_path(
    mut variables: Vec<(OsString, OsString)>,
    own: &Environment,
) -> Vec<(OsString, OsString)> {
    if let Some(search) = own.get("PATH") {
        let paths = variables.iter_mut().filter(|(name, _)| name == "PATH");
        paths.for_each(|(_, value)| search.clone_into(value));
    }
    variables
}

/// Returns the starter of processes. Each process has a parent that ends it if the server is killed.
pub fn children() -> Children {
    #[cfg(target_os = "linux")]
    let helper = Some(bobbin_children::Helper {
        program: "/proc/self/exe".into(),
        arguments: vec![bobbin_children::RUN_CHILD_ARGUMENT.into()],
    });
    #[cfg(not(target_os = "linux"))]
    let helper = None;
    Children::new(helper)
}
