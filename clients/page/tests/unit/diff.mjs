//! Differences of the texts of a call: none is left out, and none takes long.
import assert from "node:assert/strict";
import { test } from "node:test";
import { between, parse } from "../../node_modules/.unit/side/diff.js";

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

test("each file and each hunk has a diff of its own", () => {
  const head = "diff --git a/tea b/tea\nindex 1..2 100644\n--- a/tea\n+++ b/tea\n";
  const hunks = [
    "@@ -1 +1 @@\n-@@ 1\n+diff --git a/x b/x\u2028@@\n",
    "@@ -9 +9,2 @@\n leaf\n+cup\n\\ No newline at end of file\n",
  ];
  const gone = "diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
  const binary = "diff --git a/b b/b\nBinary files a/b and b/b differ\n";
  const files = parse(head + hunks.join("") + binary + gone);
  const tea = files.find(({ path }) => path === "tea");
  assert.equal(tea.patch, head + hunks.join(""));
  assert.deepEqual(
    tea.hunks.map(({ patch }) => patch),
    hunks.map((hunk) => head + hunk),
  );
  assert.equal(files.find(({ path }) => path === "old").patch, gone);
  assert.ok(
    files.every(({ path, patch }) => path !== "b" || !patch),
    "nothing can be made of a diff without lines",
  );
});
