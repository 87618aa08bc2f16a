//! What the page costs: `SPEED=1 npm test -- speed` prints the figures of docs/contributing/page.md.
import { hasModel } from "./bench";
import { ends, expect, field, fresh, type Page, test } from "./fixtures";

test.use({ options: { scripted: true, config: { Titles: { Enabled: false } } } });
test.skip(!hasModel || !process.env.SPEED, "a longer look: SPEED=1");

/** Counts long tasks and the work of frames from now on. */
async function watch(page: Page) {
  const trace = await page.context().newCDPSession(page);
  await trace.send("Performance.enable");
  const read = async () => Object.fromEntries((await trace.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value])) as Record<string, number>;
  await page.evaluate(() => {
    const seen = { tasks: [] as number[], frames: 0 };
    Object.assign(window, { seen });
    new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ entryTypes: ["longtask"] });
    const frame = () => (seen.frames++, requestAnimationFrame(frame));
    requestAnimationFrame(frame);
  });
  const before = await read();
  return async () => {
    const after = await read();
    const { tasks, frames } = await page.evaluate(() => (window as unknown as { seen: { tasks: number[]; frames: number } }).seen);
    const spent = (name: string) => ((after[name] ?? 0) - (before[name] ?? 0)) * 1000;
    return {
      longTasks: tasks.map(Math.round),
      frames,
      scriptMsAFrame: +(spent("ScriptDuration") / frames).toFixed(2),
      layoutMsAFrame: +((spent("LayoutDuration") + spent("RecalcStyleDuration")) / frames).toFixed(2),
      heapMiB: Math.round((after.JSHeapUsedSize ?? 0) / 1048576),
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
