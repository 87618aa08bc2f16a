//! The cost of the page: `SPEED=1 npm test -- speed` prints the figures of docs/contributing/page.md.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasModel } from "./bench";
import { ends, expect, field, fresh, type Page, test } from "./fixtures";

test.use({ options: { scripted: true, config: { Titles: { Enabled: false } } } });
test.skip(!hasModel || !process.env.SPEED, "a longer look: SPEED=1");

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** Microseconds. */
  ts: number;
  dur?: number;
  args: { name?: string };
}

/** Tasks of a frame. They contain each other, so the outermost ones count. */
const work = new Set([
  "FunctionCall",
  "EvaluateScript",
  "EventDispatch",
  "FireAnimationFrame",
  "Layout",
  "RunMicrotasks",
  "TimerFire",
  "UpdateLayoutTree",
]);

/** Records what the page's main thread does from now on. */
async function watch(page: Page) {
  const browser = page.context().browser();
  const categories = ["devtools.timeline", "disabled-by-default-devtools.timeline.frame", "toplevel", "benchmark"];
  await browser?.startTracing(page, { categories });
  return async () => {
    const trace = await browser?.stopTracing();
    const all = (JSON.parse(String(trace)) as { traceEvents: TraceEvent[] }).traceEvents;
    // Chromium has an empty page in reserve, with a main thread of its own.
    const threads = all.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain");
    const [own = []] = threads
      .map((main) => all.filter(({ pid, tid }) => pid === main.pid && tid === main.tid))
      .sort((one, other) => other.length - one.length);
    const whole = own.filter(({ ph }) => ph === "X").map(({ name, ts, dur = 0 }) => ({ name, ts, dur }));
    const frames = own
      .filter(({ name }) => name === "BeginMainThreadFrame")
      .map(({ ts }) => ts)
      .sort((one, other) => one - other);
    const spent = frames.map(() => 0);
    let [frame, until] = [0, 0];
    for (const { ts, dur } of whole
      .filter(({ name }) => work.has(name))
      .sort((one, other) => one.ts - other.ts || other.dur - one.dur)) {
      if (ts < until) continue;
      until = ts + dur;
      while (frame + 1 < frames.length && (frames[frame + 1] as number) <= ts) frame++;
      spent[frame] = (spent[frame] ?? 0) + dur / 1000;
    }
    spent.sort((one, other) => one - other);
    const at = (part: number) => +(spent[Math.floor((spent.length - 1) * part)] ?? 0).toFixed(1);
    const tasks = whole.filter(({ name }) => name.endsWith("RunTask")).map(({ dur }) => dur / 1000);
    const metrics = await page.context().newCDPSession(page);
    await metrics.send("Performance.enable");
    const heap = (await metrics.send("Performance.getMetrics")).metrics.find(({ name }) => name === "JSHeapUsedSize");
    return {
      frames: frames.length,
      frameMs: { p50: at(0.5), p95: at(0.95), p99: at(0.99) },
      longTasks: tasks.filter((ms) => ms > 50).map(Math.round),
      longestTaskMs: Math.round(tasks.reduce((most, ms) => Math.max(most, ms), 0)),
      heapMiB: Math.round((heap?.value ?? 0) / 1048576),
    };
  };
}

test("the first Thread is shown at once", async ({ page }) => {
  await fresh(page, "say hello");
  await expect(ends(page)).toBeVisible();
  const thread = page.url();
  const times: number[] = [];
  let bytes = 0;
  for (let round = 0; round < 5; round++) {
    await page.goto("about:blank");
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Network.enable");
    await cdp.send("Network.clearBrowserCache");
    bytes = 0;
    cdp.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
    await page.goto(thread);
    await expect(ends(page)).toBeVisible();
    times.push(await page.evaluate(() => performance.getEntriesByName("thread-shown")[0]?.startTime ?? -1));
    await cdp.detach();
  }
  console.log("first Thread shown after, ms:", times.map(Math.round).join(" "), "bytes:", bytes);
});

/** Sends a prompt and waits for the end of its Turn. */
async function turn(page: Page, text: string) {
  const stop = page.getByRole("button", { name: "Stop the Turn" });
  // Chromium takes seconds to insert thousands of lines as if they were typed.
  await field(page).evaluate((area, value) => {
    (area as HTMLTextAreaElement).setRangeText(value);
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }, text);
  await field(page).press("Enter");
  await expect(stop).toBeVisible();
  await expect(stop).toHaveCount(0, { timeout: 120_000 });
}

test("ten thousand Items and a stream", async ({ page }) => {
  test.setTimeout(300_000);
  await fresh(page, "say start");
  await expect(ends(page)).toBeVisible();
  for (let round = 0; round < 10; round++) {
    await turn(page, Array.from({ length: 500 }, (_, n) => `say line ${n}, **${round}**\nthink of ${n}`).join("\n"));
  }
  console.log("rows in the document:", await page.locator(".timeline-row").count());
  const stream = await watch(page);
  // A piece each 10 ms, for ten seconds.
  await turn(page, Array.from({ length: 1000 }, (_, n) => `say word${n} \npause 10`).join("\n"));
  console.log("100 deltas a second:", JSON.stringify(await stream()));
  const long = await watch(page);
  await turn(page, "stream 100000");
  console.log("100,000 deltas:", JSON.stringify(await long()));
});

test("a tree of 50,000 files", async ({ page, bench }) => {
  test.setTimeout(300_000);
  for (let folder = 0; folder < 100; folder++) {
    const path = join(bench.workspace, `folder${folder}`);
    mkdirSync(path, { recursive: true });
    for (let file = 0; file < 500; file++) writeFileSync(join(path, `leaf${file}.txt`), `${file}\n`);
  }
  await page.goto("/#/");
  const look = await watch(page);
  await page.getByRole("link", { name: "Files" }).click();
  for (let folder = 0; folder < 20; folder++)
    await page.getByRole("button", { name: `folder${folder}`, exact: true }).click();
  await expect(page.getByRole("link", { name: "leaf499.txt" })).toHaveCount(20);
  const start = performance.now();
  await page.getByRole("searchbox", { name: "Search files" }).fill("folder77/leaf123");
  await expect(page.getByRole("link", { name: /leaf123/ }).first()).toBeVisible();
  console.log("found after, ms:", Math.round(performance.now() - start));
  console.log("50,000 files, 20 folders of 500 open:", JSON.stringify(await look()));
});

test("a diff of 5,000 lines", async ({ page, bench }) => {
  test.setTimeout(120_000);
  const git = (...args: string[]) => execFileSync("git", args, { cwd: bench.workspace });
  const lines = (word: string) => Array.from({ length: 2500 }, (_, n) => `${word} ${n}\n`).join("");
  const names = ["one.txt", "two.txt"];
  git("init", "-q");
  for (const name of names) writeFileSync(join(bench.workspace, name), lines("cold"));
  git("add", ...names);
  git("-c", "user.name=Mika", "-c", "user.email=mika@example.org", "commit", "-qm", "Cold", "--", ...names);
  for (const name of names) writeFileSync(join(bench.workspace, name), lines("hot"));
  await page.goto("/#/");
  const look = await watch(page);
  await page.goto("/#/changes");
  await expect(page.getByRole("group", { name: "Changes of two.txt" })).toBeVisible();
  await page.mouse.move(600, 400);
  for (let round = 0; round < 5; round++)
    await page
      .getByRole("button", { name: /more lines/ })
      .first()
      .evaluate((button) => (button as HTMLElement).click());
  await page.waitForTimeout(500);
  console.log("a file of 5,000 changed lines and 600 of another one:", JSON.stringify(await look()));
});
