use std::os::unix::fs::PermissionsExt as _;

use bobbin_children::{Children, Environment};
use bobbin_tools::{Git, Sandbox};

use super::*;

/// A folder with a `git` that counts its runs: it notes each in `runs`, and waits for the file `go`.
struct Kitchen {
    _dir: tempfile::TempDir,
    root: PathBuf,
    states: GitStates,
}

const GIT: &str = "#!/bin/sh\n\
    case \"$*\" in *status*) echo run >>\"$0.runs\"; while ! [ -e \"$0.go\" ]; do sleep 0.01; done; echo '## tea';; esac\n";

impl Kitchen {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (root, programs) = (dir.path().join("work"), dir.path().join("programs"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&programs).unwrap();
        let git = programs.join("git");
        std::fs::write(&git, GIT).unwrap();
        std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut environment = Environment::empty();
        environment.set("PATH", format!("{}:/usr/bin:/bin", programs.display()));
        let git = Git::new(Children::new(None), environment, Sandbox::default());
        Self {
            _dir: dir,
            root,
            states: GitStates::new(git),
        }
    }

    fn beside_git(&self, end: &str) -> PathBuf {
        self.root
            .parent()
            .unwrap()
            .join("programs")
            .join(format!("git.{end}"))
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.beside_git("runs")).map_or(0, |runs| runs.lines().count())
    }

    fn go(&self) {
        std::fs::write(self.beside_git("go"), "").unwrap();
    }

    async fn of(&self, thread: &str) -> Option<Arc<str>> {
        self.states.of(&ThreadId::new(thread), &self.root).await
    }
}

#[tokio::test]
async fn git_is_not_run_outside_of_a_repository() {
    let kitchen = Kitchen::new();
    kitchen.go();
    assert_eq!(kitchen.of("thread_1").await, None);
    assert_eq!(kitchen.runs(), 0);
}

#[tokio::test]
async fn the_state_of_a_thread_stays_and_another_gets_a_new_one() {
    let kitchen = Kitchen::new();
    std::fs::create_dir(kitchen.root.join(".git")).unwrap();
    kitchen.go();
    let first = kitchen.of("thread_1").await.unwrap();
    assert!(first.starts_with("Branch: tea"), "{first}");
    assert_eq!(kitchen.of("thread_1").await, Some(first));
    assert_eq!(kitchen.runs(), 1);
    assert!(kitchen.of("thread_2").await.is_some());
    assert_eq!(kitchen.runs(), 2);
}

#[tokio::test]
async fn a_folder_of_a_repository_is_asked_too() {
    let kitchen = Kitchen::new();
    std::fs::create_dir(kitchen.root.join(".git")).unwrap();
    let leaves = kitchen.root.join("leaves");
    std::fs::create_dir(&leaves).unwrap();
    kitchen.go();
    let state = kitchen.states.of(&ThreadId::new("thread_1"), &leaves).await;
    assert!(state.is_some());
}

#[tokio::test]
async fn threads_that_wait_share_one_run() {
    let kitchen = Kitchen::new();
    std::fs::create_dir(kitchen.root.join(".git")).unwrap();
    let names: Vec<String> = (0..10).map(|number| format!("thread_{number}")).collect();
    let opening = async {
        // The first run is under way before others ask; the others come while it lasts.
        while kitchen.runs() == 0 {
            tokio::task::yield_now().await;
        }
        let later = futures_util::future::join_all(names[1..].iter().map(|name| kitchen.of(name)));
        let release = async {
            tokio::task::yield_now().await;
            kitchen.go();
        };
        tokio::join!(later, release).0
    };
    let (first, others) = tokio::join!(kitchen.of(&names[0]), opening);
    assert!(first.is_some() && others.iter().all(Option::is_some));
    assert_eq!(kitchen.runs(), 2);
}
