//! Several workspaces at one address: their list, their questions, the way from one to another.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { allow, ask, ends, expect, field, test } from "./fixtures";

test.use({ options: { node: ["pot", "cup"] } });

test("a question in any workspace is seen and answered from the list of all", async ({ page }) => {
  await page.goto("/");
  await expect(page).toHaveURL(/\/w\/$/);
  const workspaces = page.getByRole("region", { name: "All workspaces" });
  await expect(workspaces.locator("a.workspace-name")).toHaveText(["cup", "pot", "tea"]);
  await page.keyboard.press("2");
  await expect(page).toHaveURL(/\/w\/pot\/$/);
  await page.goto("/w/pot/#/new");
  await ask(page, "run `touch poured`");
  await expect(allow(page)).toBeVisible();
  const thread = new URL(page.url()).hash;
  await page.keyboard.press("Alt+o");
  await expect(page).toHaveURL(/\/w\/$/);
  await expect(page).toHaveTitle("(1) Workspaces");
  const waiting = page.getByRole("region", { name: "Needs attention" });
  await expect(waiting.getByRole("link", { name: /^pot: / })).toHaveAttribute("href", `/w/pot/${thread}`);
  await expect(workspaces.locator("a.workspace-name")).toHaveText(["pot", "cup", "tea"]);
  await allow(page).click();
  await expect(waiting).toHaveCount(0);
  await expect(page).toHaveTitle("Workspaces");
  const latest = workspaces.locator("a.workspace-latest");
  await expect(latest).toContainText("touch poured");
  await latest.click();
  await expect(page).toHaveURL(`/w/pot/${thread}`);
  await expect(ends(page)).toBeVisible();
});

test("each workspace has its own drafts, and its name leads to the others", async ({ page }) => {
  await page.goto("/w/tea/#/new");
  await field(page).fill("for the tea");
  await page.getByRole("button", { name: "Workspaces" }).click();
  await page.getByRole("menuitem", { name: "cup" }).click();
  await expect(page).toHaveURL(/\/w\/cup\/$/);
  await page.goto("/w/cup/#/new");
  await expect(field(page)).toHaveText("");
  await page.goto("/w/tea/#/new");
  await expect(field(page)).toHaveText("for the tea");
});

test("a folder is added and taken out on the page", async ({ page, bench }) => {
  await page.goto("/w/");
  const path = page.getByRole("textbox", { name: "Folder on the node's machine" });
  await path.fill(join(bench.folder, "none"));
  await page.getByRole("button", { name: "Add folder" }).click();
  await expect(page.getByRole("alert").filter({ hasText: "cannot be opened" })).toBeVisible();
  mkdirSync(join(bench.folder, "Milk Jug"));
  await path.fill(join(bench.folder, "Milk Jug"));
  await path.press("Enter");
  const jug = page.getByRole("link", { name: "milk-jug" });
  await expect(jug).toBeVisible();
  await page.getByRole("button", { name: "More for milk-jug" }).click();
  await page.getByRole("menuitem", { name: "Take out of the list" }).click();
  await expect(jug).toHaveCount(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(jug).toBeVisible();
});

test("pages go on when the node was killed and starts again", async ({ page, context, bench }) => {
  await page.goto("/w/tea/#/new");
  await ask(page, "run `touch before`");
  await allow(page).click();
  await expect(ends(page)).toHaveCount(1);
  const list = await context.newPage();
  await list.goto("/w/");
  await expect(list.locator("a.workspace-latest")).not.toHaveCount(0);
  await bench.killServer();
  await expect(list.getByText("No connection")).toBeVisible();
  await bench.startServer();
  await expect(list.getByText("No connection")).toHaveCount(0);
  await ask(page, "run `touch after`");
  await allow(page).click();
  await expect(ends(page)).toHaveCount(2);
});

test("a device is paired for all workspaces", async ({ page, bench }) => {
  await page.goto("/w/");
  await page.getByRole("button", { name: "Pair a device…" }).click();
  const code = page.getByRole("dialog").locator("code").first();
  await expect(code).toContainText(`${bench.origin}/w/#`);
  // A key of the page under it does not lead away.
  await page.keyboard.press("1");
  await page.waitForTimeout(300);
  await expect(code).toBeVisible();
  const address = (await code.textContent()) ?? "";
  await page.evaluate(() => localStorage.clear());
  await page.goto("about:blank");
  await page.goto(address);
  await expect(page.getByRole("heading", { name: "Workspaces" })).toBeVisible();
  await page.goto("/w/tea/");
  await expect(page.getByRole("heading", { name: "New Thread" })).toBeVisible();
});

test("a page has one connection to the node, also when the names come and go", async ({ page }) => {
  const open = new Set<unknown>();
  page.on("websocket", (socket) => {
    if (!socket.url().includes("/node/ws")) return;
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  await page.setViewportSize({ width: 390, height: 760 });
  const switcher = page.getByRole("button", { name: "Workspaces" });
  for (let round = 0; round < 3; round++) {
    await page.goto("/w/tea/#/");
    await expect(switcher).toBeVisible();
    await page.goto("/w/tea/#/new");
    await expect(switcher).toHaveCount(0);
  }
  await page.goto("/w/tea/#/");
  await expect(switcher).toBeVisible();
  // Longer than the pause before a lost connection is made again.
  await page.waitForTimeout(600);
  expect(open.size).toBe(1);
});

test("an address of no workspace says so", async ({ page }) => {
  await page.goto("/w/saucer/");
  await expect(page.getByText("no workspace has the name saucer")).toBeVisible();
});
