//! The pictures of docs/page.md and docs/pictures.md. `PICTURES=1 npm test` takes them again; other stories take some.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasModel } from "./bench";
import { allow, ask, ends, expect, field, fresh, type Page, picture, test } from "./fixtures";

const todos = [
  ["Read the kettle", "completed"],
  ["Count one minute more", "in_progress"],
  ["Run the tests", "pending"],
].map(([content, status], id) => ({ id: `${id}`, content, priority: "high", status }));
let calls = 0;
const call = (tool: string, given: Record<string, unknown>) => ({
  call: { id: `call_${calls++}`, tool, arguments: given },
});
const edit = {
  path: "src/kettle.rs",
  oldText: "    cups * 3\n",
  newText: "    // The lid takes a minute.\n    cups * 3 + 1\n",
};
const leaves = [
  { label: "Sencha", description: "Light; 70 °C, a minute and a half" },
  { label: "Assam", description: "Strong; boiling water, four minutes" },
];
const watch = "printf '\\033[32mwatching\\033[0m src/kettle.rs\\n'; sleep 300";
const replies = [
  {
    parts: [
      { reasoning: "How long does it boil?" },
      call("ReadFile", { path: "src/kettle.rs" }),
      call("CreatePlan", { title: "A better kettle", overview: "", plan: "", todos }),
    ],
  },
  { parts: [{ text: "The time is for open kettles. A **closed** one needs a minute more:" }, call("EditFile", edit)] },
  { parts: [{ text: "Done. `boil` counts the lid now; one cup takes four minutes." }] },
  { parts: [{ text: "I run them:" }, call("Exec", { command: "cargo test --quiet" })] },
  { parts: [call("AskUser", { question: "Which leaf is for the morning?", options: leaves })] },
  { parts: [call("Exec", { command: watch, runInBackground: true })] },
  { parts: [{ text: "The watch runs beside us; it says when the kettle changes." }] },
  {
    parts: [
      call("SpawnAgent", { agentNickname: "scout", agentPrompt: "Where is the time of a cup counted?" }),
      call("WaitAgent", {}),
    ],
  },
  { parts: [{ text: "In `boil`, and nowhere else." }] },
  { parts: [{ text: "The scout found one place: `boil` in `src/kettle.rs`." }] },
  {
    parts: [
      {
        text: "The guide has three parts: **leaves**, **water** and **time**. I begin with the water, since most of it depends on how hot that is.\n\n| leaf | °C |\n|---|---|\n| green | 70 |\n| black | 100 |\n",
      },
      { pauseMs: 120_000 },
    ],
  },
];

test.use({
  options: { scripted: { replies, aside: { parts: [{ text: "A minute for the lid" }] } } },
  colorScheme: "light",
  viewport: { width: 1280, height: 760 },
});
test.skip(!hasModel || !process.env.PICTURES, "pictures are taken by hand: PICTURES=1");

test("pictures of the guide", async ({ page, bench }) => {
  test.setTimeout(120_000);
  mkdirSync(join(bench.workspace, "src"), { recursive: true });
  writeFileSync(
    join(bench.workspace, "src/kettle.rs"),
    "/// Boils.\npub fn boil(cups: u32) -> u32 {\n    cups * 3\n}\n",
  );
  const named = (title: string) =>
    bench.bobbin("threads", "rename", "--workspace", bench.workspace, page.url().split("/t/")[1] as string, title);
  const side = (page: Page, name: string) =>
    page
      .getByRole("button", { name: "Changes, plan, terminals, agents" })
      .click()
      .then(() => page.getByRole("button", { name, exact: true }).click());
  await page.goto("/#/new");
  await expect(field(page)).toBeVisible();
  await picture(page, "new");

  await fresh(page, "Closed kettles boil too short. Can you mend @src/kettle.rs?");
  await expect(ends(page)).toBeVisible();
  await page.getByRole("button", { name: "1 file changed" }).click();
  await page.locator(".is-tool .line-button").last().click();
  await expect(page.locator(".diff")).toHaveCount(2);
  await picture(page, "thread");
  await page.getByRole("button", { name: "side by side" }).click();
  await picture(page, "changes");
  await page.getByRole("button", { name: "inline" }).click();
  await page.getByRole("button", { name: "Close the details" }).click();
  await page.getByRole("button", { name: "Undo…" }).click();
  await expect(page.getByRole("dialog").locator(".diff")).toBeVisible();
  await picture(page, "undo");
  await page.keyboard.press("Escape");
  await ask(page, "Now run the tests");
  await expect(allow(page)).toBeVisible();
  await page.getByText("Why am I asked?").click();
  await expect(page.locator(".explain li")).toBeVisible();
  await picture(page, "approval");

  await fresh(page, "What do we drink tomorrow?");
  await expect(page.getByRole("radio", { name: /Sencha/ })).toBeVisible();
  named("A leaf for the morning");
  await picture(page, "question");

  await fresh(page, "Tell me when the kettle changes");
  await page.getByRole("button", { name: "Always allow" }).click();
  await expect(ends(page)).toBeVisible();
  named("Watch the kettle");
  await side(page, "Terminals");
  await expect(page.locator(".terminal .out")).toContainText("watching");
  await picture(page, "terminals");
  await page.getByRole("button", { name: "Close the details" }).click();

  await fresh(page, "Have somebody look where the time is counted");
  await expect(ends(page)).toBeVisible();
  named("Where time is counted");
  await side(page, "Agents");
  await picture(page, "agents");
  await page.getByRole("button", { name: "Close the details" }).click();

  await fresh(page, "Write a guide to tea for @src/kettle.rs");
  await expect(page.locator(".is-agent table")).toBeVisible();
  named("A guide to tea");
  await ask(page, "Then make a table of the times");
  await expect(page.getByRole("list", { name: "Queue" })).toContainText("table");
  await field(page).fill("Leave out the herbal ones");
  await field(page).press("Control+Enter");
  await expect(page.getByRole("list", { name: "Queue" })).toContainText("herbal");
  await picture(page, "queue");

  await page.getByRole("searchbox").fill("kettle");
  await expect(page.locator(".thread-row", { hasText: "Watch the kettle" })).toBeVisible();
  await picture(page, "search");
  await page.getByRole("searchbox").fill("");
  await page.goto("/#/waiting");
  await expect(allow(page)).toBeVisible();
  await picture(page, "waiting");
  await page.goto("/#/settings/rules");
  await expect(page.locator(".settings-body")).toContainText("sleep 300");
  await picture(page, "rules");
  await page.goto("/#/");
  await expect(page.getByText("A leaf for the morning")).toBeVisible();
  await picture(page, "threads");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.getByText("A guide to tea").first().click();
  await expect(page.locator(".is-agent table")).toBeVisible();
  await picture(page, "dark");
  await page.emulateMedia({ colorScheme: "light" });
  await field(page).fill("And coffee?");
  await bench.killServer();
  await expect(page.locator(".offline")).toContainText("No connection");
  await picture(page, "offline");
});
