//! The third reader, for lines that the parser cannot parse. The parser drops text that it does not understand;
//! this reader reads every word.
//!
//! Its guesses count only for rules that refuse or ask. It reads the first 64 KiB without a limit on words or
//! commands, because it is for lines with too many of them.

use super::{MAX_LINE_BYTES, Word};

/// Words that can stand before a command.
const BEFORE: &[&str] = &[
    "!", "then", "do", "else", "elif", "if", "while", "until", "time", "coproc", "in",
];

/// Returns possible commands: the words between all possible separators, without quotes and backslashes.
pub(crate) fn guesses(line: &str) -> Vec<Vec<Word>> {
    let line = &line[..line.floor_char_boundary(MAX_LINE_BYTES)];
    let separates = |c: char| {
        matches!(
            c,
            ';' | '|' | '&' | '\n' | '\r' | '(' | ')' | '{' | '}' | '`' | '<' | '>' | '#'
        )
    };
    let mut commands = Vec::new();
    for piece in line.split(separates) {
        let words = piece.split(|c: char| c.is_whitespace() || c.is_control());
        let words = words
            .map(|word| word.replace(['\'', '"', '\\', '$'], ""))
            .filter(|word| !word.is_empty());
        let words: Vec<Word> = words
            .skip_while(|word| BEFORE.contains(&word.as_str()) || word.contains('='))
            .map(Word::unknown)
            .collect();
        if !words.is_empty() {
            commands.push(words);
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_between_separators_are_commands() {
        let commands = guesses("if A=b r\"m\" -rf x; then\n(ls $a }} '");
        let texts: Vec<Vec<&str>> = commands
            .iter()
            .map(|words| words.iter().map(|word| word.text.as_str()).collect())
            .collect();
        assert_eq!(texts, [vec!["rm", "-rf", "x"], vec!["ls", "a"]]);
    }
}
