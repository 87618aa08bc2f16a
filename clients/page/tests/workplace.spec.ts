//! Files and the repository on the page.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Bench } from "./bench";
import { allow, ask, ends, expect, field, fresh, picture, test } from "./fixtures";

const git = (bench: Bench, ...args: string[]) =>
  execFileSync("git", args, { cwd: bench.workspace, encoding: "utf8" }).trim();

/** Makes the workspace a repository with one commit and some changes after it. */
function repository(bench: Bench) {
  rmSync(join(bench.workspace, ".git"), { recursive: true, force: true, maxRetries: 5 });
  git(bench, "init", "-q", "-b", "main");
  git(bench, "config", "user.name", "Mika");
  git(bench, "config", "user.email", "mika@example.org");
  mkdirSync(join(bench.workspace, "src"), { recursive: true });
  write(bench, "src/kettle.rs", 'fn boil() -> u32 {\n    // Green tea.\n    let hot = "90";\n    90\n}\n');
  write(bench, "README.md", "# Tea\n\nSee `src/kettle.rs:3` and [the kettle](src/kettle.rs#L4).\n");
  write(bench, ".gitignore", "out\n");
  mkdirSync(join(bench.workspace, "out"), { recursive: true });
  write(bench, "out/kettle.o", "x");
  git(bench, "add", ".");
  git(bench, "commit", "-qm", "Boil");
  write(bench, "src/kettle.rs", 'fn boil() -> u32 {\n    // Black tea.\n    let hot = "95";\n    95\n}\n');
  write(bench, "leaves.txt", "green\nblack\n");
}

const write = (bench: Bench, name: string, text: string) => writeFileSync(join(bench.workspace, name), text);

test("changes are read, commented on and committed", async ({ page, bench }) => {
  repository(bench);
  await fresh(page, "say hello");
  await expect(ends(page)).toBeVisible();
  const link = page.getByRole("link", { name: /^Changes/ });
  await expect(link).toContainText("main");
  await expect(link).toContainText("2");
  await link.click();
  await expect(page.getByRole("heading", { name: "main" })).toBeVisible();
  await expect(page.getByRole("group", { name: "Changes of src/kettle.rs" })).toContainText("95");
  await expect(page.getByRole("group", { name: "Changes of leaves.txt" })).toContainText("black");
  await picture(page, "repository");

  await page.getByRole("button", { name: "Comment on line 4" }).click();
  await page.getByRole("textbox", { name: "Comment on line 4" }).fill("Why not 96?");
  await page.getByRole("textbox", { name: "Message of the commit" }).click();
  await page.reload();
  await expect(page.getByRole("textbox", { name: "Comment on line 4" })).toHaveValue("Why not 96?");
  await page.getByRole("button", { name: "Ask the agent…" }).click();
  await expect(field(page)).toHaveValue("Comments on the changes:\n\nsrc/kettle.rs:4: `95`\nWhy not 96?\n");
  await field(page).fill("");

  await page.goto("/#/changes");
  await page.getByRole("checkbox", { name: "Commit leaves.txt" }).uncheck();
  await page.getByRole("button", { name: "Draft" }).click();
  const message = page.getByRole("textbox", { name: "Message of the commit" });
  await expect(message).toHaveValue("Update src/kettle.rs");
  await page.getByRole("button", { name: "Commit", exact: true }).click();
  await expect(page.getByText(/^Committed/)).toBeVisible();
  expect(git(bench, "show", "--format=%s", "--name-only", "HEAD")).toBe("Update src/kettle.rs\n\nsrc/kettle.rs");
  await expect(page.getByRole("group", { name: "Changes of src/kettle.rs" })).toHaveCount(0);
  await expect(link).toContainText("1");
});

test("a commit that a hook refuses says why and loses nothing", async ({ page, bench }) => {
  repository(bench);
  writeFileSync(join(bench.workspace, ".git/hooks/pre-commit"), "#!/bin/sh\necho the kettle is cold\nexit 1\n", {
    mode: 0o755,
  });
  await page.goto("/#/changes");
  const message = page.getByRole("textbox", { name: "Message of the commit" });
  await message.fill("Boil hotter");
  await page.getByRole("button", { name: "Commit", exact: true }).click();
  await expect(page.locator(".commit .bad")).toContainText("the kettle is cold");
  await expect(message).toHaveValue("Boil hotter");
});

test("a branch is pushed after its user has seen where to", async ({ page, bench }) => {
  repository(bench);
  const remote = join(bench.folder, "tea.git");
  rmSync(remote, { recursive: true, force: true });
  git(bench, "init", "-q", "--bare", remote);
  git(bench, "remote", "add", "origin", remote);
  await page.goto("/#/changes");
  await page.getByRole("button", { name: "Push…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText(remote);
  await expect(dialog).toContainText("1 commit");
  await expect(dialog.getByRole("listitem")).toContainText("Boil");
  await dialog.getByRole("button", { name: "Push", exact: true }).click();
  await expect(page.getByText("Pushed to origin")).toBeVisible();
  expect(git(bench, "ls-remote", remote, "refs/heads/main")).toContain(git(bench, "rev-parse", "HEAD"));
});

test("a change is discarded by hunk and by file, and made again", async ({ page, bench }) => {
  repository(bench);
  const lines = (...hot: number[]) =>
    Array.from({ length: 40 }, (_, n) => (hot.includes(n) ? `hot ${n}` : `${n}`)).join("\n");
  const read = (name: string) => readFileSync(join(bench.workspace, name), "utf8");
  write(bench, "lines.txt", lines());
  git(bench, "add", "lines.txt");
  git(bench, "commit", "-qm", "Lines", "--", "lines.txt");
  write(bench, "lines.txt", lines(3, 30));
  write(bench, "pot.txt", "iron\n");
  await page.goto("/#/changes");
  const table = page.getByRole("group", { name: "Changes of lines.txt" });
  await table.getByRole("button", { name: /^Discard lines .*28,/ }).click();
  await expect(table).not.toContainText("hot 30");
  expect(read("lines.txt")).toBe(lines(3));
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await expect(table).toContainText("hot 30");
  expect(read("lines.txt")).toBe(lines(3, 30));
  await page.getByRole("button", { name: "Discard the changes of pot.txt" }).click();
  await expect(page.getByRole("group", { name: "Changes of pot.txt" })).toHaveCount(0);
  expect(existsSync(join(bench.workspace, "pot.txt"))).toBe(false);
  // A file that has changed since is left alone.
  write(bench, "lines.txt", lines(3, 4, 30));
  await page.getByRole("button", { name: "Discard the changes of lines.txt" }).click();
  await expect(page.locator(".toast.bad")).toContainText("lines.txt");
  expect(read("lines.txt")).toBe(lines(3, 4, 30));
});

test("a Turn's change is discarded by file", async ({ page, bench }) => {
  await fresh(page, "write notes.txt: green");
  await page.getByRole("button", { name: "1 file changed" }).click();
  await page.getByRole("button", { name: "Discard the changes of notes.txt" }).click();
  await expect(page.getByText("discarded", { exact: true })).toBeVisible();
  expect(existsSync(join(bench.workspace, "notes.txt"))).toBe(false);
});

test("a branch is fetched after its user has seen where from, and updated", async ({ page, bench }) => {
  repository(bench);
  const remote = join(bench.folder, "tea.git");
  rmSync(remote, { recursive: true, force: true });
  git(bench, "init", "-q", "--bare", remote);
  git(bench, "remote", "add", "origin", remote);
  git(bench, "commit", "-q", "--allow-empty", "-m", "Pour");
  git(bench, "push", "-q", "-u", "origin", "main");
  git(bench, "reset", "-q", "--soft", "HEAD~");
  git(bench, "update-ref", "refs/remotes/origin/main", "HEAD");
  await page.goto("/#/changes");
  await page.getByRole("button", { name: "Repository" }).click();
  await page.getByRole("menuitem", { name: "Fetch…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText(remote);
  await dialog.getByRole("button", { name: "Fetch", exact: true }).click();
  await expect(page.getByText("1 new commit for this branch")).toBeVisible();
  await expect(page.getByText("1 behind")).toBeVisible();
  await page.getByRole("button", { name: "Update", exact: true }).click();
  await expect(page.getByText("1 behind")).toHaveCount(0);
  expect(git(bench, "log", "-1", "--format=%s")).toBe("Pour");
  await page.getByRole("button", { name: "Repository" }).click();
  await page.getByRole("menuitem", { name: "Pull request…" }).click();
  await expect(dialog).toContainText("is at no host of GitHub or GitLab");
});

test("files are found, opened at a line, and asked about", async ({ page, bench }) => {
  repository(bench);
  await page.goto("/#/");
  await page.getByRole("link", { name: "Files" }).click();
  await expect(page.getByRole("button", { name: "out" })).toHaveClass(/ignored/);
  await page.getByRole("button", { name: "src" }).press("ArrowRight");
  await page.getByRole("link", { name: "kettle.rs" }).click();
  await expect(page.locator(".file-lines")).toContainText("Black tea.");
  await expect(page.locator(".file-lines .hljs-keyword").first()).toHaveText("fn");
  await picture(page, "files");

  const search = page.getByRole("searchbox", { name: "Search files" });
  await search.fill("black");
  await expect(page.getByText("No file has this in its path.")).toBeVisible();
  await search.press("Enter");
  await page.getByRole("link", { name: /^src\/kettle.rs:2/ }).click();
  await expect(page.locator(".file-lines .found")).toContainText("Black tea.");
  await page.getByRole("button", { name: "Ask about it" }).click();
  await page.goto("/#/new");
  await expect(field(page)).toHaveValue("@src/kettle.rs line 2 ");
  await field(page).fill("");
});

test("files are added to the folder, and one that is there stays as it is", async ({ page, bench }) => {
  repository(bench);
  await page.goto("/#/files/src%2Fkettle.rs");
  const chosen = page.locator('.browser-nav input[type="file"]');
  await expect(page.getByRole("button", { name: "Add files to src" })).toBeVisible();
  await chosen.setInputFiles({ name: "cup.txt", mimeType: "text/plain", buffer: Buffer.from("Earl Grey\n") });
  await expect(page.locator(".file-lines")).toContainText("Earl Grey");
  await expect(page.getByRole("list", { name: "src" }).getByRole("link", { name: "cup.txt" })).toBeVisible();
  expect(readFileSync(join(bench.workspace, "src/cup.txt"), "utf8")).toBe("Earl Grey\n");
  await chosen.setInputFiles({ name: "kettle.rs", mimeType: "text/plain", buffer: Buffer.from("mine") });
  await expect(page.getByText("src/kettle.rs is there already. Choose another name.")).toBeVisible();
});

test("a place that a text names is a link to the file", async ({ page, bench }) => {
  repository(bench);
  await page.goto("/#/files/README.md");
  await page.getByRole("link", { name: "src/kettle.rs:3" }).click();
  await expect(page.locator(".file-lines .found")).toContainText("let hot");
  await page.goBack();
  // The text is drawn once more when the server has said which places there are; a click in between is lost.
  await expect(page.getByRole("link", { name: "src/kettle.rs:3" })).toBeVisible();
  await page.getByRole("link", { name: "the kettle", exact: true }).click();
  await expect(page.locator(".file-lines .found")).toContainText("95");
});

test("a file opens in the user's editor, whatever its name", async ({ page, bench }) => {
  const name = "a b?#%.txt";
  write(bench, name, "tea\n");
  await page.goto("/#/settings/page");
  await page.getByLabel("Open files in").selectOption("VS Code");
  await page.goto(`/#/files/${encodeURIComponent(name)}`);
  const link = page.getByRole("link", { name: "VS Code" });
  await expect(link).toHaveAttribute("href", /^vscode:\/\/file\/.*\/a%20b%3F%23%25\.txt:1$/);
  expect(readFileSync(join(bench.workspace, name), "utf8")).toBe("tea\n");
});

test("reads in a row are one row", async ({ page, bench }) => {
  for (const name of ["one.txt", "two.txt", "three.txt"]) write(bench, name, `${name}\n`);
  await fresh(page, "read one.txt\nread two.txt\nread three.txt\nsay done");
  await expect(ends(page)).toBeVisible();
  const row = page.getByRole("button", { name: /3 files/ });
  await row.click();
  await expect(page.getByRole("button", { name: /^Read two.txt/ })).toBeVisible();
});

test("a model is chosen by search, and the latest choice comes first", async ({ page }) => {
  await page.goto("/#/new");
  await page.getByRole("button", { name: "Model", exact: true }).click();
  const search = page.getByRole("combobox", { name: "Search models" });
  await search.fill("nothing of this name");
  await expect(page.getByText("No model has this in its name.")).toBeVisible();
  await search.fill("");
  await expect(page.getByRole("dialog").getByRole("option").first()).toHaveText(/^Default/);
  await expect(page.getByRole("dialog").getByRole("option", { name: /^offline/ })).toBeVisible();
  await search.press("ArrowDown");
  await search.press("Enter");
  await expect(page.getByRole("button", { name: "Model", exact: true })).toHaveText("offline");
  await page.getByRole("button", { name: "Model", exact: true }).click();
  await expect(page.getByRole("dialog").getByRole("option", { selected: true })).toHaveText(/^Default/);
  await page
    .getByRole("dialog")
    .getByRole("option", { name: /^Default/ })
    .click();
  await expect(page.getByRole("button", { name: "Model", exact: true })).toHaveText(/^Default/);
});

test("a message is edited: a new Thread has what was before it, and its text as the draft", async ({ page }) => {
  await fresh(page, "say one");
  await expect(ends(page)).toBeVisible();
  const first = page.url();
  await ask(page, "say two");
  await expect(ends(page)).toHaveCount(2);
  await page.getByRole("button", { name: "Edit" }).last().click();
  await expect(page).not.toHaveURL(first);
  await expect(field(page)).toHaveValue("say two");
  await expect(ends(page)).toHaveCount(1);
  await page.goto(first);
  await page.getByRole("button", { name: "Edit" }).first().click();
  await expect(page).toHaveURL(/#\/new/);
  await expect(field(page)).toHaveValue("say one");
  await field(page).fill("");
});

test("a question is answered by a key", async ({ page, bench }) => {
  await fresh(page, "run `touch by-key.txt`");
  await expect(allow(page)).toBeEnabled();
  await page.keyboard.press("Alt+W");
  await page.waitForTimeout(600);
  await page.locator(".ask").first().press("n");
  await expect(page.locator(".ask")).toHaveCount(0);
  expect(existsSync(join(bench.workspace, "by-key.txt"))).toBe(false);
  await fresh(page, "run `touch by-key.txt`");
  await expect(allow(page)).toBeEnabled();
  await page.locator(".ask").focus();
  await page.keyboard.press("y");
  await expect(allow(page)).toBeEnabled();
  await page.waitForTimeout(600);
  await page.keyboard.press("y");
  await expect.poll(() => existsSync(join(bench.workspace, "by-key.txt"))).toBe(true);
});

test("a Thread in a worktree leaves the folder alone, and its worktree is removed", async ({ page, bench }) => {
  repository(bench);
  await page.goto("/#/new");
  await page.getByLabel("In a worktree, on a branch of its own").check();
  await ask(page, "write apart.txt: tea");
  await expect(ends(page)).toContainText("1 file changed");
  expect(existsSync(join(bench.workspace, "apart.txt"))).toBe(false);
  await page.getByRole("link", { name: /^bobbin\// }).click();
  await expect(page.getByRole("group", { name: "Changes of apart.txt" })).toContainText("tea");
  await expect(page.getByRole("group", { name: "Changes of src/kettle.rs" })).toContainText("95");
  await page.getByRole("textbox", { name: "Message of the commit" }).fill("Apart");
  await page.getByRole("button", { name: "Commit", exact: true }).click();
  await expect(page.getByText(/^Committed/)).toBeVisible();
  await page.goBack();
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Worktree…" }).click();
  await expect(page.getByRole("dialog")).toContainText("It has 1 commit of its own.");
  await page.getByRole("button", { name: "Remove all the same" }).click();
  await expect(page.getByText(/^Removed; the branch/)).toBeVisible();
  expect(git(bench, "branch", "--list", "bobbin/*")).not.toBe("");
});

test("four attempts at one task stand side by side, one is taken, and the others are removed", async ({
  page,
  bench,
}) => {
  repository(bench);
  const before = git(bench, "status", "--porcelain");
  await page.goto("/#/new");
  for (let other = 0; other < 3; other++)
    await page.getByRole("button", { name: "Compare with another model…" }).click();
  await expect(page.getByRole("button", { name: "Compare with another model…" })).toHaveCount(0);
  await page.getByRole("group", { name: "Attempt 2" }).getByRole("button", { name: "Model", exact: true }).click();
  await page
    .getByRole("dialog")
    .getByRole("option", { name: /^offline/ })
    .click();
  await ask(page, "write taken.txt: tea");
  const attempts = page.locator(".attempt");
  await expect(attempts).toHaveCount(4);
  await expect(attempts.getByRole("link", { name: "1 file changed" })).toHaveCount(4);
  await expect(page.getByRole("region", { name: "offline" })).toContainText("taken.txt");
  expect(git(bench, "status", "--porcelain")).toBe(before);
  await picture(page, "compare");
  await page.reload();
  await page.getByRole("region", { name: "offline" }).getByRole("button", { name: "Take…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Take", exact: true }).click();
  await expect(page.getByText("1 file changed in the folder")).toBeVisible();
  expect(readFileSync(join(bench.workspace, "taken.txt"), "utf8")).toBe("tea\n");
  await expect(attempts).toHaveCount(1);
  expect(git(bench, "branch", "--list", "bobbin/try-*").split("\n")).toHaveLength(1);
  // What is taken a second time clashes, and says so.
  await attempts.getByRole("button", { name: "Take…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Take", exact: true }).click();
  await expect(page.getByRole("dialog").locator(".bad")).toContainText("taken.txt");
  expect(readFileSync(join(bench.workspace, "taken.txt"), "utf8")).toBe("tea\n");
});

test("a conversation is saved as a file, whole", async ({ page }) => {
  await fresh(page, "say the *first*");
  await expect(ends(page)).toBeVisible();
  await ask(page, "run `echo leaves`");
  await expect(ends(page)).toHaveCount(2);
  const saved = async (format: string) => {
    await page.getByRole("button", { name: "More" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("menuitem", { name: `Export as ${format}` }).click(),
    ]);
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
  };
  const markdown = await saved("Markdown");
  expect(markdown.name).toMatch(/\.md$/);
  for (const part of ["# ", "> say the *first*", "## turn_002", "```\necho leaves\n```"])
    expect(markdown.text).toContain(part);
  const lines = (await saved("JSON")).text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.map(({ id }) => id).slice(1)).toEqual(["turn_001", "turn_002"]);
  expect(lines[0].turns).toBeUndefined();
});

test("the page can be installed where its address lasts", async ({ page }) => {
  await page.goto("/#/");
  const href = await page.locator('link[rel="manifest"]').getAttribute("href");
  const manifest = await (await page.request.get(href ?? "")).json();
  expect(manifest).toMatchObject({ name: "Bobbin", start_url: "/", display: "standalone" });
  for (const { src, type } of manifest.icons) {
    const icon = await page.request.get(src);
    expect([icon.status(), icon.headers()["content-type"]]).toEqual([200, type]);
  }
});
