//! Whether a line is one program and nothing else: what a lasting answer about a line outside of the sandbox may be about.
//!
//! Such an answer lets the line run with the user's rights whenever the agent wants it. So the line must say which program
//! runs. A shell, an interpreter or a program that runs others does what another text says, which the agent may write.
//! Tools such as `make`, `npm` and `git` read files of the workspace too; the question warns of that.

use crate::shell::{Link, Word, steps};
use crate::wrapper::{changes_the_shell, hazard, inner_commands, name};

/// Programs that run a text from a file or from their arguments. A version behind the name does not matter.
const INTERPRETERS: &[&str] = &[
    "awk",
    "bun",
    "bunx",
    "clisp",
    "dash",
    "deno",
    "ed",
    "elixir",
    "emacs",
    "erl",
    "escript",
    "ex",
    "expect",
    "gawk",
    "ghci",
    "groovy",
    "guile",
    "iex",
    "irb",
    "java",
    "jshell",
    "julia",
    "kotlin",
    "lua",
    "luajit",
    "m4",
    "mawk",
    "node",
    "nodejs",
    "npx",
    "nvim",
    "ocaml",
    "osascript",
    "perl",
    "php",
    "pipx",
    "pnpx",
    "psql",
    "pypy",
    "python",
    "r",
    "racket",
    "rscript",
    "ruby",
    "runghc",
    "runhaskell",
    "sbcl",
    "scala",
    "sed",
    "sqlite",
    "swift",
    "tclsh",
    "ts-node",
    "tsx",
    "uvx",
    "vi",
    "vim",
    "wish",
];
/// Subcommands that run another program or a script by its name, with the programs that have them; empty for all programs.
const RUNNERS: &[(&str, &[&str])] = &[
    ("exec", &[]),
    ("dlx", &[]),
    ("x", &[]),
    (
        "run",
        &[
            "conda",
            "dart",
            "dotnet",
            "go",
            "hatch",
            "mamba",
            "micromamba",
            "pdm",
            "pipenv",
            "pixi",
            "poetry",
            "rye",
            "uv",
        ],
    ),
];

/// Whether a line is one program with known words that is no shell, no interpreter, and runs no other program that its words
/// name.
pub(crate) fn is_single_program(line: &str) -> bool {
    let Some([step]) = steps(line).and_then(|steps| <[_; 1]>::try_from(steps).ok()) else {
        return false;
    };
    let words = &step.words;
    let Some(program) = words.first().map(name) else {
        return false;
    };
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    step.link == Link::First
        && step.redirects.is_empty()
        && words.iter().all(|word| word.exact)
        && !is_interpreter(&program)
        && !runs_by_name(&program, words)
        && !matches!(program.as_str(), "cd" | "chdir")
        && !changes_the_shell(words)
        && inner_commands(words).is_none()
        && hazard(&texts, |_| false).is_none()
}

/// Whether a program's name, without its version, is that of an interpreter: `python3.12`.
fn is_interpreter(program: &str) -> bool {
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    INTERPRETERS.contains(&bare)
}

/// Whether the subcommand runs another program or a script. Options may come before it.
fn runs_by_name(program: &str, words: &[Word]) -> bool {
    words[1..].iter().any(|word| {
        let mut runners = RUNNERS.iter();
        runners.any(|(subcommand, programs)| {
            word.text == *subcommand && (programs.is_empty() || programs.contains(&program))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_program_is_told_from_what_runs_others() {
        for line in [
            "npm publish",
            "npm run deploy",
            "make install",
            "git push origin main",
            "docker-compose up -d",
            "gh pr create --title 'One thing'",
            "/usr/bin/rsync -a dist host:/srv",
            "cargo publish",
        ] {
            assert!(is_single_program(line), "{line}");
        }
        for line in [
            "",
            "sh deploy.sh",
            "bash -c 'npm publish'",
            "/bin/zsh x",
            "python3 deploy.py",
            "python3.12 -m twine upload dist/a",
            "node x.js",
            "./node_modules/.bin/tsx x.ts",
            "perl -e 1",
            "awk -f x",
            "env npm publish",
            "sudo npm publish",
            "xargs npm",
            "timeout 5 npm publish",
            "ssh host uptime",
            "docker run x",
            "find . -exec rm {} ;",
            "npm exec x",
            "pnpm dlx x",
            "bundle exec rake",
            "uv run x.py",
            "go run ./x",
            "npm publish && rm -rf x",
            "npm publish | tee log",
            "npm publish > log",
            "npm publish &",
            "npm publish $TAG",
            "npm publish $(cat tag)",
            "npm publish *.tgz",
            "TAG=1 npm publish",
            "cd dist",
            "source x",
            "eval npm",
            "git -c core.sshCommand=x push",
            "if true; then npm publish; fi",
        ] {
            assert!(!is_single_program(line), "{line}");
        }
    }
}
