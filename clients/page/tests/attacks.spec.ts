//! Nothing that others write runs, and nobody gets in without a code that counts.
import { ask, ends, expect, fresh, test } from "./fixtures";

test("nothing that a model, a tool or a title says runs", async ({ page }) => {
  await page.addInitScript(() => {
    Object.defineProperty(window, "ran", { value: [] });
    window.alert = (text) => void (window as unknown as { ran: unknown[] }).ran.push(text);
  });
  const evil = `<img src=x onerror=alert(1)><script>alert(2)</script>[link](javascript:alert(3))<svg onload=alert(4)><a href="data:text/html,<script>alert(5)</script>">x</a>`;
  await fresh(page, `say ${evil}`);
  await expect(ends(page)).toBeVisible();
  await ask(page, `write <img src=x onerror=alert(6)>.txt: ${evil}`);
  await expect(ends(page)).toHaveCount(2);
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
