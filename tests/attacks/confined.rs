//! What a command in the sandbox does to other processes of its user, and reads in their home.

use std::path::Path;

use crate::files::written;
use crate::lab::{Bubblewrap, Lab};

/// Where a user keeps secrets.
const SECRETS: &[&str] = &[
    ".ssh/id_ed25519",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".mozilla/firefox/p/logins.json",
    ".config/google-chrome/Default/Cookies",
    ".config/rclone/rclone.conf",
    ".config/containers/auth.json",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".s3cfg",
    ".bash_history",
    ".databricks.cfg",
    ".snowflake/config.toml",
    ".config/stripe/config.toml",
    ".config/pypoetry/auth.toml",
    ".sentryclirc",
    ".wrangler/config/default.toml",
    ".config/Bitwarden/data.json",
    ".purple/accounts.xml",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".terraform.d/credentials.tfrc.json",
];
/// Where build tools keep what they have fetched.
const CACHES: &[&str] = &[
    ".m2/repository/a.pom",
    ".gradle/caches/a.jar",
    ".cargo/registry/a.crate",
    ".npm/_cacache/a",
    ".cache/pip/a.whl",
    ".config/pip/pip.conf",
];

#[tokio::test]
async fn secrets_in_a_home_are_hidden_and_caches_are_not() {
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        for (paths, text) in [(SECRETS, "password=HIDDEN"), (CACHES, "OPEN")] {
            for path in paths {
                let path = lab.home().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, format!("{text}\n")).unwrap();
            }
        }
        for (paths, is_open) in [(SECRETS, false), (CACHES, true)] {
            let command = format!("run `cd ~ && cat {}`", paths.join(" "));
            let output = lab.run(&["exec", "--approve", &command]).await;
            let text = written(&output);
            assert!(!text.contains("HIDDEN"), "{bubblewrap:?}: {text}");
            let open = text.lines().filter(|line| line.trim() == "OPEN").count();
            let expected = if is_open { paths.len() } else { 0 };
            assert_eq!(open, expected, "{bubblewrap:?}: {text}");
        }
    }
}

fn state_of(pid: u32) -> String {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
    let status = read("status");
    let cpus = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed:"))
        .unwrap();
    // The priority is the 19th field; the name before is in parentheses.
    let stat = read("stat");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    format!("{}{cpus} {}", read("limits"), fields[16])
}

#[tokio::test]
async fn limits_and_priorities_of_other_processes_stay_as_they_are() {
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        let mut other = lab.program(Path::new("sleep"), &["300"]).spawn().unwrap();
        let pid = other.id().unwrap();
        // Until it is that of the ordinary user.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let before = state_of(pid);
        let command = format!(
            "run `prlimit --pid {pid} --cpu=1 --nofile=1; renice -n 19 -p {pid}; renice -n 19 -u $(id -u); \
             taskset -p 1 {pid}; chrt --idle -p 0 {pid}; ionice -c 3 -p {pid}; ionice -c 3 -u $(id -u); echo tried`"
        );
        let output = lab.run(&["exec", "--approve", &command]).await;
        let text = written(&output);
        assert!(text.contains("tried"), "{bubblewrap:?}: {text}");
        assert_eq!(state_of(pid), before, "{bubblewrap:?}: {text}");
        // Its own are a program's business.
        let own = "run `ulimit -n 64 && nice -n 5 ionice -c 3 taskset 1 chrt --idle 0 echo free`";
        let output = lab.run(&["exec", "--approve", own]).await;
        let text = written(&output);
        assert!(
            text.lines().any(|line| line.trim() == "free"),
            "{bubblewrap:?}: {text}"
        );
        other.kill().await.unwrap();
    }
}
