//! The pictures of docs/page.md: `PICTURES=1 npm test -- guide` takes them anew.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasModel } from "./bench";
import { allow, ask, ends, expect, fresh, test } from "./fixtures";

const todos = [
  ["Read the kettle", "completed"],
  ["Count one minute more", "in_progress"],
  ["Run the tests", "pending"],
].map(([content, status], id) => ({ id: `${id}`, content, priority: "high", status }));
const call = (tool: string, given: Record<string, unknown>) => ({ call: { id: `call_${tool}`, tool, arguments: given } });
const edit = { path: "src/kettle.rs", oldText: "    cups * 3\n", newText: "    // The lid takes a minute.\n    cups * 3 + 1\n" };
const replies = [
  { parts: [{ reasoning: "How long does it boil?" }, call("ReadFile", { path: "src/kettle.rs" }), call("CreatePlan", { title: "A better kettle", overview: "", plan: "", todos })] },
  { parts: [{ text: "The time is for open kettles. A **closed** one needs a minute more:" }, call("EditFile", edit)] },
  { parts: [{ text: "Done. `boil` counts the lid now; one cup takes four minutes." }] },
  { parts: [{ text: "I run them:" }, call("Exec", { command: "cargo test --quiet" })] },
];

test.use({ options: { scripted: { replies, aside: { parts: [{ text: "A minute for the lid" }] } } }, colorScheme: "light", viewport: { width: 1180, height: 720 } });
test.skip(!hasModel || !process.env.PICTURES, "pictures are taken by hand: PICTURES=1");

const folder = join(import.meta.dirname, "../../../docs/pictures");

test("pictures of the guide", async ({ page, bench }) => {
  mkdirSync(folder, { recursive: true });
  mkdirSync(join(bench.workspace, "src"), { recursive: true });
  writeFileSync(join(bench.workspace, "src/kettle.rs"), "/// Boils.\npub fn boil(cups: u32) -> u32 {\n    cups * 3\n}\n");
  const shot = (name: string) => page.screenshot({ path: join(folder, `${name}.png`) });
  await fresh(page, "Closed kettles boil too short. Can you mend @src/kettle.rs?");
  await expect(ends(page)).toBeVisible();
  await page.getByRole("button", { name: "1 file changed" }).click();
  await page.locator(".is-tool .line-button").last().click();
  await expect(page.locator(".diff")).toHaveCount(2);
  await shot("thread");
  await page.getByRole("button", { name: "Close the details" }).click();
  await ask(page, "Now run the tests");
  await expect(allow(page)).toBeVisible();
  await page.getByText("Why am I asked?").click();
  await expect(page.locator(".explain li")).toBeVisible();
  await shot("approval");
  await page.getByText("Why am I asked?").click();
  await page.setViewportSize({ width: 390, height: 720 });
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("phone");
});
