//! More options that make a program run another one, or write: of interpreters, compilers, databases and others.

/// A program with its hazardous letters, words and long options.
type More = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// Programs whose options are hazardous in every position.
pub(super) const MORE: &[More] = &[
    ("split", "", &[], &["filter"]),
    ("perl", "eEMmIixdnp", &[], &[]),
    ("ruby", "erI", &[], &[]),
    ("php", "rBREdz", &[], &["run", "define"]),
    ("lua", "eli", &[], &[]),
    (
        "node",
        "epri",
        &[],
        &[
            "eval",
            "print",
            "require",
            "import",
            "loader",
            "experimental-loader",
            "env-file",
            "interactive",
        ],
    ),
    ("python", "cmi", &[], &[]),
    ("cmake", "PEC", &[], &[]),
    ("ctest", "SD", &[], &["build-and-test", "script", "test-command"]),
    (
        "pytest",
        "pco",
        &[],
        &["override-ini", "config-file", "rootdir", "confcutdir"],
    ),
    (
        "gcc",
        "Bo",
        &["-wrapper", "-specs", "-fplugin"],
        &["specs", "output", "sysroot"],
    ),
    ("sqlite3", "", &["-cmd", "-init", "-A"], &["cmd", "init"]),
    (
        "psql",
        "cfovL",
        &[],
        &["command", "file", "output", "log-file", "set", "variable"],
    ),
    ("ssh-keygen", "DwfI", &[], &[]),
    ("yq", "is", &[], &["inplace", "split-exp", "from-file"]),
    (
        "openssl",
        "",
        &["-engine", "-provider", "-out", "-writerand"],
        &[],
    ),
    ("rustc", "CoL", &[], &["codegen", "sysroot", "extern", "out-dir"]),
    ("nm", "", &["-plugin"], &["plugin"]),
    ("objdump", "", &[], &["plugin"]),
    ("ar", "", &[], &["plugin"]),
    ("vim", "cSsuw", &[], &["cmd"]),
    ("jq", "fL", &[], &["from-file", "rawfile", "slurpfile"]),
];
