//! People with roles in browsers of their own: what each sees, and whose name the record has.
import type { Browser, Page } from "@playwright/test";
import type { Bench } from "./bench";
import { allow, ask, ends, expect, field, fresh, test } from "./fixtures";

const PHONE = { width: 390, height: 844 };

/** Gives a person a role, and opens the page in a browser of theirs. */
async function as(browser: Browser, bench: Bench, role: string, name: string): Promise<Page> {
  bench.bobbin("people", "add", name, "--role", role);
  const paired = bench.bobbin("pair", "--for", name, "--name", `phone of ${name}`, "--workspace", bench.workspace);
  const page = await browser.newPage({ viewport: PHONE, storageState: { cookies: [], origins: [] } });
  await page.goto(paired.split("\n", 1).join());
  return page;
}

test("a viewer reads, an author writes, an approver answers, and the record names them", async ({
  page,
  bench,
  browser,
}) => {
  await fresh(page, "say hello to the kettle");
  await expect(ends(page)).toBeVisible();
  const thread = new URL(page.url()).hash;

  const viewer = await as(browser, bench, "viewer", "vi");
  const readOnly = viewer.getByText("You can read this workspace.");
  await viewer.goto(`${bench.origin}/#/new`);
  await expect(readOnly).toBeVisible();
  await expect(field(viewer)).toHaveCount(0);

  const author = await as(browser, bench, "author", "au");
  const approver = await as(browser, bench, "approver", "bo");
  for (const one of [viewer, author, approver]) await one.goto(`${bench.origin}/${thread}`);
  await expect(readOnly).toBeVisible();
  await ask(author, "run `touch cup`");
  await expect(author.getByText("Waits for the answer of an approver.")).toBeVisible();
  await expect(allow(author)).toHaveCount(0);
  await expect(allow(viewer)).toHaveCount(0);
  await expect(approver.getByRole("button", { name: "Always allow" })).toHaveCount(0);
  await allow(approver).click();
  for (const one of [page, viewer, author, approver]) {
    await expect(one.getByText("allowed once by bo, on phone of bo")).toBeVisible();
    await expect(one.getByText("by au, on phone of au")).toBeVisible();
  }

  // A role is offered what it may do, and nothing else.
  await expect(page.getByRole("button", { name: "Undo…" })).toHaveCount(1);
  for (const one of [viewer, author, approver]) await expect(one.getByRole("button", { name: "Undo…" })).toHaveCount(0);
  await expect(author.getByRole("button", { name: "Edit" })).toHaveCount(2);
  await expect(viewer.getByRole("button", { name: "Edit" })).toHaveCount(0);
  for (const [one, entries] of [
    [viewer, ["Export as Markdown", "Export as JSON"]],
    [author, ["Rename…", "Fork", "Export as Markdown", "Export as JSON"]],
    [approver, ["Rename…", "Fork", "Export as Markdown", "Export as JSON", "Archive"]],
  ] as const) {
    await one.getByRole("button", { name: "More" }).click();
    await expect(one.getByRole("menuitem")).toHaveText([...entries]);
    await one.keyboard.press("Escape");
  }
  await approver.goto(`${bench.origin}/#/settings/rules`);
  await expect(approver.getByRole("heading", { name: "This browser" })).toBeVisible();
  await expect(approver.getByText("An owner of the server changes the rest.")).toBeVisible();
  await expect(approver.getByRole("link", { name: "Rules and approvals" })).toHaveCount(0);
  await approver.goto(`${bench.origin}/${thread}`);

  bench.bobbin("people", "remove", "vi");
  await expect(readOnly).toHaveCount(0);
  await ask(author, "say goodbye");
  await expect(ends(author)).toHaveCount(3);
  for (const one of [viewer, author, approver]) await one.close();
});
