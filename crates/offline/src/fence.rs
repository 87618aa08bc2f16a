//! Markdown around untrusted text, so that the text cannot close it.

/// Returns a code block around `text`, with a fence that is longer than any in it.
pub(super) fn block(text: &str, language: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}")
}

/// Returns a code span around one line of text.
pub(super) fn span(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text) + 1);
    let room = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{room}{text}{room}{ticks}")
}

fn longest_run(text: &str) -> usize {
    let (mut run, mut longest) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Returns the language tag for a path's code block.
pub(super) fn language(path: &str) -> &str {
    let extension = std::path::Path::new(path)
        .extension()
        .and_then(|extension| extension.to_str());
    extension
        .filter(|text| text.len() <= 10 && text.bytes().all(|b| b.is_ascii_alphanumeric()))
        .unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_longer_than_what_they_hold() {
        assert_eq!(block("a", "rs"), "```rs\na\n```");
        assert_eq!(block("````\n", ""), "`````\n````\n`````");
        assert_eq!(span("a`b"), "``a`b``");
        assert_eq!(span("`a"), "`` `a ``");
    }
}
