//! A working day with a model that does what its prompt says: files, pictures, terminals, agents, two windows, a crash.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasModel } from "./bench";
import { allow, ask, ends, expect, field, fresh, type Page, test } from "./fixtures";
import { png } from "./png";

test.use({ options: { scripted: true, config: { Titles: { Enabled: false } } } });
test.skip(!hasModel, "the scripted provider is missing: cargo build -p bobbin-xtask");

/** Gives the text field a file, as the clipboard or a drag does. */
async function give(page: Page, how: "paste" | "drop", name: string, type: string, bytes: Buffer) {
  const base64 = bytes.toString("base64");
  await field(page).evaluate(
    (area, [kind, fileName, media, text]) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(text), (char) => char.charCodeAt(0))], fileName, { type: media }));
      const given = { bubbles: true, cancelable: true };
      area.dispatchEvent(
        kind === "paste"
          ? new ClipboardEvent("paste", { clipboardData: data, ...given })
          : new DragEvent("drop", { dataTransfer: data, ...given }),
      );
    },
    [how, name, type, base64] as const,
  );
}

test("pictures are pasted and dropped, sent, and shown again after a reload", async ({ page }) => {
  await page.goto("/#/new");
  await give(page, "paste", "pot.png", "image/png", png(40, 30));
  await give(page, "drop", "wide.png", "image/png", png(2600, 20));
  await expect(page.locator(".attachments img")).toHaveCount(2);
  await page.reload();
  await expect(page.locator(".attachments img")).toHaveCount(2);
  await ask(page, "say look");
  await expect(ends(page)).toBeVisible();
  await expect(page.locator(".picture img")).toHaveCount(2);
  await page.reload();
  await expect(page.getByRole("img", { name: "pot.png" })).toBeVisible();
  // What models do not see is not sent: the wide one was drawn anew.
  const sizes = await page
    .locator(".picture img")
    .evaluateAll((all) => all.map((image) => (image as HTMLImageElement).naturalWidth));
  expect(sizes).toEqual([40, 2000]);
  await page.goto("/#/new");
  await expect(field(page)).toBeVisible();
  await expect(page.locator(".attachments")).toHaveCount(0);
});

test("a picture that waits in the queue is taken back with its text", async ({ page }) => {
  await fresh(page, "stall");
  await expect(page.getByRole("button", { name: "Stop the Turn" })).toBeVisible();
  await give(page, "paste", "pot.png", "image/png", png(40, 30));
  await ask(page, "say look");
  await page.getByRole("button", { name: /^Remove from the queue/ }).click();
  await expect(field(page)).toHaveValue("say look");
  await expect(page.locator(".attachments")).toContainText("pot.png");
  await page.getByRole("button", { name: "Stop the Turn" }).click();
  await expect(ends(page)).toContainText("Stopped");
  await field(page).press("Enter");
  await expect(page.locator(".picture img")).toHaveCount(1);
});

test("files of the workspace are found while one writes", async ({ page, bench }) => {
  mkdirSync(join(bench.workspace, "src/kettle"), { recursive: true });
  writeFileSync(join(bench.workspace, "src/kettle/lid.rs"), "fn lid() {}\n");
  writeFileSync(join(bench.workspace, "two words.md"), "x\n");
  await page.goto("/#/new");
  await field(page).pressSequentially("say @lid");
  await expect(page.getByRole("option", { name: "src/kettle/lid.rs" })).toBeVisible();
  await field(page).press("Enter");
  await field(page).pressSequentially("and @two");
  await expect(page.getByRole("option", { name: "two words.md" })).toBeVisible();
  await field(page).press("Tab");
  await expect(field(page)).toHaveValue('say @src/kettle/lid.rs and @"two words.md" ');
  await field(page).press("Enter");
  await expect(page.locator(".user code")).toHaveText(["@src/kettle/lid.rs", "@two words.md"]);
});

test("a message is sent to the agent while it works", async ({ page }) => {
  await fresh(page, 'call Exec {"command":"sleep 1"}');
  await expect(allow(page)).toBeVisible();
  await field(page).fill("say more milk");
  await field(page).press("Control+Enter");
  await expect(page.getByRole("list", { name: "Queue" })).toContainText("next step");
  await allow(page).click();
  await expect(page.getByText("while the agent worked")).toBeVisible();
  await expect(ends(page)).toHaveCount(1);
});

test("a question of the agent is answered", async ({ page }) => {
  const options = [{ label: "Green" }, { label: "Black" }];
  await fresh(page, `call AskUser ${JSON.stringify({ question: "Which leaf?", options })}`);
  await page.getByRole("radio", { name: "Black" }).click();
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await expect(page.locator(".is-agent")).toContainText("Black");
});

test("a plan is shown and carried out step by step", async ({ page }) => {
  const todos = [{ id: "boil", content: "Boil water", priority: "high", status: "in_progress" }];
  await fresh(
    page,
    `call CreatePlan ${JSON.stringify({ title: "Tea", overview: "Two cups.", plan: "1. Boil", todos })}`,
  );
  await expect(ends(page)).toBeVisible();
  await page.locator(".strip").getByRole("button").click();
  await expect(page.locator(".todos")).toContainText("Boil water");
});

test("a command in the background shows its colours and is ended", async ({ page }) => {
  await fresh(
    page,
    `call Exec ${JSON.stringify({ command: "printf '\\033[31mred\\033[0m\\n'; sleep 300", runInBackground: true })}`,
  );
  await allow(page).click();
  await expect(ends(page)).toBeVisible();
  await page.getByRole("button", { name: "1 command in the background" }).click();
  await expect(page.locator(".terminal .out .ansi-red-fg, .terminal .out [class*=red]").first()).toHaveText("red");
  await page.locator(".terminal").getByRole("button", { name: "End" }).click();
  await expect(page.locator(".terminal")).not.toContainText("running");
});

test("what commands changed is shown after a reload, and undone", async ({ page, bench }) => {
  await fresh(page, 'call Exec {"command":"echo blue > glaze.md"}');
  await allow(page).click();
  await expect(ends(page)).toBeVisible();
  await page.reload();
  await page.getByRole("button", { name: "Undo…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.locator(".diff")).toContainText("blue");
  await dialog.getByRole("button", { name: "Undo", exact: true }).click();
  await expect(dialog).toContainText("1 file put back");
  expect(existsSync(join(bench.workspace, "glaze.md"))).toBe(false);
});

test("two windows show one Thread, and the other's answer counts", async ({ page, context }) => {
  await fresh(page, 'call Exec {"command":"echo done > two.txt"}');
  await expect(allow(page)).toBeVisible();
  const other = await context.newPage();
  await other.goto(page.url());
  await allow(other).click();
  await expect(allow(page)).toHaveCount(0);
  await expect(ends(page)).toBeVisible();
  await expect(page.getByText("You were asked: allowed once")).toBeVisible();
});

test("a server that dies in a stream and in an approval is found again", async ({ page, bench }) => {
  const online = () => page.evaluate(() => dispatchEvent(new Event("online")));
  await fresh(page, 'call Exec {"command":"echo once >> once.txt"}');
  await expect(allow(page)).toBeVisible();
  await bench.killServer();
  await expect(page.locator(".offline")).toContainText("No connection");
  await field(page).fill("half a thought");
  await bench.startServer();
  await online();
  await expect(page.locator(".offline")).toHaveCount(0);
  await allow(page).click();
  await expect(ends(page)).toBeVisible();
  await expect(field(page)).toHaveValue("half a thought");
  expect(readFileSync(join(bench.workspace, "once.txt"), "utf8")).toBe("once\n");
  await ask(page, "say a word\npause 30000");
  await expect(page.locator(".is-agent").last()).toContainText("a word");
  await bench.killServer();
  await expect(page.locator(".offline")).toContainText("No connection");
  await bench.startServer();
  await online();
  await expect(page.getByRole("button", { name: "Stop the Turn" })).toBeVisible();
  await page.getByRole("button", { name: "Stop the Turn" }).click();
  await expect(ends(page)).toHaveCount(2);
});

test("a Thread is forked, renamed, archived, taken out and deleted", async ({ page }) => {
  await fresh(page, "say first");
  await expect(ends(page)).toHaveCount(1);
  const origin = page.url();
  await ask(page, "say second");
  await expect(ends(page)).toHaveCount(2);
  await ends(page).first().hover();
  await ends(page).first().getByRole("button", { name: "Fork" }).click();
  await expect(page).not.toHaveURL(origin);
  await expect(ends(page)).toHaveCount(1);
  const more = (name: string) =>
    page
      .getByRole("button", { name: "More" })
      .click()
      .then(() => page.getByRole("menuitem", { name, exact: true }).click());
  await more("Rename…");
  await page.getByLabel("Title").fill("A copy of tea");
  await page.getByRole("button", { name: "Rename", exact: true }).click();
  const row = page.locator(".thread-row", { hasText: "A copy of tea" });
  await expect(row).toBeVisible();
  await more("Archive");
  await expect(row).toHaveCount(0);
  await more("Unarchive");
  await expect(row).toBeVisible();
  await page.getByRole("searchbox").fill("copy of");
  await expect(row).toBeVisible();
  await page.getByRole("searchbox").fill("");
  await more("Delete…");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(row).toHaveCount(0);
});

test("what is always allowed is listed and removed", async ({ page }) => {
  const prompt = 'call Exec {"command":"mkdir -p cups"}';
  await fresh(page, prompt);
  await page.getByRole("button", { name: "Always allow" }).click();
  await expect(ends(page)).toBeVisible();
  await page.goto("/#/settings/rules");
  await page.getByRole("button", { name: "Remove: mkdir -p cups" }).click();
  await expect(page.getByText("None. “Always allow” puts one here.")).toBeVisible();
});

test("a setting is stored and browsers are listed and paired", async ({ page }) => {
  await page.goto("/#/settings/workspace");
  await page.getByLabel("Suggestions for new Threads").selectOption("No");
  await page.getByRole("button", { name: "Store" }).click();
  await expect(page.getByLabel("Suggestions for new Threads")).toContainText("Unchanged: No");
  await page.goto("/#/settings/devices");
  await page.getByRole("button", { name: "Pair another browser…" }).click();
  await expect(page.getByRole("status").filter({ hasText: "It works once" })).toContainText("#");
});

test("a job that the agent makes is listed, run at once and removed", async ({ page }) => {
  await fresh(page, 'call Cron {"action":"add","name":"water the tea","message":"say watered","dailyTime":"07:30"}');
  await allow(page).click();
  await expect(ends(page)).toBeVisible();
  await page.goto("/#/settings/schedules");
  const job = page.locator(".settings-body").getByRole("listitem").filter({ hasText: "water the tea" });
  await expect(job).toContainText("every day at 07:30");
  await job.getByRole("button", { name: "Run water the tea now" }).click();
  await expect(job.getByRole("link", { name: "The last run" })).toBeVisible();
  await job.getByRole("button", { name: "Remove water the tea" }).click();
  await expect(job).toHaveCount(0);
});

test("a subagent's question is there for a browser that comes later", async ({ page, bench }) => {
  const task = JSON.stringify({ agentNickname: "scout", agentPrompt: 'call Exec {"command":"touch scouted"}' });
  await fresh(page, `call SpawnAgent ${task}\ncall WaitAgent`);
  await expect(page.getByRole("link", { name: /Needs attention/ })).toContainText("1");
  await page.getByRole("button", { name: /^scout/ }).click();
  await expect(page.locator(".entry .meta")).toContainText("needs approval");
  await page.goto("/#/waiting");
  await page.reload();
  await allow(page).click();
  await expect(page.getByText("Nothing needs your attention.")).toBeVisible();
  await expect.poll(() => existsSync(join(bench.workspace, "scouted"))).toBe(true);
});
