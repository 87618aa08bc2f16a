//! A server for all stories of a worker, a paired browser, and steps that stories share.
import { type BrowserContext, expect, type Page, test as base } from "@playwright/test";
import { mkdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { Bench, type BenchOptions } from "./bench";

export { expect, type Page } from "@playwright/test";

interface Fixtures {
  options: BenchOptions;
  bench: Bench;
}

export const test = base.extend<{ open: Bench }, Fixtures>({
  options: [{}, { option: true, scope: "worker" }],
  bench: [
    async ({ options }, use) => {
      const bench = new Bench(options);
      await bench.start();
      await use(bench);
      await bench.stop();
    },
    { scope: "worker" },
  ],
  baseURL: ({ bench }, use) => use(bench.origin),
  storageState: async ({ bench }, use) => use(await bench.signIn()),
  context: async ({ context, bench }, use) => {
    await fromDisk(context, bench);
    await use(context);
  },
});

/** Serves the files of `PAGE_DIST` instead of the binary's, so that a build needs no compiling in. */
async function fromDisk(context: BrowserContext, { origin, isNode }: Bench) {
  const folder = process.env.PAGE_DIST;
  if (!folder) return;
  const types: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
  await context.route(
    (url) => url.origin === origin && /^\/(assets\/[^/]+|w\/([^/]+\/)?)?$/.test(url.pathname),
    async (route) => {
      const { pathname } = new URL(route.request().url());
      // Behind a redirect of the node's nothing would be intercepted.
      if (isNode && pathname === "/")
        return route.fulfill({ contentType: "text/html", body: '<meta http-equiv="refresh" content="0;url=/w/">' });
      const isIndex = pathname.endsWith("/");
      const path = isIndex ? "index.html" : pathname.slice(1);
      const policy = isIndex ? (await route.fetch()).headers()["content-security-policy"] : undefined;
      await route.fulfill({
        body: await readFile(join(folder, path)),
        headers: { "content-type": types[extname(path)] ?? "", ...(policy && { "content-security-policy": policy }) },
      });
    },
  );
}

export const field = (page: Page) => page.locator("#composer");
export const ends = (page: Page) => page.locator(".turn-end");
export const allow = (page: Page) => page.getByRole("button", { name: "Allow once" });

/** Scrolls a box to its end without skipping a line. */
export async function readAll(page: Page, label: string) {
  await page.getByRole("group", { name: label }).evaluate(async (box) => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    for (let top = 0; top < box.scrollHeight; top += box.clientHeight / 2) {
      box.scrollTo({ top, behavior: "instant" });
      await frame();
      await frame();
    }
  });
}

/** Sends a text in the open Thread. */
export async function ask(page: Page, text: string) {
  await field(page).fill(text);
  await field(page).press("Enter");
}

/** Starts a Thread with a text. */
export async function fresh(page: Page, text: string) {
  await page.goto("/#/new");
  await ask(page, text);
  await expect(page).toHaveURL(/#\/t\//);
}

const pictures = join(import.meta.dirname, "../../../docs/pictures");

/** Takes a picture of the page for the book, wide and narrow, if `PICTURES` is set. */
export async function picture(page: Page, name: string) {
  if (!process.env.PICTURES) return;
  await mkdir(pictures, { recursive: true });
  const size = page.viewportSize();
  for (const [suffix, width, height] of [
    ["", 1280, 760],
    ["-narrow", 390, 760],
  ] as const) {
    await page.setViewportSize({ width, height });
    // What is laid out anew scrolls to where it was.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await page.screenshot({ path: join(pictures, `${name}${suffix}.png`), animations: "disabled" });
  }
  if (size) await page.setViewportSize(size);
}
