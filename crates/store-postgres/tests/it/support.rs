//! What the tests share: a server and its stores.

use std::path::Path;
use std::sync::OnceLock;

use bobbin_store_postgres::{Access, Holder, Options, PostgresStore};
use bobbin_testkit::Postgres;

/// Returns the server, or says that the test does not run.
///
/// # Panics
/// On a machine of continuous integration without PostgreSQL.
#[expect(
    clippy::disallowed_methods,
    reason = "CI says in the environment where tests run"
)]
pub(crate) fn server() -> Option<&'static Postgres> {
    let server = Postgres::shared();
    if server.is_none() {
        let why = "PostgreSQL is not installed in /usr/lib/postgresql";
        assert!(std::env::var_os("CI").is_none(), "not tested: {why}");
        println!("!! not tested: {why}");
    }
    server
}

/// Returns a server of a machine.
pub(crate) fn holder(machine: &str) -> Holder {
    Holder {
        id: machine.to_owned(),
        machine: machine.to_owned(),
    }
}

/// Opens the store of a workspace.
pub(crate) async fn open(address: &str, workspace: &str) -> PostgresStore {
    let access = Access::parse(address, None).unwrap();
    PostgresStore::open(&access, Options::of(workspace, holder("a")))
        .await
        .unwrap()
}

/// Opens the store of a folder. All folders share a database, so each test sees that no row of another workspace is read.
pub(crate) async fn open_in(server: &Postgres, folder: &Path) -> PostgresStore {
    static ADDRESS: OnceLock<String> = OnceLock::new();
    let address = ADDRESS.get_or_init(|| server.database("shared"));
    open(address, &folder.to_string_lossy()).await
}
