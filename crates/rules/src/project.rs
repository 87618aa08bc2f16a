//! The programs at the heart of a line that tests, checks or builds a project: `pytest`, `npm test`, `make check`.
//!
//! An answer about such a line in the sandbox covers all lines with the same programs there, whatever else they say:
//! options, variables, a filter of the output, another directory of the workspace, a virtual environment. Only the sandbox makes
//! that safe, since these programs run files of the workspace. Every other command of the line has to be one that only
//! reads, so that the answer does not cover an `rm`.

use std::cell::Cell;

use crate::head;
use crate::reads::{ReadContext, is_plain_read};
use crate::shell::{Reading, Word, read};
use crate::wrapper::inner_commands;
use crate::{Ambiguity, Places};

/// Programs that are the same whatever follows.
const WHOLE: &[&str] = &[
    "ava",
    "biome",
    "black",
    "ctest",
    "eslint",
    "flake8",
    "isort",
    "jest",
    "mocha",
    "mypy",
    "ninja",
    "nox",
    "pest",
    "phpstan",
    "phpunit",
    "prettier",
    "py.test",
    "pylint",
    "pyright",
    "pytest",
    "rspec",
    "rubocop",
    "shellcheck",
    "stylelint",
    "tox",
    "tsc",
    "vitest",
    "vue-tsc",
];
/// Programs with the subcommands that test, check or build.
const SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("bazel", &["build", "test"]),
    ("bun", &["test"]),
    ("cargo", &["nextest"]),
    ("cmake", &["--build"]),
    ("coverage", &["html", "report", "run"]),
    ("dart", &["analyze", "format", "test"]),
    ("deno", &["check", "fmt", "lint", "test"]),
    ("dotnet", &["build", "format", "restore", "test"]),
    ("flutter", &["analyze", "test"]),
    ("golangci-lint", &["run"]),
    ("meson", &["compile", "test"]),
    ("mix", &["compile", "format", "test"]),
    ("node", &["--test"]),
    ("npm", &["test"]),
    ("pnpm", &["build", "lint", "test", "typecheck"]),
    ("ruff", &["check", "format"]),
    ("swift", &["build", "test"]),
    ("yarn", &["build", "lint", "test", "typecheck"]),
    ("zig", &["build", "test"]),
];
/// Programs that run a script of the project by the name behind these words.
const SCRIPTS: &[(&str, &[&str])] = &[
    ("bun", &["run"]),
    ("npm", &["run", "run-script"]),
    ("pnpm", &["run"]),
    ("yarn", &["run"]),
];
/// Programs whose first operand names a task of the project.
const TASKS: &[&str] = &[
    "gmake", "gradle", "gradlew", "just", "make", "mvn", "mvnw", "rake", "sbt",
];
/// Their options with a value in the next word.
const VALUED: &[&str] = &[
    "-C",
    "-f",
    "-P",
    "-p",
    "-pl",
    "--directory",
    "--file",
    "--project-dir",
];
/// Scripts of a project that start such a program: they lie in its root.
const WRAPPERS: &[&str] = &["gradlew", "mvnw"];
/// Modules that `python -m` runs, beside those that are programs of the same name.
const MODULES: &[&str] = &["compileall", "doctest", "unittest"];
/// Words in front of a program that start it in the project's environment.
const LAUNCHERS: &[&[&str]] = &[
    &["uv", "run"],
    &["poetry", "run"],
    &["pipenv", "run"],
    &["hatch", "run"],
    &["pdm", "run"],
    &["rye", "run"],
    &["pnpm", "exec"],
    &["yarn", "exec"],
    &["bundle", "exec"],
    &["npx", "--no-install"],
    &["npx"],
    &["bunx"],
];
/// Directories in which a project's programs lie.
const PROGRAMS: &[&str] = &["bin", ".bin"];
/// The directory of a command's own temporary files.
const TEMPORARY: &str = "/tmp/";

/// Returns the programs of a line that tests, checks or builds the project, joined by `&&`; `None` if a command in it is
/// another one that may write.
pub(crate) fn programs(line: &str, places: &dyn Places) -> Option<String> {
    let reading = read(line);
    if !reading.ambiguities.iter().all(is_followed) || reading.sets_more || !reading.inputs.is_empty() {
        return None;
    }
    let mut found = Vec::new();
    let is_temporary = |redirect: &crate::shell::Redirect| {
        let target = &redirect.target;
        !redirect.reads && target.exact && target.text.starts_with(TEMPORARY) && !target.text.contains("..")
    };
    if !reading.redirects.iter().all(is_temporary) || !sets_nothing_else(&reading) {
        return None;
    }
    for words in &reading.commands {
        add(words, places, 0, &mut found)?;
    }
    (!found.is_empty()).then(|| found.join(" && "))
}

/// Whether the commands of a line with this ambiguity were all found.
fn is_followed(ambiguity: &Ambiguity) -> bool {
    matches!(
        ambiguity,
        Ambiguity::Substitution
            | Ambiguity::Expansion
            | Ambiguity::Pattern
            | Ambiguity::Assignment
            | Ambiguity::Compound
            | Ambiguity::Redirection
    )
}

/// Whether no variable that is set changes which programs the names in the line start.
fn sets_nothing_else(reading: &Reading) -> bool {
    reading.assignments.iter().all(|(name, _)| is_usual(name))
}

fn is_usual(name: &str) -> bool {
    let starts = ["LD_", "DYLD_", "GIT_", "BASH_"];
    !matches!(name, "PATH" | "IFS" | "ENV" | "SHELL") && !starts.iter().any(|start| name.starts_with(start))
}

/// Adds the program of a command, if it is one of a project.
///
/// Returns `None` if the command may do something else.
fn add(words: &[Word], places: &dyn Places, nested: usize, found: &mut Vec<String>) -> Option<()> {
    if nested > 2 {
        return None;
    }
    let words = launched(words);
    if let Some(program) = program(words, places) {
        if !found.contains(&program) {
            found.push(program);
        }
        return Some(());
    }
    if prepares(words) || only_reads(words, places) {
        return Some(());
    }
    // `timeout 60 pytest`
    let inner = inner_commands(words)?;
    let is_wrapper = inner.texts.is_empty() && !inner.is_open && !inner.commands.is_empty();
    is_wrapper.then_some(())?;
    for words in &inner.commands {
        add(words, places, nested + 1, found)?;
    }
    Some(())
}

/// Returns the words behind a launcher.
fn launched(words: &[Word]) -> &[Word] {
    let starts = |launcher: &&&[&str]| {
        let mut pairs = launcher.iter().zip(words);
        words.len() > launcher.len() && pairs.all(|(known, word)| word.exact && word.text == *known)
    };
    let launcher = LAUNCHERS.iter().find(starts);
    launcher.map_or(words, |launcher| &words[launcher.len()..])
}

/// Returns the words by which a program of a project is known.
fn program(words: &[Word], places: &dyn Places) -> Option<String> {
    let first = words.first().filter(|word| word.exact)?;
    let name = bare_name(&first.text, places)?;
    let rest = &words[1..];
    let next = rest
        .first()
        .filter(|word| word.exact)
        .map(|word| word.text.as_str());
    if WHOLE.contains(&name) {
        return Some(name.to_owned());
    }
    if is_python(name) {
        let [option, module, ..] = rest else { return None };
        if option.text != "-m" || !module.exact {
            return None;
        }
        if MODULES.contains(&module.text.as_str()) {
            return Some(format!("python -m {}", module.text));
        }
        return (!module.text.contains('/')).then(|| program(&rest[1..], places))?;
    }
    let among = |table: &[(&str, &[&str])]| {
        let mut known = table.iter().filter(|(known, _)| *known == name);
        known.any(|(_, subcommands)| next.is_some_and(|next| subcommands.contains(&next)))
    };
    if among(SUBCOMMANDS) {
        return Some(format!("{name} {}", next?));
    }
    if among(SCRIPTS) {
        let script = rest
            .get(1)
            .filter(|word| word.exact && !word.text.starts_with('-'))?;
        return Some(format!("{name} run {}", script.text));
    }
    if TASKS.contains(&name) {
        let name = if WRAPPERS.contains(&name) {
            &first.text
        } else {
            name
        };
        return Some(match task(rest)? {
            "" => name.to_owned(),
            task => format!("{name} {task}"),
        });
    }
    let is_repository = matches!(name, "cargo" | "git" | "go");
    let exact = words.iter().all(|word| word.exact) && name == first.text;
    (exact && is_repository)
        .then(|| head::of_words(&texts(words), places))
        .flatten()
}

/// Returns the first operand, or an empty text if there is none.
fn task(words: &[Word]) -> Option<&str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if VALUED.contains(&word.text.as_str()) {
            words.next();
        } else if !word.text.starts_with('-') && !word.text.contains('=') {
            return word.exact.then_some(word.text.as_str());
        }
    }
    Some("")
}

/// Returns a program's name: one that is searched for, or one of the project's own by its path.
fn bare_name<'a>(text: &'a str, places: &dyn Places) -> Option<&'a str> {
    let Some((directory, name)) = text.rsplit_once('/') else {
        return Some(text);
    };
    let root = places.root().to_string_lossy();
    let inside = match directory.strip_prefix(&*root) {
        Some(inside) if inside.is_empty() || inside.starts_with('/') => inside,
        _ if directory.starts_with(['/', '~']) => return None,
        _ => directory,
    };
    let stays = !inside.split('/').any(|part| part == "..");
    let last = inside.rsplit('/').next().unwrap_or_default();
    let is_script = WRAPPERS.contains(&name) && matches!(last, "" | ".");
    (stays && (is_script || PROGRAMS.contains(&last))).then_some(name)
}

fn is_python(name: &str) -> bool {
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Whether a command only prepares the shell: an environment of the project, an option, a variable.
fn prepares(words: &[Word]) -> bool {
    let exact = words.iter().all(|word| word.exact);
    match texts(words).as_slice() {
        ["source" | ".", script] => {
            exact && script.ends_with("bin/activate") && !script.starts_with(['/', '~'])
        }
        ["set", options @ ..] => {
            let is_option = |word: &&str| word.starts_with(['-', '+']) || *word == "pipefail";
            exact && options.iter().all(is_option)
        }
        ["export", names @ ..] => {
            let name = |word: &&str| is_usual(word.split_once('=').map_or(*word, |(name, _)| name));
            names.iter().all(name)
        }
        ["sleep" | "exit", _] | ["exit" | ":" | "true" | "wait"] => exact,
        _ => false,
    }
}

fn only_reads(words: &[Word], places: &dyn Places) -> bool {
    let root = [places.root().to_owned()];
    let context = ReadContext {
        places,
        directories: &root,
        has_input: true,
        has_path_rules: false,
        shows_reserved: Cell::default(),
    };
    let texts = texts(words);
    // A loop or a variable may print anything: the words are no files.
    let prints = matches!(texts.first(), Some(&"echo" | &"printf")) && !texts.contains(&"-v");
    prints
        || (words.iter().all(|word| word.exact)
            && is_plain_read(&texts, &context)
            && !context.shows_reserved.get())
}

fn texts(words: &[Word]) -> Vec<&str> {
    words.iter().map(|word| word.text.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ResolvedPath;
    use std::path::{Path, PathBuf};

    struct Folder;

    impl Places for Folder {
        fn root(&self) -> &Path {
            Path::new("/w")
        }

        fn find(&self, directory: &Path, text: &str) -> Option<ResolvedPath> {
            let path: PathBuf = directory.join(text);
            let status = if path.starts_with("/w") && !text.starts_with("..") && !text.contains(".env") {
                crate::PathStatus::Inside
            } else {
                crate::PathStatus::Outside
            };
            Some(ResolvedPath { path, status })
        }

        fn is_directory(&self, _path: &Path) -> bool {
            false
        }

        fn names(&self, _directory: &Path) -> Option<Vec<String>> {
            Some(Vec::new())
        }

        fn is_reserved(&self, _path: &Path) -> bool {
            false
        }

        fn is_plain_repository(&self) -> bool {
            true
        }

        fn contains(&self, _directory: &Path, _look: crate::Look, _fits: &dyn Fn(&Path) -> bool) -> bool {
            false
        }
    }

    #[test]
    fn lines_that_differ_by_how_they_test_have_the_same_program() {
        for (line, expected) in [
            ("pytest", "pytest"),
            (
                "pytest -q tests/test_a.py -k 'one or two' 2>&1 | tail -20",
                "pytest",
            ),
            (".venv/bin/python -m pytest -q x 2>&1 | tail -20", "pytest"),
            ("/w/.venv/bin/pytest", "pytest"),
            ("source .venv/bin/activate && pytest -x", "pytest"),
            (". venv/bin/activate; cd sub && python3.12 -m pytest", "pytest"),
            ("PYTHONPATH=src python3 -m pytest", "pytest"),
            (
                "export PYTHONPATH=src && pytest > /tmp/out; tail -5 src/a",
                "pytest",
            ),
            ("for t in a b; do pytest -k $t; done", "pytest"),
            ("timeout 60 pytest -x; echo $?", "pytest"),
            ("uv run pytest -k x", "pytest"),
            ("cd sub && python -m unittest tests.a", "python -m unittest"),
            ("tox -e py312", "tox"),
            ("npm test -- --watch=false", "npm test"),
            ("npm run lint", "npm run lint"),
            ("npm run-script lint", "npm run lint"),
            ("CI=1 pnpm test", "pnpm test"),
            ("yarn lint --fix", "yarn lint"),
            ("npx jest src/a", "jest"),
            ("./node_modules/.bin/tsc --noEmit | head -5", "tsc"),
            ("make -j4 -C sub test V=1", "make test"),
            ("make", "make"),
            ("./gradlew :app:test --tests X", "./gradlew :app:test"),
            ("mvn -q test -Dtest=X", "mvn test"),
            ("dotnet test --filter x", "dotnet test"),
            ("ruff check . && mypy src", "ruff check && mypy"),
            ("git add -A && git commit -m 'one thing'", "git add && git commit"),
            ("cargo test -p a one 2>&1 | tail -5", "cargo test"),
            ("go test ./...", "go test"),
        ] {
            assert_eq!(programs(line, &Folder).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn a_line_that_does_something_else_has_no_program() {
        for line in [
            "",
            "rm -rf x",
            "pytest; rm -rf x",
            "pytest $(rm -rf x)",
            "pytest | tee x",
            "pytest > src/a",
            "pytest < src/a",
            "pytest > /tmp/../w/a",
            "pytest &",
            "pytest() { rm x; }; pytest",
            "pytest <<< x",
            "PATH=. pytest",
            "LD_PRELOAD=./x.so pytest",
            "cat .env | pytest",
            "cat /etc/passwd; pytest",
            "/usr/local/bin/pytest",
            "../.venv/bin/pytest",
            "./pytest",
            "source ./x && pytest",
            "python x.py",
            "python -m http.server",
            "python -m pip install x",
            "npm install",
            "npm publish",
            "yarn add x",
            "npx create-x",
            "node x.js",
            "$PROGRAM x",
            "make $TARGET",
            "sh -c pytest",
            "bash -c 'rm x'",
            "git push",
            "git -c core.pager=x diff",
            "git commit -F/etc/passwd",
            "cargo run",
            "echo x > src/a",
            "touch src/a",
        ] {
            assert_eq!(programs(line, &Folder), None, "{line}");
        }
    }
}
