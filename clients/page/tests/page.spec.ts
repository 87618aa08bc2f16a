//! Stories of a working day, in Chromium against the real binary.
import AxeBuilder from "@axe-core/playwright";
import { expect, type Page, test } from "@playwright/test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Bench } from "./server";

let bench: Bench;
test.beforeAll(async () => {
  bench = new Bench();
  await bench.start();
});
test.afterAll(() => bench.stop());

const field = (page: Page) => page.locator("#composer");
const ended = (page: Page) => page.locator(".turn-end");

async function ask(page: Page, text: string) {
  await field(page).fill(text);
  await field(page).press("Enter");
}

async function fresh(page: Page, text: string) {
  await page.goto(`${bench.address}#/new`);
  await ask(page, text);
  await expect(page).toHaveURL(/#\/t\//);
}

test("a question is asked, answered in a stream, and there again after a reload", async ({ page }) => {
  await fresh(page, "say **hello** to the kettle");
  await expect(page.locator(".is-agent .prose")).toContainText("hello");
  await expect(ended(page)).toBeVisible();
  await page.reload();
  await expect(page.locator(".is-agent .prose")).toContainText("hello");
});

test("a command runs after it was allowed", async ({ page }) => {
  await fresh(page, "run `touch made.txt`");
  await expect(page.getByRole("heading", { name: "Run a command?" })).toBeVisible();
  await page.getByText("Why am I asked?").click();
  await expect(page.locator(".explain")).toContainText("touch made.txt");
  await expect(page).toHaveTitle(/^\(1\)/);
  await page.getByRole("button", { name: "Allow once" }).click();
  await expect(ended(page)).toBeVisible();
  expect(existsSync(join(bench.workspace, "made.txt"))).toBe(true);
});

test("a command that was declined does not run", async ({ page }) => {
  await fresh(page, "run `touch refused.txt`");
  await page.getByRole("button", { name: "Decline", exact: true }).click();
  await expect(ended(page)).toBeVisible();
  expect(existsSync(join(bench.workspace, "refused.txt"))).toBe(false);
});

test("a question of another Thread is answered from the one place, after a reload in the middle", async ({ page }) => {
  await fresh(page, "run `touch elsewhere.txt`");
  await expect(page.getByRole("button", { name: "Allow once" })).toBeVisible();
  await page.goto(`${bench.address}#/waiting`);
  await page.reload();
  await page.getByRole("button", { name: "Allow once" }).click();
  await expect(page.getByText("Nothing waits for you.")).toBeVisible();
  await expect.poll(() => existsSync(join(bench.workspace, "elsewhere.txt"))).toBe(true);
});

test("a Turn is stopped", async ({ page }) => {
  await fresh(page, "run `make never`");
  await expect(page.getByRole("button", { name: "Allow once" })).toBeVisible();
  await page.getByRole("button", { name: "Stop the Turn" }).click();
  await expect(ended(page)).toContainText("Stopped");
});

test("an input waits in the queue, is taken back, and is a draft again", async ({ page }) => {
  await fresh(page, "run `make never`");
  await expect(page.getByRole("button", { name: "Allow once" })).toBeVisible();
  await ask(page, "say later");
  await expect(page.getByRole("list", { name: "Queue" })).toContainText("say later");
  await page.getByRole("button", { name: /^Take back/ }).click();
  await expect(field(page)).toHaveValue("say later");
  await page.getByRole("button", { name: "Stop the Turn" }).click();
  await expect(ended(page)).toBeVisible();
});

test("changes of a Turn are shown and undone", async ({ page }) => {
  await fresh(page, "write glaze.txt: blue");
  await page.getByRole("button", { name: "1 file changed" }).click();
  await expect(page.locator(".side .diff")).toContainText("blue");
  await page.getByRole("button", { name: "side by side" }).click();
  await page.getByRole("button", { name: "Undo…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Undo", exact: true }).click();
  await expect(page.getByRole("dialog")).toContainText("1 file put back");
  expect(existsSync(join(bench.workspace, "glaze.txt"))).toBe(false);
});

test("a word that was typed survives the server and the page", async ({ page }) => {
  await fresh(page, "say hello");
  await expect(ended(page)).toBeVisible();
  await field(page).fill("half a thought");
  await bench.stopServer();
  await expect(page.locator(".offline")).toContainText("No connection");
  await bench.startServer();
  await page.getByRole("button", { name: "Connect now" }).click();
  await expect(page.locator(".offline")).toHaveCount(0);
  await page.reload();
  await expect(field(page)).toHaveValue("half a thought");
  await ask(page, "say again");
  await expect(ended(page)).toHaveCount(2);
});

test("nothing that a model, a tool or a title says runs", async ({ page }) => {
  await page.addInitScript(() => {
    Object.defineProperty(window, "ran", { value: [] });
    window.alert = (text) => void (window as unknown as { ran: unknown[] }).ran.push(text);
  });
  const evil = `<img src=x onerror=alert(1)><script>alert(2)</script>[link](javascript:alert(3))<svg onload=alert(4)><a href="data:text/html,<script>alert(5)</script>">x</a>`;
  await fresh(page, `say ${evil}`);
  await expect(ended(page)).toBeVisible();
  await ask(page, `write <img src=x onerror=alert(6)>.txt: ${evil}`);
  await expect(ended(page)).toHaveCount(2);
  for (const line of await page.locator(".tool .line-button").all()) await line.click();
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Rename…" }).click();
  await page.getByLabel("Title").fill(evil);
  await page.getByRole("button", { name: "Rename", exact: true }).click();
  await expect(page.locator(".thread-row[aria-current]")).toContainText("onerror");
  for (const link of await page.locator(".prose a").all()) expect((await link.getAttribute("href")) ?? "").not.toMatch(/^(javascript|data):/i);
  expect(await page.locator(".prose img, .prose script, .prose svg:not(.icon-svg)").count()).toBe(0);
  expect(await page.evaluate(() => (window as unknown as { ran: unknown[] }).ran)).toEqual([]);
});

for (const scheme of ["light", "dark"] as const) {
  for (const width of [1280, 390]) {
    test(`axe finds nothing: ${scheme}, ${width} px`, async ({ page }) => {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      const clean = async () => expect((await new AxeBuilder({ page }).analyze()).violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
      await fresh(page, "run `make tea`");
      await expect(page.getByRole("button", { name: "Allow once" })).toBeVisible();
      await clean();
      await page.getByRole("button", { name: "Decline", exact: true }).click();
      await expect(ended(page)).toBeVisible();
      await clean();
      for (const place of ["", "waiting", "new", ...["page", "rules", "mcp", "skills", "terminals", "trust", "server"].map((name) => `settings/${name}`)]) {
        await page.goto(`${bench.address}#/${place}`);
        await expect(page.locator("h1:visible, nav:visible").first()).toBeVisible();
        await clean();
      }
    });
  }
}
