//! Options that make a program do something unexpected: run another program, or write.
//!
//! They matter only to rules that allow; a rule that should allow such an option names it. The list covers known
//! cases. A rule that ends with `*` allows unlisted programs and options.

use super::more::MORE;
use super::{git, scripts, values};

/// A program's hazardous options.
struct Hazards {
    name: &'static str,
    /// One letter after one dash, alone or among others.
    letters: &'static str,
    /// One letter after one dash, but only before the first operand.
    early: &'static str,
    /// Words that start with one dash or none, whole.
    words: &'static [&'static str],
    /// Options with two dashes, which may be abbreviated.
    long: &'static [&'static str],
}

const HAZARDS: &[Hazards] = &[
    Hazards {
        name: "find",
        letters: "",
        early: "",
        words: &[
            "-delete",
            "-fprint",
            "-fprint0",
            "-fprintf",
            "-fls",
            "-files0-from",
        ],
        long: &[],
    },
    Hazards {
        name: "rg",
        letters: "z",
        early: "",
        words: &[],
        long: &["pre", "hostname-bin", "search-zip"],
    },
    Hazards {
        name: "git",
        letters: "O",
        early: "cCp",
        words: &["-x"],
        long: &[
            "config-env",
            "exec-path",
            "paginate",
            "git-dir",
            "work-tree",
            "namespace",
            "upload-pack",
            "receive-pack",
            "ext-diff",
            "textconv",
            "output",
            "open-files-in-pager",
            "exec",
            "gpg-sign",
            "template",
            "separate-git-dir",
            "config",
            "extcmd",
        ],
    },
    Hazards {
        name: "sort",
        letters: "oT",
        early: "",
        words: &[],
        long: &["output", "compress-program", "temporary-directory", "files0-from"],
    },
    Hazards {
        name: "tree",
        letters: "oR",
        early: "",
        words: &[],
        long: &[],
    },
    Hazards {
        name: "go",
        letters: "",
        early: "",
        words: &[
            // After the subcommand: Go accepts it nowhere else.
            "-C",
            "-exec",
            "-toolexec",
            "-vettool",
            "-overlay",
            "-modfile",
            "-ldflags",
            "-o",
        ],
        long: &["exec", "toolexec", "vettool", "overlay", "modfile", "ldflags"],
    },
    Hazards {
        name: "less",
        letters: "oOkK",
        early: "",
        words: &[],
        long: &["log-file", "LOG-FILE", "lesskey"],
    },
    Hazards {
        name: "zip",
        letters: "T",
        early: "",
        words: &["-TT"],
        long: &["unzip-command", "test"],
    },
    Hazards {
        name: "tar",
        letters: TAR,
        early: "",
        words: &[],
        long: &[
            "to-command",
            "checkpoint-action",
            "use-compress-program",
            "rsh-command",
            "rmt-command",
            "info-script",
            "new-volume-script",
            "absolute-names",
            "directory",
            "files-from",
            "listed-incremental",
            "index-file",
        ],
    },
    Hazards {
        name: "rsync",
        letters: "eM",
        early: "",
        words: &[],
        long: &["rsh", "rsync-path", "remote-option", "write-batch", "log-file"],
    },
    Hazards {
        name: "curl",
        letters: "oOJKTDcE",
        early: "",
        words: &[],
        long: &[
            "unix-socket",
            "abstract-unix-socket",
            "engine",
            "cert",
            "key",
            "netrc",
            "proxy-cert",
            "proxy-key",
            "output",
            "remote-name",
            "config",
            "upload-file",
            "dump-header",
            "cookie-jar",
            "trace",
            "output-dir",
            "stderr",
            "libcurl",
            "etag-save",
            "hsts",
            "alt-svc",
            // `--expand-output`
            "expand",
        ],
    },
    Hazards {
        name: "wget",
        letters: "OPoaie",
        early: "",
        words: &[],
        long: &[
            "output-document",
            "post-file",
            "body-file",
            "load-cookies",
            "directory-prefix",
            "output-file",
            "append-output",
            "use-askpass",
            "execute",
            "input-file",
            "config",
            "save-cookies",
            "hsts-file",
            "warc-file",
            "rejected-log",
        ],
    },
    Hazards {
        name: "date",
        letters: "sf",
        early: "",
        words: &[],
        long: &["set", "file"],
    },
    Hazards {
        name: "man",
        letters: "PHCM",
        early: "",
        words: &[],
        long: &["pager", "html", "config-file", "manpath"],
    },
    Hazards {
        name: "make",
        letters: "fCIE",
        early: "",
        words: &[],
        long: &["file", "makefile", "directory", "eval", "include-dir"],
    },
    Hazards {
        name: "cargo",
        letters: "CZ",
        early: "",
        words: &[],
        long: &["config", "manifest-path"],
    },
    Hazards {
        name: "npm",
        letters: "C",
        early: "",
        words: &[],
        long: &[
            "prefix",
            "script-shell",
            "node-options",
            "userconfig",
            "globalconfig",
        ],
    },
];

/// Hazardous option letters of `tar`.
const TAR: &str = "IFPCTg";
/// Aliases of listed programs.
const ALIASES: &[(&str, &str)] = &[
    ("gsed", "sed"),
    ("gtar", "tar"),
    ("bsdtar", "tar"),
    ("gmake", "make"),
    ("bmake", "make"),
    ("gfind", "find"),
    ("gsort", "sort"),
    ("ripgrep", "rg"),
    ("pnpm", "npm"),
    ("gawk", "awk"),
    ("mawk", "awk"),
    ("nawk", "awk"),
    ("original-awk", "awk"),
    ("g++", "gcc"),
    ("cc", "gcc"),
    ("c++", "gcc"),
    ("clang", "gcc"),
    ("clang++", "gcc"),
    ("nodejs", "node"),
    ("python3", "python"),
    ("py.test", "pytest"),
    ("vi", "vim"),
    ("nvim", "vim"),
];

/// Returns a hazardous option, unless the rule names it.
pub(crate) fn hazard<'a>(words: &[&'a str], named: impl Fn(&str) -> bool) -> Option<&'a str> {
    let (name, rest) = words.split_first()?;
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = ALIASES
        .iter()
        .find(|(alias, _)| *alias == name)
        .map_or(name, |(_, name)| name);
    let early = rest.iter().take_while(|word| word.starts_with('-')).count();
    let mut found = Vec::new();
    if let Some(hazards) = HAZARDS.iter().find(|known| known.name == name) {
        let is_hazard =
            |at: usize, word: &str| hazards.has(word) || (at < early && is_among(word, hazards.early));
        let words = rest.iter().copied().enumerate();
        found.extend(
            words
                .filter(|(at, word)| is_hazard(*at, word))
                .map(|(_, word)| word),
        );
    }
    if let Some((_, letters, words, long)) = MORE.iter().find(|(known, ..)| *known == name) {
        let hazards = Hazards {
            name: "",
            letters,
            early: "",
            words,
            long,
        };
        found.extend(rest.iter().copied().filter(|word| hazards.has(word)));
    }
    found.extend(match name {
        "awk" => values::awk(rest),
        "curl" => values::curl(rest),
        "sqlite3" => values::sqlite(rest),
        // `ldd` runs its file, the others write theirs; a compiler reads options from a file.
        "ldd" | "tee" | "truncate" | "install" => values::operands(rest),
        "gcc" | "rustc" | "javac" => rest
            .iter()
            .copied()
            .filter(|word| word.starts_with('@'))
            .collect(),
        "git" => git::hazards(rest),
        "sed" => scripts::sed(rest),
        "tar" => scripts::tar(rest, TAR),
        "make" | "configure" => scripts::assignments(rest),
        "uniq" => scripts::second_file(rest, "fsw"),
        "xxd" => scripts::second_file(rest, "cglnos"),
        _ => Vec::new(),
    });
    found.into_iter().find(|word| !named(word))
}

impl Hazards {
    fn has(&self, word: &str) -> bool {
        let option = word.split('=').next().unwrap_or(word);
        if self.words.contains(&option) {
            return true;
        }
        if let Some(name) = option.strip_prefix("--") {
            // Abbreviated, or one of a family: `--trace-ascii` for `trace`.
            let is_of = |known: &&str| {
                let more = name.strip_prefix(known);
                known.starts_with(name) || more.is_some_and(|more| more.starts_with('-'))
            };
            return !name.is_empty() && self.long.iter().any(is_of);
        }
        is_among(word, self.letters)
    }
}

/// Whether one of these letters follows one dash. A letter in an option's value counts too, which costs at most an
/// unneeded question.
pub(super) fn is_among(word: &str, letters: &str) -> bool {
    let given = word.strip_prefix('-').filter(|given| !given.starts_with('-'));
    given.is_some_and(|given| given.chars().any(|letter| letters.contains(letter)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_seen_however_they_are_written() {
        for line in [
            "find . -delete",
            "rg --pre ./x a",
            "rg --pre=./x a",
            "git -c core.pager=x log",
            "git --ext log",
            "sort -no x y",
            "sort --outp=x y",
            "sort --compress-program=./x y",
            "sort --compress-prog ./x y",
            "sort --temporary-directory=x y",
            "sort --files0-from=x",
            "tar --checkpoint-action=exec=x",
            "tar -xIx",
            "/usr/bin/git -C / log",
            "git config core.fsmonitor ./x",
            "git submodule foreach ./x",
            "go test -exec ./x",
            "go test -exec=./x",
            "gmake SHELL=./x",
            "tar -xTx",
            "sed --expr=1e",
            "sed -f x",
            "sed -nf x",
            "sed p -e 1e",
            "go test -C /tmp",
            "go test -C=/tmp",
            "awk BEGIN{system(\"id\")}",
            "gawk -f x",
            "awk -v a=b {print|\"sh\"}",
            "awk {print>\"x\"}",
            "awk NR>1{print>\"x\"}",
            "awk -i inplace {print}",
            "split --filter=sh f",
            "ldd ./x",
            "perl -ne x",
            "node --check -r ./x.js f",
            "cmake -P x",
            "cmake -E x",
            "pytest -p x",
            "pytest -px",
            "gcc -wrapper x a.c",
            "cc @x",
            "sqlite3 db .shell",
            "sqlite3 db SELECT(writefile(1,2))",
            "ssh-keygen -D ./x.so",
            "tee x",
            "yq -i . f",
            "curl -d @x h",
            "curl -d@x h",
            "curl --data-binary=@x h",
            "curl -F x=@f h",
            "curl -F x=<f h",
            "curl --json @x h",
            "curl FILE:///x",
            "curl --unix-socket x h",
            "curl --engine ./x.so h",
            "curl --proxy-cert x h",
            "curl -b jar h",
            "curl -H @x h",
            "wget --post-file=x h",
            "wget --body-file x h",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(hazard(&words, |_| false).is_some(), "{line}");
            assert!(hazard(&words, |_| true).is_none(), "{line}");
        }
        for line in [
            "find . -name x",
            "rg a",
            "git log --oneline",
            "git log -p",
            "git push -u a b",
            "git commit -c HEAD",
            "git config --get user.name",
            "sed -n 1,5p f",
            "tar xf a",
            "make test",
            "uniq -f 1 a",
            "rg --pretty a",
            "sort -n x",
            "ls -o",
            "go test ./...",
            "awk {print$1}",
            "awk NR>1{print$1}",
            "awk -F: {print$1} f",
            "gcc -c a.c",
            "node --check f",
            "pytest -x t.py",
            "sqlite3 db SELECT(1)",
            "curl -sd a=b h",
            "curl -H a:b -b a=b h",
            "curl --data a=b@c.d h",
            "tee",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(hazard(&words, |_| false), None, "{line}");
        }
    }
}
