//! The cases that the terminal's function is tested with too.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { isActing, marked, markedInLine } from "../../node_modules/.unit/text/marked.js";

const { cases, acting } = JSON.parse(
  readFileSync(new URL("../../../../crates/model/tests/marked.json", import.meta.url), "utf8"),
);

for (const { why, text, shown } of cases) {
  test(why, () => {
    assert.equal(marked(text), shown);
    assert.equal(marked(shown), shown);
  });
}

test("the same characters act on a display as in the terminal", () => {
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const listed = acting.some(([from, to]) => from <= code && code <= to);
    if (isActing(String.fromCodePoint(code)) !== listed) assert.fail(`U+${code.toString(16)}`);
  }
});

test("a text of one line stays in its line", () => {
  assert.equal(markedInLine(`tea\n\n\tcup${" ".repeat(99)}`), "tea\\n\\n\\tcup [99 blanks] ");
});
