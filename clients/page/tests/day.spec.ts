//! A working day beyond the short story.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { allow, ask, ends, expect, field, fresh, picture, test } from "./fixtures";

test("a question of another Thread is answered from the one place, after a reload in the middle", async ({
  page,
  bench,
}) => {
  await fresh(page, "run `touch elsewhere.txt`");
  await expect(allow(page)).toBeVisible();
  await page.goto(`/#/waiting`);
  await page.reload();
  await allow(page).click();
  await expect(page.getByText("Nothing needs your attention.")).toBeVisible();
  await expect.poll(() => existsSync(join(bench.workspace, "elsewhere.txt"))).toBe(true);
});

test("a Turn is stopped", async ({ page }) => {
  await fresh(page, "run `make never`");
  await expect(allow(page)).toBeVisible();
  await page.getByRole("button", { name: "Stop the Turn" }).click();
  await expect(ends(page)).toContainText("Stopped");
});

test("an input waits in the queue, is taken back, and is a draft again", async ({ page }) => {
  await fresh(page, "run `make never`");
  await expect(allow(page)).toBeVisible();
  await ask(page, "say later, when all of the tea is drunk and the kettle is cold");
  await expect(page.getByRole("list", { name: "Queue" })).toContainText("say later");
  await page.setViewportSize({ width: 390, height: 800 });
  await expect(page.getByRole("button", { name: /^Remove from the queue/ })).toBeInViewport({ ratio: 1 });
  await page.getByRole("button", { name: /^Remove from the queue/ }).click();
  await expect(field(page)).toHaveValue(/^say later/);
  await page.getByRole("button", { name: "Stop the Turn" }).click();
  await expect(ends(page)).toBeVisible();
});

test("changes of a Turn are shown and undone", async ({ page, bench }) => {
  await fresh(page, "write glaze.txt: blue");
  await page.getByRole("button", { name: "1 file changed" }).click();
  await expect(page.locator(".side .diff")).toContainText("blue");
  await page.getByRole("button", { name: "side by side" }).click();
  await page.getByRole("button", { name: "Undo…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Undo", exact: true }).click();
  await expect(page.getByRole("dialog")).toContainText("1 file put back");
  expect(existsSync(join(bench.workspace, "glaze.txt"))).toBe(false);
});

test("a word that was typed survives the server and the page", async ({ page, bench }) => {
  await fresh(page, "say hello");
  await expect(ends(page)).toBeVisible();
  await field(page).fill("half a thought");
  await bench.killServer();
  await expect(page.locator(".offline")).toContainText("No connection");
  await bench.startServer();
  // It connects by itself; this is what a browser says when it is online again.
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await expect(page.locator(".offline")).toHaveCount(0);
  await page.reload();
  await expect(field(page)).toHaveValue("half a thought");
  await ask(page, "say again");
  await expect(ends(page)).toHaveCount(2);
});

test("a network that is gone for half a minute costs nothing and doubles nothing", async ({ page, context }) => {
  // Nothing is refused: what is sent goes nowhere, as with a cable that is out.
  let isCut = false;
  await page.routeWebSocket(/\/ws/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => void (isCut || server.send(message)));
    server.onMessage((message) => void (isCut || socket.send(message)));
  });
  await page.route("**/page/ticket", (route) => (isCut ? route.abort() : route.continue()));
  await page.clock.install();
  await fresh(page, "say first");
  await expect(ends(page)).toHaveCount(1);
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(ends(other)).toHaveCount(1);

  isCut = true;
  await ask(page, "say sent while it was gone");
  await field(page).fill("half a thought");
  await ask(other, "say meanwhile");
  await expect(ends(other)).toHaveCount(2);
  await page.clock.runFor(45_000);
  await expect(page.locator(".offline")).toContainText("No connection");
  await expect(ends(page)).toHaveCount(1);

  isCut = false;
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await expect(page.locator(".offline")).toHaveCount(0);
  for (const one of [page, other]) {
    await expect(ends(one)).toHaveCount(3);
    await expect(one.locator(".user", { hasText: "sent while it was gone" })).toHaveCount(1);
    await expect(one.locator(".user", { hasText: "meanwhile" })).toHaveCount(1);
  }
  await expect(field(page)).toHaveValue("half a thought");
});

test("settings show what the files say, and what was stored", async ({ page }) => {
  await page.goto("/#/settings/workspace");
  const suggestions = page.getByLabel("Suggestions for new Threads");
  await expect(suggestions).toContainText("Unchanged: not set");
  await suggestions.selectOption("no");
  await page.getByRole("button", { name: "Store" }).click();
  await expect(suggestions).toContainText("Unchanged: No");
});

test("checks say what is missing and what mends it, and look again", async ({ page, context, bench }) => {
  const file = join(bench.folder, ".craft/config.json");
  const before = readFileSync(file, "utf8");
  writeFileSync(
    file,
    JSON.stringify({ ...JSON.parse(before), McpServers: { pantry: { Command: "no-such-program" } } }),
  );
  writeFileSync(join(bench.workspace, ".mcp.json"), JSON.stringify({ mcpServers: { cellar: { command: "true" } } }));
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/#/settings/checks");
  const broken = page.getByRole("region", { name: "Problems" }).getByRole("listitem").filter({ hasText: "pantry" });
  await expect(broken).toContainText('there is no program "no-such-program"');
  await broken.getByRole("button", { name: "Copy: install it, or correct its Command" }).click();
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  expect(await copied()).toBe("install it, or correct its Command");
  await page.getByRole("button", { name: "Copy: bobbin mcp allow cellar" }).click();
  expect(await copied()).toBe("bobbin mcp allow cellar");
  await picture(page, "checks");

  writeFileSync(file, before);
  rmSync(join(bench.workspace, ".mcp.json"));
  await page.getByRole("button", { name: "Check again" }).click();
  await expect(page.getByRole("button", { name: "Check again" })).toBeEnabled();
  await expect(page.locator(".settings-body")).not.toContainText("pantry");
});
