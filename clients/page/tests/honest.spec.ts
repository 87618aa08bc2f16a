//! The page is right about models, policies, changes and cost, also after a reload.
import { hasModel } from "./bench";
import { allow, ask, ends, expect, fresh, test } from "./fixtures";

test.skip(!hasModel, "the scripted provider is missing: cargo build -p bobbin-xtask");

test.use({
  options: {
    scripted: true,
    config: { Titles: { Enabled: false }, Permissions: { DefaultApprovalPolicy: "autoApprove" } },
  },
});

test("the first entry of each choice is the server's own value, by name", async ({ page }) => {
  await page.goto("/#/new");
  await expect(page.getByLabel("Approvals", { exact: true }).locator("option").first()).toHaveText(
    "Default (Never ask)",
  );
  await expect(page.getByRole("button", { name: "Model", exact: true })).toHaveText("Default (script/scripted)");
  await expect(page.getByLabel("Approvals", { exact: true })).toHaveValue("default");
  await page.getByLabel("Approvals", { exact: true }).selectOption("Ask before edits");
  await ask(page, "say hello");
  await expect(ends(page)).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Approvals", { exact: true })).toHaveValue("askWrites");
});

test("one Thread asks where another policy is configured", async ({ page }) => {
  await page.goto("/#/new");
  await page.getByLabel("Approvals", { exact: true }).selectOption({ label: "Ask" });
  await ask(page, 'call Exec {"command":"mkdir cups"}');
  await expect(allow(page)).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Approvals", { exact: true })).toHaveValue("ask");
  await allow(page).click();
  await expect(ends(page)).toBeVisible();
});

test("what commands changed and what the Thread cost is there after a reload", async ({ page }) => {
  await fresh(
    page,
    'call Exec {"command":"echo 1 > one; echo 2 > two"}\ncall WriteFile {"path":"three.md","content":"3"}',
  );
  await expect(ends(page)).toContainText("3 files changed");
  const cost = page.locator(".usage .num");
  await expect(cost).toContainText("$");
  const before = await cost.textContent();
  await page.reload();
  await expect(ends(page)).toContainText("3 files changed");
  await expect(cost).toHaveText(before ?? "");
  await page.getByRole("button", { name: "3 files changed" }).click();
  await expect(page.locator(".side")).toContainText("two");
});

test("the page says how often a provider is asked again", async ({ page }) => {
  await fresh(page, "error 500 no steam");
  await expect(page.locator(".working")).toContainText(/Retrying in \d+ s \([234] of 4\)/);
  await page.getByRole("button", { name: "Stop the Turn" }).click();
  await expect(ends(page)).toContainText("Stopped");
});
