//! The offline model's description of itself.

use super::fence::block;

/// Returns the list of possible instructions, with examples.
pub(super) fn help() -> String {
    "I am Bobbin's built-in offline model: I need no key and no network, and I follow plain instructions \
     instead of guessing. You can write\n\n\
     - `list files in src` or `find *.toml`\n\
     - `read README.md`\n\
     - `search for TODO in src`\n\
     - ``run `cargo test` `` (you are asked first), ``run `make serve` in the background``\n\
     - `write notes.txt: hello`, or a code block below `write notes.txt`\n\
     - ``replace `hello` with `goodbye` in notes.txt``\n\
     - `plan: first, second, third`, or a list below `plan:`\n\
     - `call mcp__SERVER__TOOL with {\"name\": \"value\"}`, for tools of MCP servers\n\
     - `Summarize this repository.`\n\
     - `say hello`, `repeat 100 tick`\n\n\
     Join instructions with `then`, or write one a line.\n\n\
     To use a language model, name it as `Model` in `.craft/config.json` in the workspace or in your home \
     directory, such as `anthropic/claude-sonnet-4-5` with the variable ANTHROPIC_API_KEY set, or try one with \
     `bobbin exec --model NAME`. `bobbin doctor` says what is missing."
        .to_owned()
}

/// Returns the same for a prompt that was not understood.
pub(super) fn not_understood(line: &str) -> String {
    let (line, whole) = bobbin_agent_api::cut::head(line, 400);
    let line = block(&format!("{line}{}", if whole { "" } else { " […]" }), "");
    format!(
        "I did not understand this, so I have done nothing:\n\n{line}\n\n{}",
        help()
    )
}
