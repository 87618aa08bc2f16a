//! Lines that only read, as people and models write them all day: next to none is asked about, without any rule.

use bobbin_rules::{Judgement, RuleSet};

use crate::support::judged;

/// One line each; `?` in front of those that are asked about all the same.
const LINES: &str = r#"
ls
ls -lah src
ls -alt
ls -R src
ls *.md
ls src/*.rs
ls --color=never
tree -L 2
cat -A src/a
head -20 src/a
head -n -5 src/a
head -c 100 src/a
tail -n 20 src/a
wc -l *.rs
nl -ba src/a
sed -n '1,20p' src/a
sed -n 1,5p src/a
awk '{print $1}' src/a
cut -d: -f1 src/a
sort -u src/a
uniq src/a
sort src/a | uniq -c | sort -rn | head
tr a b < src/a
diff src/a src/b
cmp src/a src/b
file src/a
stat src/a
du -sh .
df -h
find . -name '*.rs'
find . -type f
find src -maxdepth 1
find . \( -name a -o -name b \)
grep -n x src/a
grep -rn x src
grep -rn "x y" .
grep -r --include=*.rs x .
grep -A3 x src/a
grep -B3 -A3 x src/a
grep -C 3 x src/a
grep -E 'a|b' src/a
grep -e a -e b src/a
grep "a\.b" src/a
rg -n x src
git status --short
git --no-pager diff
git log --oneline -5
git log -5
git diff --stat
git diff HEAD~1
git diff HEAD^
git show HEAD
git branch -a
git rev-parse HEAD
git ls-files
git blame src/a
git remote -v
git stash list
echo "hello world"
printf '%s\n' x
true
date
whoami
uname -a
which cargo node
type ls
python3 --version
basename src/a
realpath src/a
readlink src/a
sha256sum src/a
xxd src/a
od -c src/a
hexdump -C src/a
jq . package.json
test -f src/a && echo yes
[ -f src/a ] && echo yes
cd src; ls
cat src/a | wc -l
cat src/a src/b | sort | uniq
ls src 2>/dev/null | head -5
cat größe.txt
cat a\ b.txt
cat src/a;
column -t src/a
comm src/a src/b
paste src/a src/b
seq 1 3
expr 1 + 1
time ls src
LC_ALL=C ls src # sorted by bytes
printenv PATH
ls -la "$PWD"
cat "$PWD/src/a" "$PWD"/src/b
cd src && ls "$PWD"
? env
? printenv HOME SECRET
? PWD=/etc; ls "$PWD"
? read PWD < src/a; ls "$PWD"
? ls -la $PWD
? ls -la "$PWD"x
? ls -la x"$PWD"
? cat "$PWD/../x"
? cat "$OLDPWD/x"
? ls -la $(pwd)
? for f in src/*; do echo $f; done
"#;

#[test]
fn lines_that_only_read_are_free() {
    let rules = RuleSet::default();
    for line in LINES.lines().filter(|line| !line.is_empty()) {
        let (line, expected) = match line.strip_prefix("? ") {
            Some(line) => (line, Judgement::Ask),
            None => (line, Judgement::Allow),
        };
        assert_eq!(judged(&rules, line), expected, "{line}");
    }
}

#[test]
fn their_relatives_that_run_or_write_or_leave_are_not() {
    let rules = RuleSet::default();
    for line in [
        "sed -i s/a/b/ src/a",
        "sed -n '1e ./x' src/a",
        "sed -n p /etc/passwd",
        "sed w.out src/a -n p",
        "awk 'BEGIN{system(\"id\")}' src/a",
        "awk '{print > \"x\"}' src/a",
        "awk '{print}' /etc/passwd",
        "awk '{print}' ARGV=x src/a",
        "awk 'BEGIN{ARGV[1]=\"/etc/passwd\"}{print}' src/a",
        "awk -v x=1 '{print}' src/a",
        "awk -f x src/a",
        "find / -name x",
        "find . -delete",
        "find . -exec ls {} +",
        "find -L . -name x",
        "find . -newer /etc/passwd",
        "find . -fprintf x y",
        "sort -o x src/a",
        "sort --compress-program=./x src/a",
        "uniq src/a src/b",
        "xxd src/a src/b",
        "xxd -r src/a",
        "diff src alias",
        "diff -r src alias",
        "date -s x",
        "date 01010101",
        "hostname x",
        "tree -o x",
        "tree -l",
        "rg --pre ./x y",
        "rg -L x src",
        "grep -R x src",
        "grep -f /etc/passwd x",
        "jq env package.json",
        "jq -n '$ENV'",
        "jq -f x package.json",
        "jq . /etc/passwd",
        "test -v 'a[$(id)]'",
        "[ -v x ]",
        "printf -v PATH %s x",
        "file -f src/a",
        "file -C -m x",
        "md5sum -c src/a",
        "tail -f src/a",
        "ls -LR",
        "du -L .",
        "cargo --version",
        "LD_PRELOAD=./x.so ls",
        "GIT_PAGER=./x git log",
        "PATH=. ls",
        "git -c core.pager=./x log",
        "git diff --ext-diff",
        "git diff --no-index /etc/passwd src/a",
        "git diff /etc/passwd src/a",
        "git diff ../x src/a",
        "git log --format=%G?",
        "git log --show-signature",
        "git log --output=x",
        "git branch new",
        "git tag new",
        "git stash",
        "git remote add a b",
        "git fetch",
        "git config core.pager x",
        "cd src && git status",
        "cat *.md > x",
        "cat ../*",
        "cat .*",
    ] {
        assert_eq!(judged(&rules, line), Judgement::Ask, "{line}");
    }
}
