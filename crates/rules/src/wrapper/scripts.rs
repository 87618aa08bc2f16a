//! Scripts and old option styles, where letters after a dash do not say what a program does: `sed`, `tar`, `make`,
//! `uniq`. Like the other hazards, they matter only to rules that allow.

/// Long options of `sed` that neither write nor give a script.
const QUIET_SED: &[&str] = &[
    "quiet",
    "silent",
    "regexp-extended",
    "separate",
    "unbuffered",
    "null-data",
    "zero-terminated",
    "posix",
    "sandbox",
    "debug",
    "help",
    "version",
];

/// Returns the words of a `sed` command that do more than print or replace, or that are unknown.
pub(super) fn sed<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut has_script = false;
    let mut words = rest.iter().copied();
    let mut hold = |script: &'a str| {
        if !is_plain_script(script) {
            found.push(script);
        }
    };
    let mut options = true;
    while let Some(word) = words.next() {
        if options && word == "--" {
            options = false;
        } else if let Some(long) = word.strip_prefix("--").filter(|_| options) {
            match long.split_once('=') {
                Some(("expression", script)) => {
                    has_script = true;
                    hold(script);
                }
                None if long == "expression" => {
                    has_script = true;
                    hold(words.next().unwrap_or(word));
                }
                None if QUIET_SED.contains(&long) => {}
                _ => hold(word),
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|text| options && !text.is_empty()) {
            for (at, letter) in letters.char_indices() {
                let value = &letters[at + letter.len_utf8()..];
                match letter {
                    'n' | 'E' | 'r' | 's' | 'u' | 'z' => continue,
                    'e' => {
                        has_script = true;
                        hold(if value.is_empty() {
                            words.next().unwrap_or(word)
                        } else {
                            value
                        });
                    }
                    'l' if value.is_empty() => drop(words.next()),
                    'l' => {}
                    _ => hold(word),
                }
                break;
            }
        } else if !has_script {
            has_script = true;
            hold(word);
        }
    }
    found
}

/// Whether a `sed` script only prints, deletes, counts or replaces lines.
fn is_plain_script(script: &str) -> bool {
    let mut rest = script.trim();
    if script.contains('\n') {
        return false;
    }
    loop {
        rest = rest.trim_start_matches([' ', ';']);
        if rest.is_empty() {
            return true;
        }
        let Some(command) = behind_addresses(rest) else {
            return false;
        };
        let Some(next) = behind_command(command) else {
            return false;
        };
        let next = next.trim_start_matches(' ');
        if !next.is_empty() && !next.starts_with(';') {
            return false;
        }
        rest = next;
    }
}

/// `3`, `$`, `2,5`, `1~2`, `/text/,$`, each with an optional `!`.
fn behind_addresses(script: &str) -> Option<&str> {
    let Some(rest) = behind_address(script)? else {
        return Some(script);
    };
    let rest = match rest.strip_prefix(',') {
        Some(second) => {
            let second = second.strip_prefix(['+', '~']).unwrap_or(second);
            behind_address(second)??
        }
        None => rest,
    };
    let rest = rest.trim_start_matches(' ');
    Some(rest.strip_prefix('!').unwrap_or(rest).trim_start_matches(' '))
}

/// Returns the text after an address. `Some(None)` means no address, `None` an unknown one.
#[expect(
    clippy::option_option,
    reason = "a missing address and an unknown one are two results"
)]
fn behind_address(script: &str) -> Option<Option<&str>> {
    if let Some(rest) = script.strip_prefix('$') {
        return Some(Some(rest));
    }
    if let Some(rest) = script.strip_prefix('/') {
        let rest = behind_part(rest, '/')?;
        return Some(Some(rest.strip_prefix('I').unwrap_or(rest)));
    }
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let first = digits(script);
    if first == 0 {
        return Some(None);
    }
    let rest = &script[first..];
    Some(Some(match rest.strip_prefix('~') {
        Some(step) => &step[digits(step)..],
        None => rest,
    }))
}

fn behind_command(command: &str) -> Option<&str> {
    if let Some(rest) = command.strip_prefix('s') {
        let delimiter = rest
            .chars()
            .next()
            .filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
        let pattern = behind_part(&rest[1..], delimiter)?;
        let flags = behind_part(pattern, delimiter)?;
        return Some(flags.trim_start_matches(|c: char| matches!(c, 'g' | 'p' | 'i' | 'I' | '0'..='9')));
    }
    let rest = command.strip_prefix(['p', 'd', 'q', '='])?;
    Some(rest)
}

/// Returns the text after the next delimiter that no backslash escapes.
fn behind_part(text: &str, delimiter: char) -> Option<&str> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == delimiter {
            return Some(&text[at + c.len_utf8()..]);
        } else if c == '[' && !is_plain_set(&text[at + 1..], delimiter) {
            return None;
        }
    }
    None
}

/// Whether a bracket set contains only plain characters: a delimiter in a set ends the part for some programs and
/// not for others.
fn is_plain_set(text: &str, delimiter: char) -> bool {
    let Some((inside, _)) = text.split_once(']') else {
        return false;
    };
    let inside = inside.strip_prefix('^').unwrap_or(inside);
    let plain = |c: char| c != delimiter && (c.is_ascii_alphanumeric() || " _.,:*+?-[".contains(c));
    !inside.is_empty() && inside.chars().all(plain)
}

/// Returns the first word of a `tar` command if it is letters without a dash (`tar xzf`) and contains one of these.
pub(super) fn tar<'a>(rest: &[&'a str], letters: &str) -> Vec<&'a str> {
    let first = rest.first().copied().filter(|word| !word.starts_with('-'));
    first
        .filter(|word| word.chars().any(|letter| letters.contains(letter)))
        .into_iter()
        .collect()
}

/// Returns words that set a variable of `make` or `configure`: such a variable can name the shell or the compiler.
pub(super) fn assignments<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    let sets = |word: &&&str| !word.starts_with('-') && word.contains('=');
    rest.iter().filter(sets).copied().collect()
}

/// Returns the second file of `uniq` or `xxd`, which they write.
pub(super) fn second_file<'a>(rest: &[&'a str], values: &str) -> Vec<&'a str> {
    let mut files = Vec::new();
    let mut words = rest.iter().copied();
    let mut options = true;
    while let Some(word) = words.next() {
        match word
            .strip_prefix('-')
            .filter(|letters| options && !letters.is_empty())
        {
            Some("-") => options = false,
            Some(letters) if letters.len() == 1 && values.contains(letters) => drop(words.next()),
            Some(_) => {}
            None => files.push(word),
        }
    }
    files.into_iter().skip(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_print_and_replace_are_plain() {
        for script in [
            "1p",
            "$p",
            "2,5p",
            "1,$p",
            "10q",
            "5d",
            "$=",
            "1~2p",
            "/a b/p",
            "/a/,/b/p",
            "/a/,+3p",
            "3!d",
            "s/x/y/",
            "s/x/y/gp",
            "s|a/b|c|2",
            "s/a\\/b/c/g",
            "1p;2p",
            "1p; $p",
            "s/[a-z]*//",
            "s/[^[:alpha:]]/x/",
            "",
            "/x/s/a/b/",
        ] {
            assert!(is_plain_script(script), "{script}");
        }
        for script in [
            "1e ./x",
            "e",
            "w out",
            "1w out",
            "s/x/y/w out",
            "s/x/y/e",
            "s/x/y/gew out",
            "r /etc/passwd",
            "R x",
            "1p\ne x",
            "{e x\n}",
            "{p}",
            "1p;e x",
            "s/[/]/y/e",
            "s/[]/]/y/e",
            "s/x/y",
            "s\\x\\y\\",
            "\\,x,p",
            "W out",
            "F",
            "v",
            "1p w out",
            "/x/e",
            "a\\",
            "y/a/b/",
            ":a",
        ] {
            assert!(!is_plain_script(script), "{script}");
        }
    }
}
