//! Options that make a program do what nobody expects of it: run another one, or write.
//!
//! They matter only to rules that allow. A rule that is meant to allow one names it.

/// A program's options of this kind.
struct Hazards {
    name: &'static str,
    /// One letter after one dash, alone or among others.
    letters: &'static str,
    /// The same, but only before the first word that is no option.
    early: &'static str,
    /// Words that begin with one dash or none, whole.
    words: &'static [&'static str],
    /// Options with two dashes; they may be shortened.
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
        letters: "",
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
        name: "sed",
        letters: "i",
        early: "",
        words: &[],
        long: &["in-place"],
    },
    Hazards {
        name: "tar",
        letters: "IFP",
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
        ],
    },
    Hazards {
        name: "rsync",
        letters: "e",
        early: "",
        words: &[],
        long: &["rsh", "rsync-path", "write-batch", "log-file"],
    },
    Hazards {
        name: "curl",
        letters: "oOKTD",
        early: "",
        words: &[],
        long: &[
            "output",
            "remote-name",
            "config",
            "upload-file",
            "dump-header",
            "cookie-jar",
            "trace",
            "output-dir",
            "stderr",
        ],
    },
    Hazards {
        name: "wget",
        letters: "OPoai",
        early: "",
        words: &[],
        long: &[
            "output-document",
            "directory-prefix",
            "output-file",
            "append-output",
            "use-askpass",
            "execute",
            "input-file",
            "config",
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
        letters: "fCI",
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

/// Returns an option of this kind, unless the rule names it.
pub(crate) fn hazard<'a>(words: &[&'a str], named: impl Fn(&str) -> bool) -> Option<&'a str> {
    let (name, rest) = words.split_first()?;
    let name = name.rsplit('/').next().unwrap_or(name);
    let hazards = HAZARDS.iter().find(|known| known.name == name)?;
    let early = rest.iter().take_while(|word| word.starts_with('-')).count();
    let is_hazard =
        |at: usize, word: &str| hazards.has(word) || (at < early && is_among(word, hazards.early));
    let mut words = rest.iter().copied().enumerate();
    words
        .find(|(at, word)| is_hazard(*at, word) && !named(word))
        .map(|(_, word)| word)
}

impl Hazards {
    fn has(&self, word: &str) -> bool {
        if self.words.contains(&word) {
            return true;
        }
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            return !name.is_empty() && self.long.iter().any(|known| known.starts_with(name));
        }
        is_among(word, self.letters)
    }
}

/// Whether one of these letters stands after one dash; also inside of a value that stands in the same word: a
/// question too many, not one too few.
fn is_among(word: &str, letters: &str) -> bool {
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
            "tar --checkpoint-action=exec=x",
            "tar -xIx",
            "/usr/bin/git -C / log",
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
            "sort -n x",
            "ls -o",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(hazard(&words, |_| false), None, "{line}");
        }
    }
}
