//! A server without a model shows the form that sets one up.
import { hasModel } from "./bench";
import { expect, field, test } from "./fixtures";

test.skip(!hasModel, "the scripted provider is missing: cargo build -p bobbin-xtask");
test.use({ options: { scripted: true, withoutModel: true, config: { Titles: { Enabled: false } } } });

test("the first screen leads from no model to one", async ({ page, bench }) => {
  await page.goto("/#/new");
  const setup = page.getByRole("region", { name: "No model yet" });
  await setup.getByLabel("Provider").selectOption("Another provider");
  await setup.getByLabel("It speaks").selectOption("Anthropic Messages");
  await setup.getByLabel("Address").fill("http://127.0.0.1:1/v1");
  await setup.getByRole("button", { name: "Save and test" }).click();
  await expect(setup.getByRole("alert")).toContainText("cannot be reached");
  await setup.getByLabel("Address").fill(bench.provider);
  await setup.getByRole("button", { name: "Save and test" }).click();
  await setup.getByLabel("Default model").selectOption("custom/scripted");
  await setup.getByRole("button", { name: "Use this model" }).click();
  await expect(setup).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Model", exact: true })).toHaveText("Default (custom/scripted)");
  await field(page).fill("say at last");
  await field(page).press("Enter");
  await expect(page.locator(".is-agent .prose")).toContainText("at last");
});

test("providers are tested, given another key, and removed", async ({ page, bench }) => {
  await page.goto("/#/settings/models");
  const add = page.getByRole("button", { name: "Add a provider…" });
  await add.click();
  await page.getByLabel("Provider").selectOption("Another provider");
  await page.getByLabel("Name, in front of its models").fill("second");
  await page.getByLabel("It speaks").selectOption("Anthropic Messages");
  await page.getByLabel("Address").fill(bench.provider);
  await page.getByRole("button", { name: "Save and test" }).click();
  await page.getByLabel("Default model").selectOption("second/scripted");
  await page.getByRole("button", { name: "Use this model" }).click();
  await expect(page.getByRole("button", { name: "Model", exact: true })).toHaveText("scripted");
  const second = page.getByRole("listitem").filter({ hasText: "second" });
  await expect(second).toContainText("no key");
  await page.getByRole("button", { name: "Key of second…" }).click();
  await page.getByLabel(/^API key/).fill("leaf");
  await page.getByRole("button", { name: "Test and store" }).click();
  await expect(second).toContainText("has a key");
  await page.getByRole("button", { name: "Test second" }).click();
  await expect(second.getByRole("status")).toContainText(/^It works: \d+ model/);
  await page.getByRole("button", { name: "Remove second…" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(second).toHaveCount(0);
});
