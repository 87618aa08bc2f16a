//! The first start asks once whether commands in the sandbox run without a question.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { hasModel } from "./bench";
import { allow, ends, expect, fresh, test } from "./fixtures";

function hasBubblewrap() {
  try {
    execFileSync("bwrap", ["--ro-bind", "/", "/", "true"]);
    return true;
  } catch {
    return false;
  }
}

test.skip(!hasModel || !hasBubblewrap(), "the scripted provider or bubblewrap is missing");
test.use({ options: { scripted: true, config: { Titles: { Enabled: false }, Permissions: undefined } } });

test("the first screen has its user choose how commands run, and remembers it", async ({ page, bench }) => {
  await page.goto("/#/new");
  const form = page.getByRole("form", { name: "How should commands run?" });
  await expect(form.getByLabel(/^Auto in sandbox/)).toBeChecked();
  await form.getByLabel(/^Ask/).check();
  await form.getByRole("button", { name: "Use this" }).click();
  await expect(form).toHaveCount(0);
  await expect(page.getByLabel("Approvals", { exact: true }).locator("option").first()).toHaveText("Default (Ask)");
  const own = JSON.parse(readFileSync(join(bench.folder, ".craft/config.json"), "utf8"));
  expect(own.Permissions.DefaultApprovalPolicy).toBe("default");
  await page.reload();
  await expect(page.getByLabel("Approvals", { exact: true })).toBeVisible();
  await expect(form).toHaveCount(0);
  await fresh(page, 'call Exec {"command":"mkdir cups"}');
  await expect(allow(page)).toBeVisible();
  await page.getByRole("button", { name: "Decline", exact: true }).click();
  await expect(ends(page)).toBeVisible();
});
