//! The page and the server find the same places in a message: the fixture is read by a test of `crates/hl7` too.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { asLines, edit, parse, rowsOf } from "../../node_modules/.unit/hl7/message.js";

const fixture = new URL("../../../../crates/hl7/tests/places.json", import.meta.url);
const rows = (text) => rowsOf(parse(text), new Set(), () => []).filter(({ kind }) => kind === "place");

for (const { about, text, places } of JSON.parse(readFileSync(fixture, "utf8"))) {
  test(`places of a message: ${about}`, () => {
    if (!places) {
      assert.equal(parse(text), undefined);
      return;
    }
    const leaves = rows(text).filter(({ hasParts }) => !hasParts);
    const found = leaves.map(({ key, segment, start, end, value }) => [key, segment.text.slice(start, end), value]);
    assert.deepEqual(found, places);
  });
}

test("an edit of the shown lines is one of bytes of the text", () => {
  const text = "MSH|^~\\&\r\nNTE|1||für 😀\r\n";
  const lines = asLines(text).replace("😀", "😁\nNTE|2");
  const { start, end, text: inserted } = edit(text, lines);
  const bytes = Buffer.from(text);
  const after = Buffer.concat([bytes.subarray(0, start), Buffer.from(inserted), bytes.subarray(end)]).toString();
  assert.equal(after, "MSH|^~\\&\r\nNTE|1||für 😁\r\nNTE|2\r\n");
});
