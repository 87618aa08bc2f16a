//! Programs that run a command from their arguments, and how to read these arguments.

use super::grammar::{Severity, Wrapper};

/// A program with one-letter options without (`flags`) and with (`values`) a value.
const fn wrapper(name: &'static str, weight: Severity, flags: &'static str, values: &'static str) -> Wrapper {
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
        ..wrapper(name, Severity::Heavy, "", "")
    }
}

/// Light programs do nothing that matters here to a command; heavy ones change its rights, arguments, place or
/// lifetime.
pub(super) const WRAPPERS: &[Wrapper] = &[
    wrapper("nice", Severity::Light, "", "n").long(&[], &["adjustment"]),
    wrapper("nohup", Severity::Light, "", ""),
    wrapper("stdbuf", Severity::Light, "", "ioe").long(&[], &["input", "output", "error"]),
    wrapper("timeout", Severity::Light, "v", "ks")
        .long(
            &["foreground", "preserve-status", "verbose"],
            &["kill-after", "signal"],
        )
        .operands(1),
    wrapper("command", Severity::LightIfBare, "pvV", ""),
    wrapper("builtin", Severity::Light, "", ""),
    wrapper("exec", Severity::LightIfBare, "cl", "a"),
    wrapper("time", Severity::LightIfBare, "pvaV", "fo"),
    wrapper("env", Severity::LightIfBare, "i0v", "uC")
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
    wrapper("sudo", Severity::Heavy, "AbBEeHiKklnPSsVv", "CDghpRrTtUu")
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
    wrapper("doas", Severity::Heavy, "Lns", "aCu"),
    wrapper("pkexec", Severity::Heavy, "", "").long(&["disable-internal-agent", "keep-cwd"], &["user"]),
    wrapper("setsid", Severity::Heavy, "cfw", "").long(&["ctty", "fork", "wait"], &[]),
    wrapper("xargs", Severity::Heavy, "0oprtxile", "aEILnPsd").long(
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
    wrapper("ionice", Severity::Heavy, "t", "cnpPu"),
    wrapper("chrt", Severity::Heavy, "abdfiormvRG", "TPDp").operands(1),
    wrapper("taskset", Severity::Heavy, "ac", "p").operands(1),
    wrapper("chroot", Severity::Heavy, "", "")
        .long(&["skip-chdir"], &["groups", "userspec"])
        .operands(1),
    wrapper("strace", Severity::Heavy, "cCdDfFhikqrtTvVwxyYz", "abeEIoOpPsSuU"),
    wrapper("ltrace", Severity::Heavy, "bcCfhiLrStTV", "aAdDeFlnopsuwx"),
    wrapper("valgrind", Severity::Open, "", ""),
    wrapper("gdb", Severity::Open, "", ""),
    wrapper("perf", Severity::Open, "", ""),
    wrapper("unshare", Severity::Open, "", ""),
    wrapper("nsenter", Severity::Open, "", ""),
    wrapper("setpriv", Severity::Open, "", ""),
    wrapper("runuser", Severity::Open, "", ""),
    wrapper("capsh", Severity::Open, "", ""),
    wrapper("bwrap", Severity::Open, "", ""),
    wrapper("firejail", Severity::Open, "", ""),
    wrapper("systemd-run", Severity::Open, "", ""),
    wrapper("ssh", Severity::Open, "", ""),
    wrapper("docker", Severity::Open, "", ""),
    wrapper("podman", Severity::Open, "", ""),
    wrapper("kubectl", Severity::Open, "", ""),
    wrapper("parallel", Severity::Open, "", ""),
    wrapper("entr", Severity::Open, "", ""),
    wrapper("watchexec", Severity::Open, "", ""),
    wrapper("unbuffer", Severity::Open, "", ""),
    wrapper("rlwrap", Severity::Open, "", ""),
    wrapper("caffeinate", Severity::Open, "", ""),
    wrapper("proot", Severity::Open, "", ""),
    wrapper("fakeroot", Severity::Open, "", ""),
    wrapper("dbus-run-session", Severity::Open, "", ""),
    wrapper("start-stop-daemon", Severity::Open, "", ""),
    wrapper("numactl", Severity::Open, "", ""),
    wrapper("prlimit", Severity::Open, "", ""),
    wrapper("direnv", Severity::Open, "", ""),
    wrapper("coproc", Severity::Heavy, "", ""),
    wrapper("busybox", Severity::Heavy, "", ""),
    wrapper("toybox", Severity::Heavy, "", ""),
    marked("find", &["-exec", "-execdir", "-ok", "-okdir"], &[";", "+"]),
    marked("fd", &["-x", "-X", "--exec", "--exec-batch"], &[";"]),
    marked("fdfind", &["-x", "-X", "--exec", "--exec-batch"], &[";"]),
];
