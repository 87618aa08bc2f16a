//! Programs that run a command from their arguments, and how to read these arguments.

use super::grammar::{Weight, Wrapper};

/// A program with one-letter options without (`flags`) and with (`values`) a value.
const fn wrapper(name: &'static str, weight: Weight, flags: &'static str, values: &'static str) -> Wrapper {
    Wrapper {
        name,
        weight,
        flags,
        values,
        long_flags: &[],
        long_values: &[],
        operands: 0,
        assignments: false,
        until: &[],
        marks: &[],
    }
}

impl Wrapper {
    const fn operands(self, operands: usize) -> Self {
        Self { operands, ..self }
    }

    const fn long(self, long_flags: &'static [&'static str], long_values: &'static [&'static str]) -> Self {
        Self {
            long_flags,
            long_values,
            ..self
        }
    }

    const fn with_assignments(self) -> Self {
        Self {
            assignments: true,
            ..self
        }
    }
}

/// A program that runs the command after one of these words.
const fn marked(
    name: &'static str,
    marks: &'static [&'static str],
    until: &'static [&'static str],
) -> Wrapper {
    Wrapper {
        marks,
        until,
        ..wrapper(name, Weight::Heavy, "", "")
    }
}

/// Light programs do nothing that matters here to a command; heavy ones change its rights, arguments, place or
/// lifetime.
pub(super) const WRAPPERS: &[Wrapper] = &[
    wrapper("nice", Weight::Light, "", "n").long(&[], &["adjustment"]),
    wrapper("nohup", Weight::Light, "", ""),
    wrapper("stdbuf", Weight::Light, "", "ioe").long(&[], &["input", "output", "error"]),
    wrapper("timeout", Weight::Light, "v", "ks")
        .long(
            &["foreground", "preserve-status", "verbose"],
            &["kill-after", "signal"],
        )
        .operands(1),
    wrapper("command", Weight::LightIfBare, "pvV", ""),
    wrapper("builtin", Weight::Light, "", ""),
    wrapper("exec", Weight::LightIfBare, "cl", "a"),
    wrapper("time", Weight::LightIfBare, "pvaV", "fo"),
    wrapper("env", Weight::LightIfBare, "i0v", "uC")
        .long(
            &[
                "ignore-environment",
                "null",
                "debug",
                "list-signal-handling",
                "default-signal",
                "ignore-signal",
                "block-signal",
            ],
            &["unset", "chdir"],
        )
        .with_assignments(),
    wrapper("sudo", Weight::Heavy, "AbBEeHiKklnPSsVv", "CDghpRrTtUu")
        .long(
            &[
                "askpass",
                "background",
                "preserve-env",
                "edit",
                "set-home",
                "login",
                "list",
                "non-interactive",
                "stdin",
                "shell",
                "validate",
            ],
            &[
                "close-from",
                "chdir",
                "group",
                "host",
                "prompt",
                "chroot",
                "role",
                "type",
                "command-timeout",
                "other-user",
                "user",
            ],
        )
        .with_assignments(),
    wrapper("doas", Weight::Heavy, "Lns", "aCu"),
    wrapper("pkexec", Weight::Heavy, "", "").long(&["disable-internal-agent", "keep-cwd"], &["user"]),
    wrapper("setsid", Weight::Heavy, "cfw", "").long(&["ctty", "fork", "wait"], &[]),
    wrapper("xargs", Weight::Heavy, "0oprtxile", "aEILnPsd").long(
        &[
            "null",
            "open-tty",
            "interactive",
            "no-run-if-empty",
            "verbose",
            "exit",
            "show-limits",
            "replace",
            "eof",
            "max-lines",
        ],
        &[
            "arg-file",
            "delimiter",
            "max-args",
            "max-procs",
            "max-chars",
            "process-slot-var",
        ],
    ),
    wrapper("ionice", Weight::Heavy, "t", "cnpPu"),
    wrapper("chrt", Weight::Heavy, "abdfiormvRG", "TPDp").operands(1),
    wrapper("taskset", Weight::Heavy, "ac", "p").operands(1),
    wrapper("chroot", Weight::Heavy, "", "")
        .long(&["skip-chdir"], &["groups", "userspec"])
        .operands(1),
    wrapper("strace", Weight::Heavy, "cCdDfFhikqrtTvVwxyYz", "abeEIoOpPsSuU"),
    wrapper("ltrace", Weight::Heavy, "bcCfhiLrStTV", "aAdDeFlnopsuwx"),
    wrapper("valgrind", Weight::Open, "", ""),
    wrapper("gdb", Weight::Open, "", ""),
    wrapper("perf", Weight::Open, "", ""),
    wrapper("unshare", Weight::Open, "", ""),
    wrapper("nsenter", Weight::Open, "", ""),
    wrapper("setpriv", Weight::Open, "", ""),
    wrapper("runuser", Weight::Open, "", ""),
    wrapper("capsh", Weight::Open, "", ""),
    wrapper("bwrap", Weight::Open, "", ""),
    wrapper("firejail", Weight::Open, "", ""),
    wrapper("systemd-run", Weight::Open, "", ""),
    wrapper("ssh", Weight::Open, "", ""),
    wrapper("docker", Weight::Open, "", ""),
    wrapper("podman", Weight::Open, "", ""),
    wrapper("kubectl", Weight::Open, "", ""),
    wrapper("parallel", Weight::Open, "", ""),
    wrapper("entr", Weight::Open, "", ""),
    wrapper("watchexec", Weight::Open, "", ""),
    wrapper("unbuffer", Weight::Open, "", ""),
    wrapper("rlwrap", Weight::Open, "", ""),
    wrapper("caffeinate", Weight::Open, "", ""),
    wrapper("proot", Weight::Open, "", ""),
    wrapper("fakeroot", Weight::Open, "", ""),
    wrapper("dbus-run-session", Weight::Open, "", ""),
    wrapper("start-stop-daemon", Weight::Open, "", ""),
    wrapper("numactl", Weight::Open, "", ""),
    wrapper("prlimit", Weight::Open, "", ""),
    wrapper("direnv", Weight::Open, "", ""),
    wrapper("coproc", Weight::Heavy, "", ""),
    wrapper("busybox", Weight::Heavy, "", ""),
    wrapper("toybox", Weight::Heavy, "", ""),
    marked("find", &["-exec", "-execdir", "-ok", "-okdir"], &[";", "+"]),
    marked("fd", &["-x", "-X", "--exec", "--exec-batch"], &[";"]),
    marked("fdfind", &["-x", "-X", "--exec", "--exec-batch"], &[";"]),
];
