//! Judges an agent's calls by the users' rules.
//!
//! `bobbin-rules` judges texts and asks where paths lead. This module answers with the file tools' own resolution, so
//! that a path means the same to a command and to a tool. It also translates verdicts for the agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_agent_api::policy::{
    AppliedRule, CommandRuling, Judgement, PathAccess, Policy, Ruling, SearchBound, WritableProgram,
};
use bobbin_rules::{Because, Look, PathUse, Places, ResolvedPath, Rule, RuleSet};

use crate::contents::{Contents, MAX_ENTRIES};
use crate::programs::Programs;
use crate::reserved::Reserved;
use crate::run_later::is_run_later;
use crate::secrets::is_secret;
use crate::trace::{TraceStatus, trace};
use crate::{refused, repository};

/// A [`Policy`] made of rules. Without rules, it allows commands that can do no more than the reading tools, and asks
/// about all others. It also asks about reading files whose names promise secrets, and about writing files that other
/// programs run.
#[derive(Debug, Default)]
pub struct RulesPolicy {
    rules: RuleSet,
    guarded: Vec<PathBuf>,
    worktrees: Option<WorktreesOf>,
    outputs: Option<PathBuf>,
    programs: Programs,
}

/// A workspace, and the directory with its worktrees.
#[derive(Debug, Clone)]
struct WorktreesOf {
    directory: PathBuf,
    workspace: PathBuf,
}

impl RulesPolicy {
    /// Returns the policy of these rules.
    pub fn new(rules: RuleSet) -> Self {
        Self {
            rules,
            guarded: Vec::new(),
            worktrees: None,
            outputs: None,
            programs: Programs::default(),
        }
    }

    /// Sets the directory, absolute and free of links, with the output of commands: `THREAD/ID.log` each.
    #[must_use]
    pub fn showing(mut self, outputs: PathBuf) -> Self {
        self.outputs = Some(outputs);
        self
    }

    /// Sets the directory with worktrees of a workspace, both absolute and free of links. An agent that works in one uses
    /// its files, even if the directory is in a guarded place, and the rules for files of the workspace count for it too.
    #[must_use]
    pub fn working_in(mut self, directory: PathBuf, workspace: PathBuf) -> Self {
        self.worktrees = Some(WorktreesOf { directory, workspace });
        self
    }

    /// Returns the worktree that a folder lies in.
    fn worktree(&self, root: &Path) -> Option<PathBuf> {
        let directory = &self.worktrees.as_ref()?.directory;
        let name = root.strip_prefix(directory).ok()?.components().next()?;
        Some(directory.join(name))
    }

    /// Returns the workspace, for an agent that works in a worktree of it.
    fn workspace_of(&self, root: &Path) -> Option<&Path> {
        self.worktree(root)?;
        Some(&self.worktrees.as_ref()?.workspace)
    }

    /// Sets the search for the programs of command lines. A line that starts a program which the agent may write needs
    /// an approval.
    #[must_use]
    pub fn finding(self, programs: Programs) -> Self {
        Self { programs, ..self }
    }

    /// Adds absolute paths with secrets, such as keys. No tool or plain read uses them without an approval, even inside
    /// the workspace. A rule for paths has precedence.
    #[must_use]
    pub fn guarding(mut self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        // Places that do not exist yet count too.
        let real = |place: PathBuf| match place.to_str().map(|text| trace(Path::new("/"), text, None)) {
            Some(Ok(trace)) => trace.path,
            _ => place.components().collect(),
        };
        self.guarded.extend(places.into_iter().map(real));
        self
    }

    fn ruling(&self, judgement: bobbin_rules::Judgement, because: &Because) -> Ruling {
        let rule = match because {
            Because::Rule(at) => self.rules.rules().get(*at),
            _ => None,
        };
        let reason = match because {
            Because::PlainRead => "it only reads in the workspace".to_owned(),
            Because::Ambiguity(ambiguity) => ambiguity.to_string(),
            Because::ShowsReserved => {
                "it searches a directory with .git, .craft or files with secrets in it, which rg leaves out"
                    .to_owned()
            }
            Because::NoRule => "no rule allows it".to_owned(),
            Because::Rule(_) => rule.map_or_else(String::new, |rule| {
                let why = rule
                    .reason
                    .as_ref()
                    .map_or_else(String::new, |why| format!(": {why}"));
                format!("the rule \"{rule}\" of {} says so{why}", rule.source)
            }),
        };
        Ruling {
            judgement: match judgement {
                bobbin_rules::Judgement::Allow => Judgement::Allow,
                bobbin_rules::Judgement::Ask => Judgement::Ask,
                bobbin_rules::Judgement::Deny => Judgement::Deny,
            },
            reason,
            rule: rule.map(applied),
        }
    }
}

fn applied(rule: &Rule) -> AppliedRule {
    AppliedRule {
        rule: rule.to_string(),
        source: rule.source.clone(),
        reason: rule.reason.clone(),
    }
}

impl Policy for RulesPolicy {
    fn rules(&self) -> Vec<AppliedRule> {
        self.rules.rules().iter().map(applied).collect()
    }

    fn allowing(&self, rules: &[String]) -> Result<Arc<dyn Policy>, String> {
        Ok(Arc::new(Self {
            rules: self.rules.allowing(rules).map_err(|error| error.to_string())?,
            guarded: self.guarded.clone(),
            worktrees: self.worktrees.clone(),
            outputs: self.outputs.clone(),
            programs: self.programs.clone(),
        }))
    }

    fn refused(&self, root: &Path) -> Result<Vec<PathBuf>, SearchBound> {
        let mut places = refused::refused(&self.rules, root)?;
        if let Some(workspace) = self.workspace_of(root) {
            places.extend(refused::refused(&self.rules, workspace)?);
        }
        Ok(places)
    }

    fn reserved(&self, root: &Path) -> Result<Vec<PathBuf>, SearchBound> {
        let disk = Disk::of(root, &self.guarded, self.worktree(root));
        refused::found(root, &|path| disk.is_reserved(path))
    }

    fn command(&self, command: &str, root: &Path) -> CommandRuling {
        let verdict = self
            .rules
            .command(command, &Disk::of(root, &self.guarded, self.worktree(root)));
        let commands = verdict.parts.iter();
        let missed = verdict.missed().filter(|_| self.rules.refuses());
        let programs = self.programs.writable(&verdict.programs, root);
        let mut ruling = self.ruling(verdict.judgement, &verdict.because);
        if ruling.judgement == Judgement::Allow && !programs.is_empty() {
            ruling = Ruling {
                judgement: Judgement::Ask,
                reason: "it starts a program that the agent may write".to_owned(),
                rule: None,
            };
        }
        CommandRuling {
            unseen: missed.map(|why| {
                format!("{why} (it cannot be held against the rules to its end, some of which refuse, and this thread asks nobody)")
            }),
            ruling,
            // A rule may ask about a part that could not be judged.
            rule_asks: verdict.rule_asks || (!verdict.is_whole() && !self.rules.rules().is_empty()),
            changes_git_settings: verdict.changes_git_settings,
            loses: verdict.loses,
            shows_reserved: verdict.shows_reserved && programs.is_empty(),
            project_programs: verdict.project_programs,
            head: verdict.head,
            single_program: verdict.single_program,
            names: verdict.programs,
            programs,
            commands: commands
                .map(|part| (part.text.clone(), self.ruling(part.judgement, &part.because)))
                .collect(),
            concerns: verdict.ambiguities.iter().map(ToString::to_string).collect(),
        }
    }

    fn path(&self, access: PathAccess, path: &Path, root: &Path) -> Option<Ruling> {
        let used = match access {
            PathAccess::Read => PathUse::Read,
            PathAccess::Write => PathUse::Write,
        };
        let of_workspace = || {
            let workspace = self.workspace_of(root)?;
            self.rules
                .path(used, path, workspace)
                .filter(|_| path.starts_with(workspace))
        };
        if let Some((judgement, rule)) = self.rules.path(used, path, root).or_else(of_workspace) {
            return Some(self.ruling(judgement, &Because::Rule(rule)));
        }
        // Bytes first: a walk of a large workspace asks this of every file.
        let bytes = path.as_os_str().as_encoded_bytes();
        let is_guarded = self.guarded.iter().any(|place| {
            bytes.starts_with(place.as_os_str().as_encoded_bytes())
                && path.starts_with(place)
                && guards(place, path, self.worktree(root).as_deref())
        });
        let reason = match access {
            _ if is_guarded && !self.is_output(path) => "keys are stored there",
            PathAccess::Read if is_secret(path) => "a file of this name usually has secrets in it",
            PathAccess::Write if is_run_later(path, root) => {
                "other programs run what a file of this name says, outside of the sandbox"
            }
            PathAccess::Read | PathAccess::Write => return None,
        };
        Some(Ruling {
            judgement: Judgement::Ask,
            reason: reason.to_owned(),
            rule: None,
        })
    }

    fn tool(&self, name: &str) -> Option<Ruling> {
        let (judgement, rule) = self.rules.tool(name)?;
        Some(self.ruling(judgement, &Because::Rule(rule)))
    }

    fn is_output(&self, path: &Path) -> bool {
        let Some(outputs) = &self.outputs else {
            return false;
        };
        let inside = path.strip_prefix(outputs);
        let depth = inside.map_or(0, |inside| inside.components().count());
        let endings = ["log", "png", "jpeg", "gif", "webp"];
        let is_shown = |ending: &std::ffi::OsStr| endings.iter().any(|known| ending == *known);
        depth == 2 && path.extension().is_some_and(is_shown)
    }

    fn programs(&self, names: &[String], root: &Path) -> Vec<WritableProgram> {
        self.programs.writable(names, root)
    }

    fn search_path(&self, root: &Path) -> Option<OsString> {
        self.programs.search_path(root)
    }

    fn home(&self) -> Option<&Path> {
        self.rules.home()
    }
}

/// Whether a guarded place around a path counts for an agent in a worktree: not if the worktree lies between them.
fn guards(place: &Path, path: &Path, worktree: Option<&Path>) -> bool {
    !worktree.is_some_and(|worktree| path.starts_with(worktree) && worktree.starts_with(place))
}

/// Resolves paths of a workspace on this disk.
struct Disk<'a> {
    root: &'a Path,
    reserved: Reserved,
    guarded: &'a [PathBuf],
    /// The worktree that the root is in.
    worktree: Option<PathBuf>,
    contents: Contents,
}

impl<'a> Disk<'a> {
    fn of(root: &'a Path, guarded: &'a [PathBuf], worktree: Option<PathBuf>) -> Self {
        Self {
            root,
            guarded,
            worktree,
            reserved: Reserved::of(root),
            contents: Contents::default(),
        }
    }

    fn is_guarded(&self, path: &Path) -> bool {
        let lies_in =
            |place: &PathBuf| path.starts_with(place) && guards(place, path, self.worktree.as_deref());
        is_secret(path) || self.guarded.iter().any(lies_in)
    }
}

impl Places for Disk<'_> {
    fn root(&self) -> &Path {
        self.root
    }

    fn find(&self, directory: &Path, text: &str) -> Option<ResolvedPath> {
        let trace = trace(directory, text, Some(directory)).ok()?;
        let status = match self.reserved.status(&trace) {
            // The path was resolved for this process, but another one uses it.
            _ if trace.through_processes => bobbin_rules::PathStatus::Unknown,
            TraceStatus::Inside if self.is_guarded(&trace.path) => bobbin_rules::PathStatus::Reserved,
            TraceStatus::Inside => bobbin_rules::PathStatus::Inside,
            TraceStatus::Reserved => bobbin_rules::PathStatus::Reserved,
            TraceStatus::Outside => bobbin_rules::PathStatus::Outside,
        };
        Some(ResolvedPath {
            path: trace.path,
            status,
        })
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn names(&self, directory: &Path) -> Option<Vec<String>> {
        let Ok(entries) = std::fs::read_dir(directory) else {
            return Some(Vec::new());
        };
        let mut names = Vec::new();
        for entry in entries.take(MAX_ENTRIES + 1).flatten() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        (names.len() <= MAX_ENTRIES).then_some(names)
    }

    fn is_reserved(&self, path: &Path) -> bool {
        self.reserved.covers(path) || self.is_guarded(path)
    }

    fn is_plain_repository(&self) -> bool {
        repository::is_plain(self.root)
    }

    fn contains(&self, directory: &Path, look: Look, fits: &dyn Fn(&Path) -> bool) -> bool {
        self.contents.contains(directory, look, fits)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use bobbin_rules::RuleText;

    use super::*;
    use bobbin_testkit::Folder as Workspace;

    fn command(action: &str, pattern: &str) -> RuleText {
        RuleText {
            action: action.to_owned(),
            command: Some(pattern.to_owned()),
            source: "~/.craft/config.json".to_owned(),
            reason: Some("we release on Fridays".to_owned()),
            ..RuleText::default()
        }
    }

    #[test]
    fn what_one_turn_allows_beats_no_rule_that_refuses() {
        let workspace = Workspace::new();
        let rules = RuleSet::new([command("deny", "git push *")], None).unwrap();
        let configured = RulesPolicy::new(rules);
        let own = ["make *", "git *", "tool:mcp__pot__pour"].map(str::to_owned);
        let of_turn = configured.allowing(&own).unwrap();
        let judged =
            |policy: &dyn Policy, line: &str| policy.command(line, workspace.root()).ruling.judgement;
        assert_eq!(judged(&configured, "make tea"), Judgement::Ask);
        assert_eq!(judged(&*of_turn, "make tea"), Judgement::Allow);
        assert_eq!(judged(&*of_turn, "git push origin"), Judgement::Deny);
        let tool = of_turn.tool("mcp__pot__pour").unwrap();
        assert_eq!(tool.rule.unwrap().source, "--allow");
        assert!(configured.allowing(&[String::new()]).is_err());
    }

    #[test]
    fn files_with_secrets_are_asked_about_unless_a_rule_allows_them() {
        let workspace = Workspace::new();
        for path in [".env", ".env.example", "keys/server.pem", "src/lib.rs"] {
            workspace.write(path, "x");
        }
        let policy = RulesPolicy::default();
        for (line, judgement) in [
            ("cat .env", Judgement::Ask),
            ("cat .env.example src/lib.rs", Judgement::Allow),
            ("head -1 keys/*", Judgement::Ask),
            ("grep -r x keys", Judgement::Ask),
            ("grep -r x src", Judgement::Allow),
            ("grep -rn x .", Judgement::Ask),
            ("ls -la", Judgement::Allow),
        ] {
            let said = policy.command(line, workspace.root()).ruling;
            assert_eq!(said.judgement, judgement, "{line}: {}", said.reason);
        }
        let reason = |line: &str| policy.command(line, workspace.root()).ruling.reason;
        assert!(
            reason("grep -rn x .").contains("searches a directory"),
            "{}",
            reason("grep -rn x .")
        );
        assert_eq!(reason("make"), "no rule allows it");
        let path = |policy: &RulesPolicy, access, name: &str| {
            let said = policy.path(access, &workspace.root().join(name), workspace.root());
            said.map(|said| said.judgement)
        };
        assert_eq!(path(&policy, PathAccess::Read, ".env"), Some(Judgement::Ask));
        assert_eq!(path(&policy, PathAccess::Write, ".env"), None);
        assert_eq!(path(&policy, PathAccess::Read, ".vscode/tasks.json"), None);
        assert_eq!(
            path(&policy, PathAccess::Write, ".vscode/tasks.json"),
            Some(Judgement::Ask)
        );
        assert_eq!(path(&policy, PathAccess::Read, ".env.example"), None);
        let rule = RuleText {
            action: "allow".to_owned(),
            path: Some(".env".to_owned()),
            source: "~/.craft/config.json".to_owned(),
            ..RuleText::default()
        };
        let allowing = RulesPolicy::new(RuleSet::new([rule], None).unwrap());
        assert_eq!(path(&allowing, PathAccess::Read, ".env"), Some(Judgement::Allow));
    }

    #[test]
    fn links_are_followed_before_a_command_is_judged() {
        let workspace = Workspace::new();
        workspace.write("src/lib.rs", "l");
        symlink(workspace.outside(), workspace.root().join("leak")).unwrap();
        symlink(workspace.root().join("src"), workspace.root().join("alias")).unwrap();
        let policy = RulesPolicy::default();
        for (line, judgement) in [
            ("cat src/lib.rs", Judgement::Allow),
            ("cat alias/lib.rs", Judgement::Allow),
            // The rest of a line after `cd` through a link is not followed.
            ("cd alias && cat lib.rs", Judgement::Ask),
            ("cd src && cat lib.rs", Judgement::Allow),
            ("cd alias/../.. && cat outside.txt", Judgement::Ask),
            ("cd alias/.. && cat ../outside.txt", Judgement::Ask),
            ("cd alias/.. && cat .craft/config.json", Judgement::Ask),
            ("cat /proc/self/cwd/src/lib.rs", Judgement::Ask),
            ("cat /dev/fd/0", Judgement::Ask),
            ("cat < /dev/stdin", Judgement::Ask),
            ("cat leak/secret", Judgement::Ask),
            ("ls leak", Judgement::Ask),
            ("cd leak && ls", Judgement::Ask),
            ("cd src && cat ../leak/secret", Judgement::Ask),
            ("cat leak/../src/lib.rs", Judgement::Ask),
        ] {
            assert_eq!(
                policy.command(line, workspace.root()).ruling.judgement,
                judgement,
                "{line}"
            );
        }
    }

    #[test]
    fn a_line_that_leads_out_through_a_link_stands_for_itself() {
        let workspace = Workspace::new();
        workspace.write("src/lib.rs", "l");
        symlink(workspace.outside(), workspace.root().join("leak")).unwrap();
        let head = |line: &str| RulesPolicy::default().command(line, workspace.root()).head;
        assert_eq!(head("touch src/new").as_deref(), Some("touch"));
        assert_eq!(head("git commit -m 'a: b/c'").as_deref(), Some("git commit"));
        for line in [
            "touch leak/x",
            "mkdir -p leak/a/b",
            "touch .craft/x",
            "git diff main:leak/x",
        ] {
            assert_eq!(head(line), None, "{line}");
        }
    }

    #[test]
    fn a_refused_path_is_refused_through_links_and_processes() {
        let workspace = Workspace::new();
        for path in ["sub/deep/er/x", "secrets/key"] {
            workspace.write(path, "x");
        }
        symlink("sub/deep/er", workspace.root().join("alias")).unwrap();
        let rule = RuleText {
            action: "deny".to_owned(),
            path: Some("secrets/key".to_owned()),
            ..RuleText::default()
        };
        let policy = RulesPolicy::new(RuleSet::new([rule, command("allow", "cd *")], None).unwrap());
        for line in [
            "cd alias && cd .. && cd secrets && cat key",
            "cd secrets && cat /proc/self/cwd/key",
            "cd secrets && cat /proc/thread-self/cwd/key",
            "cat /proc/self/root/proc/self/cwd/secrets/key",
            "cd secrets && cat < key",
            "cd alias/../secrets; cat key",
        ] {
            let ruling = policy.command(line, workspace.root()).ruling;
            assert_eq!(ruling.judgement, Judgement::Deny, "{line}: {}", ruling.reason);
        }
        let ruling = policy.command("cat /proc/self/fd/9", workspace.root());
        assert!(ruling.unseen.is_some(), "{ruling:?}");
        assert!(
            RulesPolicy::default()
                .command("cat /proc/self/fd/9", workspace.root())
                .unseen
                .is_none()
        );
    }

    #[test]
    fn what_is_kept_back_below_a_directory_is_found_on_the_disk() {
        let workspace = Workspace::new();
        for path in [
            "src/lib.rs",
            "app/deep/.env",
            "app/shown",
            "ignored/.git/x",
            "ignored/key",
        ] {
            workspace.write(path, "x");
        }
        workspace.write("ignored/.gitignore", "key");
        for number in 0..=MAX_ENTRIES {
            workspace.write(&format!("many/{number}"), "");
        }
        symlink(workspace.outside(), workspace.root().join("src/leak")).unwrap();
        let rule = |path: &str| RuleText {
            action: "deny".to_owned(),
            path: Some(path.to_owned()),
            ..RuleText::default()
        };
        let allowed = ["grep *", "rg *"].map(|pattern| command("allow", pattern));
        let rules = [rule("**/.env"), rule("**/key")].into_iter().chain(allowed);
        let policy = RulesPolicy::new(RuleSet::new(rules, None).unwrap());
        for (line, judgement) in [
            ("grep -r x src", Judgement::Allow),
            ("grep -r x app", Judgement::Ask),
            ("grep -r x ignored", Judgement::Ask),
            ("grep -r x .", Judgement::Ask),
            ("grep -r x nothing", Judgement::Allow),
            ("grep -r x many", Judgement::Ask),
            ("grep -R x src", Judgement::Ask),
            ("rg x app", Judgement::Allow),
            ("rg x ignored", Judgement::Allow),
            ("rg --hidden x app", Judgement::Ask),
            ("rg -u x ignored", Judgement::Ask),
            ("rg -tsh x app", Judgement::Ask),
            ("rg -g '*' x app", Judgement::Ask),
            ("rg -g '!*.md' x app", Judgement::Allow),
            ("rg -g '*.rs' x app", Judgement::Allow),
        ] {
            let ruling = policy.command(line, workspace.root());
            assert_eq!(ruling.ruling.judgement, judgement, "{line}: {ruling:?}");
            assert_eq!(ruling.unseen.is_some(), judgement == Judgement::Ask, "{line}");
        }
    }

    #[test]
    fn a_ruling_names_the_rule_where_it_is_written_and_why() {
        let rules = RuleSet::new([command("deny", "cargo publish")], None).unwrap();
        let ruling = RulesPolicy::new(rules).command("ls && cargo publish --dry-run", Path::new("/"));
        assert_eq!(
            ruling.ruling.reason,
            "the rule \"deny command `cargo publish`\" of ~/.craft/config.json says so: we release on Fridays"
        );
        assert_eq!(ruling.commands.len(), 2);
        assert_eq!(ruling.commands[1].1, ruling.ruling);
    }

    #[test]
    fn where_keys_are_kept_is_asked_about_in_a_workspace_too() {
        let workspace = Workspace::new();
        for path in ["home/.ssh/id", "home/kept/config.json", "home/src/a"] {
            workspace.write(path, "x");
        }
        let home = workspace.root().join("home");
        // The home's own settings, under another name.
        symlink("kept", home.join(".craft")).unwrap();
        let rule = RuleText {
            action: "allow".to_owned(),
            path: Some("home/.ssh/known".to_owned()),
            ..RuleText::default()
        };
        let policy = RulesPolicy::new(RuleSet::new([rule], None).unwrap());
        let policy = policy.guarding([".ssh", ".craft", ".aws"].map(|name| home.join(name)));
        for (line, judgement) in [
            ("cat home/.ssh/id", Judgement::Ask),
            ("cd home/.ssh && cat id", Judgement::Ask),
            ("cat home/kept/config.json", Judgement::Ask),
            ("cat home/.aws/credentials", Judgement::Ask),
            ("cat home/src/a", Judgement::Allow),
        ] {
            assert_eq!(
                policy.command(line, workspace.root()).ruling.judgement,
                judgement,
                "{line}"
            );
        }
        let path = |path: &str| {
            let ruling = policy.path(PathAccess::Write, &home.join(path), workspace.root());
            ruling.map(|ruling| ruling.judgement)
        };
        assert_eq!(path(".ssh/authorized_keys"), Some(Judgement::Ask));
        assert_eq!(path("kept/config.json"), Some(Judgement::Ask));
        assert_eq!(path(".ssh/known"), Some(Judgement::Allow));
        assert_eq!(path("src/a"), None);
    }

    #[test]
    fn an_agent_in_a_worktree_uses_its_files_and_no_others_of_the_guarded_place() {
        let workspace = Workspace::new();
        for path in [
            "state/worktrees/a/leaf",
            "state/worktrees/b/leaf",
            "state/bobbin.db",
        ] {
            workspace.write(path, "x");
        }
        let state = workspace.root().join("state");
        let policy = RulesPolicy::new(RuleSet::default()).guarding([state.clone()]);
        let policy = policy.working_in(state.join("worktrees"), workspace.root().join("work"));
        let own = state.join("worktrees/a");
        let read = |path: &str, root: &Path| policy.path(PathAccess::Read, &state.join(path), root).is_none();
        assert!(read("worktrees/a/leaf", &own));
        assert!(!read("worktrees/b/leaf", &own) && !read("bobbin.db", &own));
        assert!(!read("worktrees/a/leaf", workspace.root()));
        assert!(!read("worktrees/a/leaf", &state.join("worktrees")));
        let line = |line: &str| policy.command(line, &own).ruling.judgement;
        assert_eq!(line("cat leaf"), Judgement::Allow);
        assert_eq!(line("cat ../../bobbin.db"), Judgement::Ask);
        assert_eq!(line("cat ../b/leaf"), Judgement::Ask);
    }

    #[test]
    fn a_rule_for_files_of_the_workspace_counts_in_its_worktrees_too() {
        let workspace = Workspace::new();
        for path in ["work/secrets/a", "trees/a/secrets/a", "trees/a/b"] {
            workspace.write(path, "x");
        }
        let rule = RuleText {
            action: "deny".to_owned(),
            path: Some("secrets/**".to_owned()),
            ..RuleText::default()
        };
        let (work, trees) = (workspace.root().join("work"), workspace.root().join("trees"));
        let policy = RulesPolicy::new(RuleSet::new([rule], None).unwrap());
        let policy = policy.working_in(trees.clone(), work.clone());
        let own = trees.join("a");
        let refused = policy.refused(&own).unwrap();
        for top in [&own, &work] {
            let hides = |place: &PathBuf| top.join("secrets/a").starts_with(place);
            assert!(refused.iter().any(hides), "{refused:?}");
            let ruling = policy
                .path(PathAccess::Read, &top.join("secrets/a"), &own)
                .unwrap();
            assert_eq!(ruling.judgement, Judgement::Deny);
        }
        assert!(policy.path(PathAccess::Read, &own.join("b"), &own).is_none());
    }
}
