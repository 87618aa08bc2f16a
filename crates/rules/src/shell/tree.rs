//! The first reader: the whole of a shell's language, parsed by tree-sitter. Finds every command at any depth.
//!
//! The parser gets a tenth of a second, and the walk over its tree counts nodes. A line that needs more gets a
//! question.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, ParseState, Parser};

use super::plain::is_harmless;
use super::word::{starts_here, word};
use super::{MAX_COMMANDS, MAX_LINE_BYTES, MAX_WORDS, Piece, Reading, Redirect, Word};
use crate::Ambiguity;

/// Most nodes visited.
const MAX_NODES: usize = 50_000;
/// Most nodes within each other.
const MAX_DEPTH: usize = 200;
/// Most here-documents in a line.
const MAX_HERE_DOCUMENTS: usize = 64;
/// Time limit of the parser. An ordinary line of 22 kB takes 8 ms, or five times that without optimizations; some
/// lines of a few kilobytes would take minutes.
const MAX_TIME: Duration = Duration::from_millis(100);

/// Reads a line.
pub(crate) fn read(line: &str) -> Reading {
    let mut reading = Reading::default();
    if line.len() > MAX_LINE_BYTES {
        reading.ambiguous(Ambiguity::TooMuch);
        return reading;
    }
    if line.matches("<<").count() > MAX_HERE_DOCUMENTS {
        // The parser's time grows with the square of the number of here-documents.
        reading.ambiguous(Ambiguity::TooMuch);
        return reading;
    }
    if line.trim().is_empty() || line.contains(is_strange) {
        reading.ambiguous(Ambiguity::Character);
    }
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        reading.ambiguous(Ambiguity::Unreadable);
        return reading;
    }
    let started = Instant::now();
    let mut go_on = |_: &ParseState| {
        if started.elapsed() > MAX_TIME {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let shown = for_the_parser(line);
    let bytes = shown.as_bytes();
    let options = ParseOptions::new().progress_callback(&mut go_on);
    let tree = parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or_default(),
        None,
        Some(options),
    );
    match tree {
        Some(tree) => Walk::new(line, &mut reading).walk(tree.root_node()),
        None => reading.ambiguous(Ambiguity::TooMuch),
    }
    reading
}

/// Returns the line in a form that is safe for the parser, with every byte in its place. The parser's scanner is
/// written in C, uses characters beyond ASCII as indexes into tables, and crashes. To a shell they are letters.
fn for_the_parser(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    for c in line.chars() {
        if c.is_ascii() && !is_strange(c) {
            shown.push(c);
        } else {
            shown.extend(std::iter::repeat_n('x', c.len_utf8()));
        }
    }
    shown
}

/// Characters that some shells or terminals treat specially.
fn is_strange(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
}

struct Walk<'a> {
    line: &'a str,
    reading: &'a mut Reading,
    words: usize,
}

impl<'a> Walk<'a> {
    fn new(line: &'a str, reading: &'a mut Reading) -> Self {
        Self {
            line,
            reading,
            words: 0,
        }
    }

    /// Visits every node, outer nodes first.
    fn walk(&mut self, root: Node<'_>) {
        let mut cursor = root.walk();
        let (mut depth, mut nodes) = (0, 0);
        loop {
            nodes += 1;
            if nodes > MAX_NODES || depth > MAX_DEPTH || self.words > MAX_WORDS {
                return self.reading.ambiguous(Ambiguity::TooMuch);
            }
            self.look(cursor.node());
            if cursor.goto_first_child() {
                depth += 1;
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                depth -= 1;
            }
        }
    }

    fn look(&mut self, node: Node<'_>) {
        if node.is_error() || node.is_missing() {
            return self.reading.ambiguous(Ambiguity::Unreadable);
        }
        if !node.is_named() {
            if node.kind() == "&" {
                self.reading.ambiguous(Ambiguity::Background);
            }
            return;
        }
        match node.kind() {
            "program"
            | "list"
            | "pipeline"
            | "redirected_statement"
            | "command_name"
            | "raw_string"
            | "string"
            | "string_content"
            | "concatenation"
            | "file_descriptor"
            // Always part of an expansion or an assignment.
            | "variable_name"
            | "special_variable_name"
            | "comment"
            // Judged with its command, redirection or assignment.
            | "number"
            | "word"
            // Always part of a test or of arithmetic.
            | "test_operator"
            | "unary_expression"
            | "binary_expression" => {}
            "command" => self.command(node),
            "test_command" if self.test(node) => {}
            "declaration_command" | "unset_command" | "test_command" => {
                self.command(node);
                self.reading.ambiguous(Ambiguity::Compound);
            }
            "file_redirect" => self.redirect(node),
            "heredoc_redirect" | "heredoc_start" | "heredoc_end" | "heredoc_content" => {
                self.reading.ambiguous(Ambiguity::HereDocument);
            }
            "heredoc_body" => {
                let text = self.line.get(node.byte_range()).unwrap_or_default();
                let mark = node.parent().and_then(|redirect| {
                    let mut cursor = redirect.walk();
                    redirect.named_children(&mut cursor).find(|child| child.kind() == "heredoc_start")
                });
                let mark = mark.and_then(|mark| self.line.get(mark.byte_range()));
                let is_quoted = mark.is_some_and(|mark| mark.contains(['\'', '"', '\\']));
                // The grammar has no node for a command in backquotes there.
                if !is_quoted && text.contains('`') {
                    self.reading.ambiguous(Ambiguity::Unreadable);
                }
                self.input(node, text.to_owned());
            }
            "herestring_redirect" => {
                let text = node.named_child(0).map(|text| word(text, self.line).text);
                self.input(node, text.unwrap_or_default());
            }
            "command_substitution" | "process_substitution" => {
                self.reading.ambiguous(Ambiguity::Substitution);
                // Backquotes nested in backquotes.
                if self.line.get(node.byte_range()).is_some_and(|text| text.contains("\\`")) {
                    self.reading.ambiguous(Ambiguity::Unreadable);
                }
            }
            "simple_expansion" if self.is_here(node) => {}
            "simple_expansion" | "expansion" | "arithmetic_expansion" => {
                self.reading.ambiguous(Ambiguity::Expansion);
                // As for a here-document.
                if self.line.get(node.byte_range()).is_some_and(|text| text.contains('`')) {
                    self.reading.ambiguous(Ambiguity::Unreadable);
                }
                // `${x:=y}`
                self.reading.sets_more |= self.line[node.byte_range()].contains('=');
            }
            "brace_expression" | "extglob_pattern" | "regex" => self.reading.ambiguous(Ambiguity::Pattern),
            "variable_assignments" => self.reading.ambiguous(Ambiguity::Assignment),
            "variable_assignment" => self.assignment(node),
            "subshell"
            | "compound_statement"
            | "negated_command"
            | "function_definition"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "for_statement"
            | "c_style_for_statement"
            | "while_statement"
            | "do_group"
            | "case_statement"
            | "case_item" => {
                self.reading.ambiguous(Ambiguity::Compound);
                if node.kind() == "for_statement" {
                    self.loop_over(node);
                }
            }
            other => self.reading.ambiguous(Ambiguity::Unusual(other.replace('_', " "))),
        }
    }

    /// Whether an expansion is the shell's directory at the beginning of a word.
    fn is_here(&self, node: Node<'_>) -> bool {
        let opens = |around: Node<'_>| around.start_byte() + 1 == node.start_byte();
        node.parent()
            .is_some_and(|around| opens(around) && starts_here(around, self.line))
    }

    fn command(&mut self, node: Node<'_>) {
        let mut words: Vec<Word> = Vec::new();
        let mut end = usize::MAX;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_assignment"
                | "file_redirect"
                | "herestring_redirect"
                | "heredoc_redirect"
                | "subscript"
                    if node.kind() == "command" => {}
                "comment" => {}
                // The tree splits what is one word to a shell: `$.*`.
                _ if child.start_byte() == end => {
                    if let Some(before) = words.last_mut() {
                        let text = before.text.clone() + &self.line[child.byte_range()];
                        *before = Word {
                            text,
                            ..Word::of(vec![Piece::Unknown])
                        };
                    }
                }
                _ => words.push(word(child, self.line)),
            }
            end = child.end_byte();
        }
        self.add_command(words);
    }

    /// Reads `[ … ]` as a command; `false` if it has more than words.
    fn test(&mut self, node: Node<'_>) -> bool {
        let mut words = Vec::new();
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            match node.kind() {
                "test_command" | "unary_expression" | "binary_expression" => {
                    let mut cursor = node.walk();
                    let children: Vec<_> = node.children(&mut cursor).collect();
                    open.extend(children.into_iter().rev());
                }
                "test_operator" | "[" | "]" | "=" | "==" | "!=" | "!" | "-a" | "-o" => {
                    words.push(Word::exact(&self.line[node.byte_range()]));
                }
                "word"
                | "number"
                | "string"
                | "raw_string"
                | "concatenation"
                | "simple_expansion"
                | "expansion"
                | "command_substitution" => words.push(word(node, self.line)),
                _ => return false,
            }
        }
        let is_command = words.first() == Some(&Word::exact("["));
        if is_command {
            self.add_command(words);
        }
        is_command
    }

    fn assignment(&mut self, node: Node<'_>) {
        let name = node
            .child_by_field_name("name")
            .map(|name| &self.line[name.byte_range()]);
        let value = node.child_by_field_name("value");
        let value = value.map_or_else(|| Word::exact(""), |value| word(value, self.line));
        let is_added = node.child(1).is_some_and(|operator| operator.kind() == "+=");
        let name = name.unwrap_or_default();
        let in_front = node.parent().is_some_and(|parent| parent.kind() == "command");
        if !(in_front && value.exact && !is_added && is_harmless(name)) {
            self.reading.ambiguous(Ambiguity::Assignment);
        }
        let value = if is_added {
            Word::of(vec![Piece::Unknown])
        } else {
            value
        };
        self.set(name, value);
    }

    fn set(&mut self, name: &str, value: Word) {
        if self.reading.assignments.len() == MAX_WORDS {
            return self.reading.ambiguous(Ambiguity::TooMuch);
        }
        self.reading.assignments.push((name.to_owned(), value));
    }

    fn loop_over(&mut self, node: Node<'_>) {
        let name = node
            .child_by_field_name("variable")
            .map(|name| &self.line[name.byte_range()]);
        let name = name.unwrap_or_default();
        let mut cursor = node.walk();
        let values: Vec<_> = node.children_by_field_name("value", &mut cursor).collect();
        if values.is_empty() {
            self.set(name, Word::of(vec![Piece::Unknown]));
        }
        for value in values {
            self.set(name, word(value, self.line));
        }
    }

    fn add_command(&mut self, words: Vec<Word>) {
        self.words += words.len();
        if words.is_empty() {
            return;
        }
        if self.reading.commands.len() == MAX_COMMANDS {
            return self.reading.ambiguous(Ambiguity::TooMuch);
        }
        // Variables and substitutions have their own nodes, which report them.
        let is_pattern = |word: &Word| {
            let mut pieces = word.pieces.iter();
            !word.exact && pieces.any(|piece| *piece == Piece::Unknown)
        };
        if words.iter().any(is_pattern) {
            self.reading.ambiguous(Ambiguity::Pattern);
        }
        self.reading.commands.push(words);
    }

    fn redirect(&mut self, node: Node<'_>) {
        let mut operator = "";
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if !child.is_named() {
                operator = child.kind();
            }
        }
        let mut cursor = node.walk();
        for target in node.children_by_field_name("destination", &mut cursor) {
            let target = word(target, self.line);
            let copies = matches!(operator, ">&" | "<&")
                && target.exact
                && (target.text == "-" || target.text.bytes().all(|byte| byte.is_ascii_digit()));
            if copies || target == Word::exact("/dev/null") {
                continue;
            }
            let writes = operator != "<";
            if !matches!(operator, "<" | ">" | ">>") {
                self.reading.ambiguous(Ambiguity::Redirection);
            }
            if !target.exact {
                self.reading.ambiguous(Ambiguity::Pattern);
            }
            self.words += 1;
            self.reading.redirects.push(Redirect {
                target,
                reads: matches!(operator, "<" | "<>"),
                writes,
            });
        }
    }

    fn input(&mut self, node: Node<'_>, text: String) {
        self.reading.ambiguous(Ambiguity::HereDocument);
        if node.has_error() {
            self.reading.ambiguous(Ambiguity::Unreadable);
        }
        if self.reading.inputs.len() < MAX_COMMANDS {
            self.reading.inputs.push(text);
        }
    }
}
