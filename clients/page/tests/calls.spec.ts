//! A question shows the call that waits for its answer, and no part of another call.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hasModel } from "./bench";
import { allow, ends, expect, fresh, test } from "./fixtures";

/** One file in two spellings: a path in a question fits both calls. */
const write = (id: string, path: string, content: string) => ({
  call: { id, tool: "WriteFile", arguments: { path, content } },
});
const replies = [
  { parts: [write("evil", "sub/../.vscode/tasks.json", "EVIL"), write("tea", ".vscode/tasks.json", "harmless")] },
  { parts: [{ text: "Done." }] },
];
const aside = { parts: [{ text: "Tea" }] };

test.use({ options: { scripted: { replies, aside } } });
test.skip(!hasModel, "the scripted provider is missing: cargo build -p bobbin-xtask");

test("a question about a file shows the change of its own call", async ({ page, bench }) => {
  await fresh(page, "Write the tasks.");
  const card = page.locator("section.ask").first();
  // biome-ignore lint/performance/useDomNodeTextContent: hidden text does not count
  const words = async () => (await card.locator(".diff").innerText()).match(/EVIL|harmless/g) ?? [];
  const file = join(bench.workspace, ".vscode/tasks.json");
  await expect(card.locator(".diff")).toHaveCount(1);
  const first = await words();
  await allow(page).first().click();
  await expect.poll(() => existsSync(file) && readFileSync(file, "utf8")).toBe(first.join());
  await expect.poll(words).toEqual(first[0] === "EVIL" ? ["harmless"] : ["EVIL"]);
  await page.getByRole("button", { name: "Decline", exact: true }).click();
  await expect(ends(page)).toBeVisible();
});
