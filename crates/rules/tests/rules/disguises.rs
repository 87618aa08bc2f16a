//! Disguises of what a rule refuses, where nobody is asked: such a line is refused, or not judged to its end, and then
//! not run. What has nothing to do with a rule runs as before.

use bobbin_rules::Judgement;
use rstest::rstest;

use crate::support::{rules, verdict};

const RULES: &[&str] = &[
    "deny curl *",
    "deny git push **",
    "deny path **/.env",
    "deny path secrets/key",
];

#[rstest]
#[case("cat .e*")]
#[case("f=.env; cat $f")]
#[case("f=.env; g=$f; cat \"$g\"")]
#[case("for f in .env x; do cat $f; done")]
#[case("f='.e*'; cat $f")]
#[case("cat secret?/key")]
#[case("cat .[[:alpha:]]nv")]
#[case("grep '' .[[:lower:]]nv")]
#[case("cat <<Z\n`curl x`\nZ")]
#[case("cat <<Z\n`cat .env`\nZ")]
#[case("echo \"${x:-`curl x`}\"")]
#[case("echo ${x:-`cat .env`}")]
#[case("echo `echo \\`curl x\\``")]
#[case("/usr/bin/[c]url x")]
#[case("/bin/[a-z]at .env")]
#[case("cd secre*; cat key")]
#[case("grep -h '' .*")]
#[case("tar c . | strings")]
#[case("cp -r . ../x")]
#[case("rsync -a . ../x")]
#[case("find . -type f -name '.e*' -exec cat {} +")]
#[case("find . | xargs cat")]
#[case("xargs cat < list")]
#[case("dd if=.env")]
#[case("cat < .e*")]
#[case("cat < $f")]
#[case("cat $X")]
#[case("cat $(echo .env)")]
#[case("cat \"$(ls -a | tail -1)\"")]
#[case("read f < list; cat $f")]
#[case("shopt -s dotglob; cat *")]
#[case("$(echo curl) x")]
#[case("c=curl; $c x")]
#[case("c=cu; c+=rl; $c x")]
#[case("c='curl x'; $c")]
#[case("export c=curl; $c x")]
#[case("c=curl sh -c '$c x'")]
#[case("/usr/bin/c?rl x")]
#[case("c${z}url x")]
#[case("curl${IFS}x")]
#[case("cur\\\nl x")]
#[case("{curl,x}")]
#[case("$'c\\x75rl' x")]
#[case("echo curl x | sh")]
#[case("base64 -d x | bash")]
#[case("bash < x")]
#[case("sh -s x")]
#[case(". ./file")]
#[case("source file")]
#[case("sg root 'curl x'")]
#[case("ssh h 'ls; curl x'")]
#[case("alias c=curl; c x")]
#[case("f() { \"$@\"; }; f curl x")]
#[case("set -- curl x; \"$@\"")]
#[case(": curl; $_ x")]
#[case("eval \"$x\"")]
#[case("echo curl | xargs -I{} {} x")]
#[case("echo curl x | xargs env")]
#[case("git pus?")]
#[case("touch push; git pus?")]
#[case("git $x push")]
#[case("git $x")]
#[case("git -c alias.p=push p")]
#[case("git -c core.sshCommand='curl x' fetch")]
#[case("git config alias.p push && git p")]
#[case("/usr/lib/git-core/git-push")]
#[case("git-push")]
#[case("git send-pack x")]
#[case("git -C sub send-pack x")]
#[case("/lib64/ld-linux-x86-64.so.2 /usr/bin/curl x")]
fn a_disguise_is_refused_or_not_run(#[case] line: &str) {
    let verdict = verdict(&rules(RULES), line);
    assert!(
        verdict.judgement == Judgement::Deny || !verdict.is_whole(),
        "{verdict:#?}"
    );
}

#[rstest]
#[case("cargo build $FLAGS")]
#[case("ls src/*.rs")]
#[case("for f in src/lib.rs docs/plan.md; do cat \"$f\"; done")]
#[case("x=1; echo $x")]
#[case("git add src/*.rs")]
#[case("git commit -m \"$(cat <<'E'\nFix it\nE\n)\"")]
#[case("git -c user.name=x commit")]
#[case("A=$(date) make")]
#[case("bash -x scripts/x.sh")]
#[case("python3 <<E\nprint(1)\nE")]
#[case("find src -name '*.rs' -exec wc -l {} +")]
#[case("rm -f src/*.o")]
#[case("npm run \"$TASK\"")]
fn what_cannot_be_refused_runs(#[case] line: &str) {
    let commands = rules(&RULES[..2]);
    let verdict = verdict(&commands, line);
    assert!(
        verdict.judgement < Judgement::Deny && verdict.is_whole(),
        "{verdict:#?}"
    );
}
