//! The bytes that go to a shell.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isAnswer, sender, shownBefore } from "../../node_modules/.unit/shells/typing.js";

test("answers of the terminal are not what a user types", () => {
  for (const answer of [
    "\u001b[?1;2c",
    "\u001b[>0;276;0c",
    "\u001b[12;40R",
    "\u001b[0n",
    "\u001b[?2004;1$y",
    "\u001b[I",
  ])
    assert.ok(isAnswer(answer), JSON.stringify(answer));
  for (const typed of [
    "a",
    "\u001b",
    "\u001b[A",
    "\u001bOP",
    "\u001b[1;5C",
    "\u001b[200~c\u001b[201~",
    "\u001b[<0;1;1M",
  ])
    assert.ok(!isAnswer(typed), JSON.stringify(typed));
});

test("only what was drawn before is a copy", () => {
  assert.equal(shownBefore(100, 100, 0), 0, "of a new shell, nothing");
  assert.equal(shownBefore(100, 100, 100), 100, "of a shell that another page may show, all");
  assert.equal(shownBefore(100, 1000, 950), 50, "of one that this page was behind, its beginning");
  assert.equal(shownBefore(100, 1000, 200), 0, "of one that it was far behind, nothing");
});

test("answers and typed texts are sent in order and in requests of their own", async () => {
  const sent = [];
  let release;
  const send = ({ bytes, answer }) => {
    sent.push(`${answer ? "answer" : "typed"} ${bytes.length}`);
    return new Promise((resolve) => {
      release = resolve;
    });
  };
  const failures = [];
  const type = sender(send, (error) => failures.push(error));
  const next = async () => {
    release();
    await new Promise(setImmediate);
  };
  type(new Uint8Array(1), false);
  type(new Uint8Array(2), false);
  type(new Uint8Array(3), false);
  type(new Uint8Array(4), true);
  type(new Uint8Array(5), true);
  type(new Uint8Array(60 << 10), false);
  for (let at = 0; at < 5; at++) await next();
  assert.deepEqual(sent, ["typed 1", "typed 5", "answer 9", `typed ${48 << 10}`, `typed ${12 << 10}`]);
  assert.deepEqual(failures, []);
  type(new Uint8Array(5 << 20), false);
  assert.equal(failures.length, 1);
});
