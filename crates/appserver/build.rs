//! Builds the program that holds commands, for the server to carry within it.
//!
//! A command in the sandbox begins only after this program has begun, and one of a megabyte begins two milliseconds sooner
//! than the server's own of fifty. It does what the server's helper mode does, from the same code; where it cannot be built,
//! the server carries none and uses that mode. It is linked statically, so that nothing has to be looked up when it begins.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script is told everything by its environment, and runs the compiler itself"
)]

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program, and the package that has it.
const PROGRAM: &str = "bobbin-hold";
const PACKAGE: &str = "bobbin-sandbox";
/// What separates flags in the variable in which they come.
const BETWEEN_FLAGS: &str = "\u{1f}";
/// Has the program linked with all it needs.
const STATIC: &str = "-Ctarget-feature=+crt-static";

fn main() -> io::Result<()> {
    for path in [
        "../sandbox/src",
        "../sandbox/Cargo.toml",
        "../../Cargo.toml",
        "../../Cargo.lock",
    ] {
        println!("cargo::rerun-if-changed={path}");
    }
    let variable = |name: &str| env::var_os(name).ok_or_else(|| io::Error::other(format!("no {name}")));
    let out = PathBuf::from(variable("OUT_DIR")?);
    let target = variable("TARGET")?
        .into_string()
        .map_err(|_| io::ErrorKind::InvalidData)?;
    let carried = out.join(PROGRAM);
    if env::var_os("CARGO_CFG_TARGET_OS").is_none_or(|system| system != "linux") {
        return fs::write(carried, "");
    }
    let cargo = variable("CARGO")?;
    let built = build(&cargo, &out, &target, Some(STATIC)).or_else(|_| build(&cargo, &out, &target, None));
    match built {
        Ok(program) => fs::copy(program, carried).map(drop),
        Err(why) => {
            println!(
                "cargo::warning=commands in the sandbox begin later than they could: {PROGRAM} cannot be built: {why}"
            );
            // Something that is never there: the next build tries again.
            println!("cargo::rerun-if-changed={}", out.join("missing").display());
            fs::write(carried, "")
        }
    }
}

/// Builds the program, and returns where it is, or why it is not.
fn build(cargo: &OsString, out: &Path, target: &str, more: Option<&str>) -> Result<PathBuf, String> {
    let directory = out.join("hold");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let flags = flags
        .split(BETWEEN_FLAGS)
        .filter(|flag| !flag.is_empty())
        .chain(more);
    // A target that is named keeps the flags from what runs while building.
    let output = Command::new(cargo)
        .args(["build", "--release", "--locked", "--quiet"])
        .args(["--package", PACKAGE, "--bin", PROGRAM, "--target", target])
        .arg("--target-dir")
        .arg(&directory)
        .env("CARGO_BUILD_BUILD_DIR", &directory)
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            flags.collect::<Vec<_>>().join(BETWEEN_FLAGS),
        )
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        // A linter would check it and make nothing.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(directory.join(target).join("release").join(PROGRAM));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let error = said.lines().find(|line| line.starts_with("error"));
    Err(error.unwrap_or("it is not said why").to_owned())
}
