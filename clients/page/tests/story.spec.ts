//! The short story of a working day, with the offline model: `npm run story`.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { allow, ask, ends, expect, field, fresh, test } from "./fixtures";

test.describe("getting in", () => {
  test.use({ storageState: { cookies: [], origins: [] } });

  test("a code lets a browser in once, and it is in after a reload", async ({ page, bench, browser }) => {
    const address = bench.invite();
    await page.goto(address);
    await expect(field(page)).toBeVisible();
    expect(page.url()).not.toContain(new URL(address).hash);
    await page.reload();
    await expect(field(page)).toBeVisible();
    const other = await browser.newPage();
    await other.goto(address);
    await expect(other.getByRole("alert")).toContainText("was used");
    await other.close();
  });

  test("a code is taken by a tab that is open", async ({ page, bench }) => {
    await page.goto("/");
    await expect(page.getByRole("heading", { name: "Bobbin" })).toBeVisible();
    await page.evaluate((hash) => {
      location.hash = hash;
    }, new URL(bench.invite()).hash);
    await expect(field(page)).toBeVisible();
  });
});

test("an answer streams, and is there again after a reload", async ({ page }) => {
  await fresh(page, "say **hello** to the kettle");
  await expect(page.locator(".is-agent .prose strong")).toHaveText("hello");
  await expect(ends(page)).toBeVisible();
  await page.reload();
  await expect(page.locator(".is-agent .prose strong")).toHaveText("hello");
});

test("a command runs after it was allowed, also after a reload in between", async ({ page, bench }) => {
  await fresh(page, "run `touch made.txt`");
  await expect(page.getByRole("heading", { name: "Run this command?" })).toBeVisible();
  await page.reload();
  await page.getByText("Why am I asked?").click();
  await expect(page.locator(".explain")).toContainText("touch made.txt");
  await expect(page).toHaveTitle(/^\(1\)/);
  await allow(page).click();
  await expect(ends(page)).toBeVisible();
  expect(existsSync(join(bench.workspace, "made.txt"))).toBe(true);
});

test("a command that was declined does not run", async ({ page, bench }) => {
  await fresh(page, "run `touch refused.txt`");
  await page.getByRole("button", { name: "Decline", exact: true }).click();
  await expect(ends(page)).toBeVisible();
  expect(existsSync(join(bench.workspace, "refused.txt"))).toBe(false);
});

test("a command that runs is seen again after a reload, and stopped", async ({ page }) => {
  await fresh(page, "run `echo brewing; sleep 60`");
  await allow(page).click();
  await expect(page.locator(".tool-body .out")).toContainText("brewing");
  await page.reload();
  await expect(page.locator(".tool-body .out")).toContainText("brewing");
  await page.getByRole("button", { name: "Stop the Turn" }).click();
  await expect(ends(page)).toContainText("Stopped");
  await ask(page, "say again");
  await expect(ends(page)).toHaveCount(2);
});
