//! What `execve` is told, laid out before there is a process to tell it: a new process allocates nothing.

#![expect(
    unsafe_code,
    reason = "`execve` is told by pointers; the block says why they hold"
)]

use std::ffi::{CStr, CString, OsStr, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::ptr;

use nix::errno::Errno;
use nix::libc;

use crate::ProcessSpec;

/// Reads programs that do not say who reads them.
const SHELL: &CStr = c"/bin/sh";
/// Where programs are looked for when nobody says it.
const USUAL: &str = "/bin:/usr/bin";

/// A program, its arguments, its variables and its directory.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) directory: CString,
    /// Where the program may be, in the order in which it is looked for.
    places: Vec<CString>,
    /// Room for a shell, the arguments from the program's own name on, and null.
    arguments: Vec<*const c_char>,
    /// The variables, and null.
    variables: Vec<*const c_char>,
    /// What the pointers point to.
    _texts: Vec<CString>,
}

impl Image {
    /// Lays out what `spec` says.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when a text has a zero byte.
    pub(crate) fn of(spec: &ProcessSpec) -> io::Result<Self> {
        let mut texts = Vec::new();
        let mut text = |bytes: Vec<u8>| -> io::Result<*const c_char> {
            let text = CString::new(bytes)?;
            // The bytes stay where they are when the text is moved.
            let start = text.as_ptr();
            texts.push(text);
            Ok(start)
        };
        let mut arguments = vec![SHELL.as_ptr(), text(spec.program.as_bytes().to_vec())?];
        for argument in &spec.args {
            arguments.push(text(argument.as_bytes().to_vec())?);
        }
        arguments.push(ptr::null());
        let mut variables = Vec::new();
        for (name, value) in spec.env.iter() {
            variables.push(text([name.as_bytes(), b"=", value.as_bytes()].concat())?);
        }
        variables.push(ptr::null());
        Ok(Self {
            directory: CString::new(spec.cwd.as_os_str().as_bytes())?,
            places: places(&spec.program, spec.env.get("PATH"))?,
            arguments,
            variables,
            _texts: texts,
        })
    }

    /// Becomes the program, as `execvp` does. Returns why that cannot be. Safe in a process that has our memory.
    pub(crate) fn become_program(&mut self) -> Errno {
        let mut last = Errno::ENOENT;
        for place in &self.places {
            let error = execute(place, self.arguments.get(1..), &self.variables);
            match error {
                // There may be another behind it. One that may not be executed says more than one that is missing.
                Errno::EACCES => last = error,
                Errno::ENOENT | Errno::ENOTDIR | Errno::ESTALE | Errno::ENODEV | Errno::ETIMEDOUT => {
                    if last != Errno::EACCES {
                        last = error;
                    }
                }
                Errno::ENOEXEC => {
                    if let [_, name, ..] = &mut self.arguments[..] {
                        *name = place.as_ptr();
                    }
                    return execute(SHELL, Some(&self.arguments), &self.variables);
                }
                _ => return error,
            }
        }
        last
    }
}

fn execute(program: &CStr, arguments: Option<&[*const c_char]>, variables: &[*const c_char]) -> Errno {
    let Some(arguments) = arguments else {
        return Errno::EINVAL;
    };
    // SAFETY: all of it is texts that end with zero, in lists that end with null; the image owns them.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), variables.as_ptr()) };
    Errno::last()
}

/// Returns where `program` may be: there, if it is a path; otherwise in the directories of `path`.
fn places(program: &OsStr, path: Option<&OsStr>) -> io::Result<Vec<CString>> {
    let program = program.as_bytes();
    if program.is_empty() {
        return Ok(Vec::new());
    }
    if program.contains(&b'/') {
        return Ok(vec![CString::new(program)?]);
    }
    path.map_or(USUAL.as_bytes(), OsStr::as_bytes)
        .split(|&byte| byte == b':')
        .map(|directory| {
            // One without a name is the directory that it starts in.
            let between: &[u8] = if directory.is_empty() { b"" } else { b"/" };
            Ok(CString::new([directory, between, program].concat())?)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_as_execvp_does() {
        for (program, path, expected) in [
            ("sh", Some("/a:/b"), &["/a/sh", "/b/sh"][..]),
            ("sh", Some("/a::b:"), &["/a/sh", "sh", "b/sh", "sh"]),
            ("sh", Some(""), &["sh"]),
            ("sh", None, &["/bin/sh", "/usr/bin/sh"]),
            ("./sh", Some("/a"), &["./sh"]),
            ("", Some("/a"), &[]),
        ] {
            let places = places(program.as_ref(), path.map(OsStr::new)).unwrap();
            let places: Vec<_> = places.iter().map(|place| place.to_str().unwrap()).collect();
            assert_eq!(places, expected, "{program:?} in {path:?}");
        }
    }
}
