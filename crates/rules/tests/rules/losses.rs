//! Lines that take away what an undo cannot bring back.

use bobbin_rules::RuleSet;

use crate::support::verdict;

#[test]
fn lines_that_lose_for_good_are_known() {
    let rules = RuleSet::default();
    for line in [
        "rm -rf .git",
        "rm -rf ./.git/",
        "rm -rf /w/.git",
        "rm -rf \"$PWD/.git\"",
        "cd src && rm -rf ../.git",
        "rm -rf ../w",
        "rm -rf .",
        "rm -rf .*",
        "rm -rf .git/objects",
        "mv .git /tmp/x",
        "mv .git .git.bak",
        "find . -delete",
        "find . -name .git -exec rm -rf {} +",
        "find .git -type f -delete",
        "sh -c 'rm -rf .git'",
        "x=1; rm -rf .git",
        "echo .git | xargs rm -rf .git",
        "make clean && git clean -fdx",
        "git clean -X -f",
        "git -C src clean -xdf",
        "git stash drop",
        "git stash clear",
        "git branch -D old",
        "git branch -d -f old",
        "git branch --delete --force old",
        "git reflog expire --expire=now --all",
        "git reflog delete HEAD@{1}",
        "git gc --prune=now",
        "git prune",
        "git tag -d v1",
        "git update-ref -d refs/heads/x",
        "git filter-branch x",
    ] {
        assert!(verdict(&rules, line).loses, "{line}");
    }
}

#[test]
fn their_neighbours_are_not_among_them() {
    let rules = RuleSet::default();
    for line in [
        "rm -rf src",
        "rm -rf target *.o",
        "rm .env",
        "rm -f .git/index.lock",
        "rm .gitignore",
        "mv src/a src/b",
        "find . -name '*.pyc' -delete",
        "find . -type f -not -path './.git/*' -delete",
        "find . -type d -empty -delete",
        "git clean -fd",
        "git clean -ndx",
        "git stash",
        "git stash pop",
        "git branch -d old",
        "git branch new",
        "git reflog",
        "git gc",
        "git gc --no-prune",
        "git tag v1",
        "git reset --hard",
        "git commit -m 'git stash drop'",
        "echo rm -rf .git",
        "ls .git",
    ] {
        assert!(!verdict(&rules, line).loses, "{line}");
    }
}
