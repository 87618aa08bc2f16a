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
