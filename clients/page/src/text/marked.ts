//! Text of models, files and servers as a user reads it before an answer. Pure. The terminal does the same
//! (`crates/model/src/visible.rs`); both are tested with `crates/model/tests/marked.json`.

/** Characters that act on a display instead of appearing: controls, directions and invisible characters. */
const acting =
  "\\0-\\x1f\\x7f-\\x9f\\u{ad}\\u{34f}\\u{61c}\\u{115f}\\u{1160}\\u{17b4}\\u{17b5}\\u{180e}\\u{200b}\\u{200e}\\u{200f}\\u{2028}-\\u{202e}\\u{2060}-\\u{206f}\\u{3164}\\u{feff}\\u{ffa0}\\u{fff0}-\\u{fffc}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";
const joiners = "\\u{200c}\\u{200d}";
/** Invisible characters that choose how the letter before them is drawn. */
const selectors = "\\u{180b}-\\u{180d}\\u{180f}\\u{fe00}-\\u{fe0f}";
/** U+2800 is a letter of Braille without a dot. */
const blank = "[\\t \\u{a0}\\u{1680}\\u{2000}-\\u{200a}\\u{202f}\\u{205f}\\u{3000}\\u{2800}]";
const letter = `[^\\0-\\x7f${acting}${joiners}${selectors}]`;

const acts = new RegExp(`[${acting}]`, "u");
/** Characters that become marks: acting ones, and joiners and selectors without a letter of theirs. */
const hidden = new RegExp(
  `[${acting}]|(?<!${letter}[${selectors}]?)[${joiners}]|[${joiners}](?!${letter})|(?<!${letter})[${selectors}]`,
  "gu",
);
const parts = new RegExp(`${blank}+|(?:(?!${blank}).)+`, "gsu");
const indentation = new RegExp(`^${blank}*`, "u");
const isEmpty = new RegExp(`^${blank}*$`, "u");

/** Longest run of blanks in a line, after its indentation, that is shown as it is. */
const MAX_BLANKS = 8;
/** Deepest indentation that is shown as it is. */
const MAX_INDENTATION = 40;
/** Most empty lines in succession that are shown as they are. */
const MAX_EMPTY_LINES = 3;

/** Returns whether a character acts on a display instead of appearing. */
export const isActing = (char: string) => acts.test(char);

/**
 * Returns a text with marks in place of acting characters. Numbers replace blanks and empty lines that could push the
 * rest out of sight.
 */
export function marked(text: string): string {
  const shown: string[] = [];
  let empty: string[] = [];
  const flush = () => {
    if (empty.length > MAX_EMPTY_LINES) shown.push(`[${empty.length} empty lines]`);
    else shown.push(...empty.map(markedLine));
    empty = [];
  };
  for (const line of text.split("\n")) {
    if (isEmpty.test(line)) empty.push(line);
    else {
      flush();
      shown.push(markedLine(line));
    }
  }
  flush();
  return shown.join("\n");
}

/** Returns a text as one line, with marks. */
export const markedInLine = (text: string) => markedLine(text.replaceAll("\n", "\\n"));

/** Returns a Thread's title with marks, since a model or another client has written it. */
export const threadTitle = (thread: { displayName?: string | null } | undefined, otherwise: string) =>
  markedInLine(thread?.displayName || otherwise);

function markedLine(line: string): string {
  // A line of blanks has no indentation.
  const start = isEmpty.test(line) ? "" : (indentation.exec(line)?.[0] ?? "");
  const spaces = start.replaceAll("\t", "    ");
  const shown = spaces.length > MAX_INDENTATION ? `[${start.length} blanks] ` : spaces;
  return (
    shown +
    line
      .slice(start.length)
      .replace(parts, (part) =>
        isEmpty.test(part) && part.length > MAX_BLANKS ? ` [${part.length} blanks] ` : part.replace(hidden, mark),
      )
  );
}

function mark(char: string): string {
  if (char === "\t") return "\\t";
  if (char === "\r") return "\\r";
  return `\\u{${char.codePointAt(0)?.toString(16)}}`;
}
