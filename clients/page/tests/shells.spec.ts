//! The user's own terminals on the page.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, type Page, picture, test } from "./fixtures";

const rows = (page: Page) => page.locator(".xterm-rows");

/** Opens a terminal with a prompt that stories know. */
async function open(page: Page) {
  await page.goto("/#/terminal");
  await page.getByRole("button", { name: "New terminal" }).click();
  await expect(page.getByRole("textbox", { name: /^Terminal: / })).toBeFocused();
  await run(page, "PS1='tea> '; clear");
  await expect(rows(page)).toHaveText(/^tea> \s*$/);
}

async function run(page: Page, line: string) {
  await page.keyboard.type(`${line}\n`);
}

async function close(page: Page) {
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await expect(page.getByText("The agent neither sees it")).toBeVisible();
}

test("a terminal runs the user's shell, is there after a reload, and is closed", async ({ page }) => {
  const refused: string[] = [];
  page.on("console", (line) => /Content Security Policy/.test(line.text()) && refused.push(line.text()));
  await page.goto("/");
  await page.getByRole("link", { name: "Terminal" }).click();
  await open(page);
  await run(page, "echo $((40+2))");
  await expect(rows(page)).toContainText("42");
  await picture(page, "terminal");
  await run(page, "printf 'a \\033[38;2;250;20;20m%s\\033[0m \\033[31m%s\\033[0m\\n' r''ed d''im");
  const red = rows(page).locator("span", { hasText: /^red$/ });
  await expect(red).toHaveCSS("color", /^rgb\(2\d\d, \d+, \d+\)$/);
  await expect(rows(page).locator("span", { hasText: /^dim$/ })).toHaveClass(/xterm-fg-1/);
  await run(
    page,
    "printf '\\033[c\\033[6n\\033[?1004h\\033[?1004l'; sleep 0.3; read -rsn 99 -t 1; clear; echo $((42+0))",
  );
  await expect(rows(page)).toHaveText(/^42\s*tea> \s*$/);
  await page.reload();
  // Questions in what is shown again are not answered again.
  await expect(rows(page)).toHaveText(/^42\s*tea> \s*$/);
  await page.getByRole("textbox", { name: /^Terminal: / }).focus();
  await run(page, "echo $((50+2)); stty size");
  await expect(rows(page)).toContainText("52");
  await expect(rows(page)).not.toContainText("24 80");

  await page.getByRole("button", { name: "New terminal" }).click();
  await expect(page.getByRole("group", { name: "Terminals" }).getByRole("button")).toHaveCount(2);
  await expect(page.getByRole("textbox", { name: /^Terminal: / })).toBeFocused();
  await expect(rows(page)).not.toContainText("52");
  await run(page, "exit 3");
  await expect(page.getByText("This shell has ended with exit code 3.")).toBeVisible();
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await expect(rows(page)).toContainText("52");

  await page.keyboard.press("Alt+n");
  expect(page.url()).toContain("#/terminal");
  await page.keyboard.press("Shift+F6");
  await expect(page.getByRole("group", { name: "Terminals" }).getByRole("button")).toBeFocused();
  await close(page);
  expect(refused).toEqual([]);
});

test("output paints the screen of its terminal and nothing else", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page);
  await page.evaluate(() => navigator.clipboard.writeText("mine"));
  const title = await page.title();
  const commands = [
    "]0;hostile", // a title
    "]8;;https://hostile.example", // a link
    "]52;c;aG9zdGlsZQ==", // the clipboard
    "]10;#000000",
    "]11;#000000",
    "]4;1;#ffffff",
  ];
  for (const command of commands) await run(page, `printf '\\033${command}\\007'`);
  await run(page, "printf 'li''nk <img src=x onerror=alert(1)>\\033]8;;\\007\\n'");
  // Questions about the window, its title and the clipboard: an answer would be typed into the shell.
  for (const question of ["[21t", "[20t", "[14t", "]52;c;?\\007", "]10;?\\007"]) {
    await run(page, `printf '\\033${question}'; sleep 0.2`);
  }
  await run(page, "clear; echo do''ne");
  await expect(rows(page)).toHaveText(/^\s*done\s*tea> \s*$/);
  expect(await page.title()).toBe(title);
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("mine");
  await expect(page.locator(".xterm a, .xterm img")).toHaveCount(0);
  await expect(page.getByText("hostile")).toHaveCount(0);

  // Several lines are pasted as one text: none runs before its user presses Enter.
  await page.evaluate(() => navigator.clipboard.writeText("echo fir''st\necho tw''o\n"));
  await page.keyboard.press("Control+Shift+V");
  await expect(rows(page)).toContainText("echo tw''o");
  await expect(rows(page)).not.toContainText("first");
  await page.keyboard.press("Control+c");

  await run(page, "yes 0123456789012345678901234567890123456789");
  await page.waitForTimeout(2000);
  await page.keyboard.press("Control+c");
  await run(page, "echo ali''ve");
  await expect(rows(page)).toContainText("alive");
  await close(page);
});

test("one page answers what a program asks, from its first byte", async ({ page, context, bench }) => {
  const settings = join(bench.folder, ".bashrc");
  const length = (name: string) => `$(printf %s "$${name}" | wc -c)`;
  writeFileSync(settings, `printf '\\033[6n'; read -rsd R -t 3 first; echo "<${length("first")}>"\n`);
  await page.goto("/#/terminal");
  await page.getByRole("button", { name: "New terminal" }).click();
  await expect(rows(page)).toContainText(/<[1-9]\d*>/);
  await run(page, "PS1='tea> '");

  const other = await context.newPage();
  await other.goto("/#/terminal");
  await expect(rows(other)).toContainText(/<[1-9]\d*>/);
  const answers = `<${length("one")}:${length("two")}>`;
  const asks = `clear; printf '\\033[6n'; read -rsd R -t 3 one; read -rsd R -t 1 two; clear; echo "${answers}"`;
  for (const typing of [page, other]) {
    await typing.bringToFront();
    await typing.getByRole("textbox", { name: /^Terminal: / }).focus();
    await run(typing, asks);
    await expect(rows(typing)).toHaveText(/^<[1-9]\d*:0>\s*tea> \s*$/);
    await run(typing, "clear");
    await expect(rows(typing)).toHaveText(/^tea> \s*$/);
  }
  rmSync(settings);
  await close(page);
});

test("a terminal fits a narrow screen", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 800 });
  await open(page);
  await run(page, "stty size");
  await expect(rows(page)).toContainText(/\d\d (3|4|5)\d/);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  expect(wide).toBe(false);
  await close(page);
});
