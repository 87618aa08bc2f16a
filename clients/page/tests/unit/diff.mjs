//! Differences of the texts of a call: none is left out, and none takes long.
import assert from "node:assert/strict";
import { test } from "node:test";
import { between } from "../../node_modules/.unit/side/diff.js";

const kinds = ({ hunks }) => hunks.flatMap(({ lines }) => lines.map(({ kind, text }) => [kind, text]));
const lines = (count, line) => Array.from({ length: count }, (_, n) => line(n));

test("a change has the lines around it", () => {
  const diff = between("a/tea", "one\ntwo\n", "one\nthree\n");
  assert.deepEqual(
    [diff.path, kinds(diff)],
    [
      "a/tea",
      [
        ["same", "one"],
        ["del", "two"],
        ["add", "three"],
      ],
    ],
  );
  assert.deepEqual(kinds(between("tea", "", "one\n")), [["add", "one"]]);
});

test("of texts that are too different all lines are shown, at once", () => {
  const [before, after] = [lines(20_000, (n) => `a${n}`), lines(20_000, (n) => `b${n * 7}`)];
  const start = performance.now();
  const diff = between("tea", before.join("\n"), after.join("\n"));
  assert.ok(performance.now() - start < 5000);
  assert.deepEqual(kinds(diff), [...before.map((line) => ["del", line]), ...after.map((line) => ["add", line])]);
  assert.deepEqual([diff.additions, diff.deletions], [20_000, 20_000]);
  assert.equal(kinds(between("tea", "", after.join("\n"))).length, 20_000);
});

test("a path is no part of the change", () => {
  const path = "x\n@@ -0,0 +1,1 @@\n+harmless\n--- y";
  assert.deepEqual(kinds(between(path, "", "evil\n")), [["add", "evil"]]);
});
