//! Arguments that make `awk`, `curl` and similar programs run programs, or read and write files. They matter to
//! rules that allow.

/// Names that an `awk` script may not use: functions that run or read, and variables that name files to read.
const LIVE_AWK: &[&str] = &[
    "system", "getline", "close", "fflush", "ENVIRON", "PROCINFO", "ARGV", "ARGC", "ARGIND", "SYMTAB",
    "FUNCTAB",
];

/// Returns the words of an `awk` command that do more than print, or that are unknown.
pub(super) fn awk<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    let mut words = rest.iter().copied();
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            Some("F" | "v") => drop(words.next()),
            Some(letters) if letters.starts_with('F') || letters.starts_with('v') => {}
            None if is_plain_awk(word) => return Vec::new(),
            _ => return vec![word],
        }
    }
    Vec::new()
}

/// Whether an `awk` script only reads its input.
fn is_plain_awk(script: &str) -> bool {
    let names = script.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut depth = 0_i32;
    let mut compares = false;
    let mut text = false;
    let mut escaped = false;
    for c in script.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => text = !text,
            _ if text => {}
            '{' => depth += 1,
            '}' => depth -= 1,
            // After `print` it redirects; before braces it compares.
            '>' if depth == 0 => compares = true,
            '>' | '@' => return false,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    // A regular expression may contain braces, quotes and a single bar.
    let bars = script.replace("||", "");
    let is_unclear = text || bars.contains('|') || (compares && script.contains('/'));
    !is_unclear && names.into_iter().all(|name| !LIVE_AWK.contains(&name))
}

/// Returns the words of a `curl` command that name a file to send or read.
pub(super) fn curl<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut before = "";
    for word in rest.iter().copied() {
        let value = match word.strip_prefix('-') {
            // `-d@file`, `-sd@file`
            Some(short) if !short.starts_with('-') => {
                short.trim_start_matches(|c: char| c.is_ascii_alphabetic())
            }
            Some(_) => word.split_once('=').map_or("", |(_, value)| value),
            None => word,
        };
        let names_file = value.starts_with('@')
            || ["=@", "=<", ";@"].iter().any(|mark| value.contains(mark))
            || word.to_ascii_lowercase().contains("file:");
        // A cookie has a name and a value; a file name has no `=`.
        let reads_cookies = matches!(before, "-b" | "--cookie") && !word.contains('=');
        if names_file || reads_cookies {
            found.push(word);
        }
        before = word;
    }
    found
}

/// Returns the words of a `sqlite3` command that are dot-commands, or functions that write or load.
pub(super) fn sqlite<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    let is_live = |word: &&&str| {
        let lower = word.to_ascii_lowercase();
        let mut live = [
            "load_extension",
            "writefile",
            "readfile",
            "edit(",
            "attach",
            "vacuum",
            "\n.",
        ]
        .iter();
        word.starts_with('.') || live.any(|name| lower.contains(name))
    };
    rest.iter().filter(is_live).copied().collect()
}

/// Returns the operands.
pub(super) fn operands<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    rest.iter()
        .filter(|word| !word.starts_with('-'))
        .copied()
        .collect()
}
