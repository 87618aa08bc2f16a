//! Details that matter to a user who has the page open all day: the focus, questions elsewhere, the look of answers.
import AxeBuilder from "@axe-core/playwright";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasModel } from "./bench";
import { allow, ask, ends, expect, field, fresh, test } from "./fixtures";

test.use({ options: { scripted: true, config: { Titles: { Enabled: false } } } });
test.skip(!hasModel, "the scripted provider is missing: cargo build -p bobbin-xtask");

const question = `call AskUser ${JSON.stringify({ question: "Which leaf?", options: [{ label: "Green" }, { label: "Black" }] })}`;

test("a question of any Thread is there for a page that opens later, and its Thread is marked", async ({ page }) => {
  await fresh(page, question);
  await expect(page.getByRole("radio", { name: "Black" })).toBeVisible();
  await page.goto("/#/waiting");
  await page.reload();
  await expect(page.getByRole("radio", { name: "Black" })).toBeVisible();
  await page.keyboard.press("Alt+w");
  await expect(page.getByRole("form", { name: "The agent asks" })).toBeFocused();
  await expect(page.locator(".thread-row.is-waiting")).toContainText("needs your answer");
  await page.getByRole("radio", { name: "Black" }).click();
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await expect(page.getByText("Nothing needs your attention.")).toBeVisible();
});

test("the keys go where one writes on", async ({ page }) => {
  await page.goto("/#/new");
  await expect(field(page)).toBeFocused();
  await page.keyboard.type('call Exec {"command":"touch keys"}');
  await page.keyboard.press("Enter");
  await expect(allow(page)).toBeVisible();
  await expect(field(page)).toBeFocused();
  await allow(page).focus();
  await page.keyboard.press("Enter");
  await expect(ends(page)).toBeVisible();
  await expect(field(page)).toBeFocused();
  await page.getByRole("button", { name: "More" }).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await expect(page.getByLabel("Title")).toBeFocused();
  await page.getByLabel("Title").fill("Renamed by keys");
  await page.keyboard.press("Enter");
  await expect(page).toHaveTitle("Renamed by keys – tea");
  await expect(page.getByRole("button", { name: "More" })).toBeFocused();
});

test("a command of one's own runs without a question", async ({ page }) => {
  await fresh(page, "!echo green $((40 + 2))");
  await expect(ends(page)).toBeVisible();
  await page
    .getByRole("button", { name: /echo green/ })
    .first()
    .click();
  await expect(page.locator(".tool-body .out")).toContainText("green 42");
  await expect(allow(page)).toHaveCount(0);
  await ask(page, "! test -d .");
  await expect(page.getByRole("button", { name: /test -d/ })).toBeVisible();
});

test("output is shown at its end, also while it grows", async ({ page }) => {
  await fresh(page, 'call Exec {"command":"seq 1 300; sleep 0.2; seq 301 400; false"}');
  await allow(page).click();
  await expect(ends(page)).toBeVisible();
  const out = page.locator(".tool-body .out");
  await expect(out).toContainText("400");
  await expect.poll(() => out.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight)).toBeLessThan(4);
});

test("lists, tables and other scripts look as they were written, and an answer is copied", async ({
  page,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await fresh(
    page,
    [
      "say **kettle**",
      "",
      "- [x] boiled",
      "- [ ] poured",
      "",
      "3. third",
      "",
      "| cup | price |",
      "|---|---:|",
      "| Black | 12.50 |",
      "",
      "مرحبا tea",
    ].join("\n"),
  );
  await expect(ends(page)).toBeVisible();
  const text = page.locator(".user .prose");
  await expect(text.getByRole("checkbox")).toHaveCount(2);
  await expect(text.getByRole("checkbox", { name: "done" })).toBeChecked();
  await expect(text.locator("ol")).toHaveAttribute("start", "3");
  await expect(text.getByRole("cell", { name: "12.50" })).toHaveCSS("text-align", /right$/);
  await expect(text.getByText("مرحبا")).toHaveCSS("direction", "rtl");
  await page.getByRole("button", { name: "Copy the answer" }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^\*\*kettle\*\*/);
});

test("the chosen suggestion is in sight", async ({ page }) => {
  await page.goto("/#/new");
  await field(page).pressSequentially("/");
  await expect(page.getByRole("option").first()).toBeVisible();
  await page.keyboard.press("ArrowUp");
  await expect(page.getByRole("listbox").getByRole("option").last()).toHaveAttribute("aria-selected", "true");
  await expect(page.getByRole("listbox").getByRole("option").last()).toBeInViewport({ ratio: 0.9 });
});

test("no place is wider than a phone", async ({ page }) => {
  await fresh(page, `say ${"wide".repeat(60)}\n\n| a | b |\n|---|---|\n| ${"c".repeat(80)} | d |`);
  await expect(ends(page)).toBeVisible();
  const thread = new URL(page.url()).hash;
  await page.setViewportSize({ width: 390, height: 800 });
  await page.goto("/#/settings/page");
  await expect(page.getByRole("link", { name: "Checks" })).toBeAttached();
  const sections = await page
    .locator(".settings-nav a")
    .evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
  for (const hash of [...sections, thread, "#/waiting", "#/new", "#/"]) {
    await page.goto("about:blank");
    await page.goto(`/${hash}`);
    const content =
      hash === thread
        ? ".timeline-row"
        : hash === "#/settings/workspace"
          ? ".settings-body summary"
          : hash.startsWith("#/settings")
            ? ".settings-body > :nth-child(2)"
            : hash === "#/"
              ? ".sidebar-list li"
              : "main";
    await expect(page.locator(content).first()).toBeAttached();
    // A model can have a long name.
    await page.evaluate(() => {
      for (const select of document.querySelectorAll("select")) select.add(new Option("long".repeat(30)));
    });
    const wide = () =>
      page.evaluate(() =>
        [
          ...document.querySelectorAll(
            ".settings, .settings-body, .page-body, .timeline-all, .fresh-body, .sidebar-list",
          ),
        ]
          .filter((box) => box.scrollWidth > box.clientWidth + 1 || box.getBoundingClientRect().right > innerWidth)
          .map((box) => box.className),
      );
    await expect.poll(wide, hash).toEqual([]);
  }
});

test("plugins are listed and switched off", async ({ page, bench }) => {
  const plugin = join(bench.folder, ".craft/plugins/tea-log/.claude-plugin");
  mkdirSync(plugin, { recursive: true });
  const hooks = { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "sh count.sh" }] }] };
  writeFileSync(join(plugin, "plugin.json"), JSON.stringify({ name: "tea-log", version: "1.0.0", hooks }));
  await page.goto("/#/settings/skills");
  const on = page.getByRole("checkbox", { name: "tea-log is on" });
  await expect(on).toBeChecked();
  await expect(page.locator(".entry", { hasText: "tea-log" })).toContainText("PreToolUse (Bash) runs sh count.sh");
  await on.click();
  await expect(on).not.toBeChecked();
  expect((await new AxeBuilder({ page }).analyze()).violations.map(({ id }) => id)).toEqual([]);
});

test("a Turn that failed is tried again, and one that changed nothing says so", async ({ page }) => {
  await fresh(page, "error 400 no leaves");
  await expect(ends(page)).toContainText("Failed");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(ends(page)).toHaveCount(2);
  await expect(page.locator(".user").last()).toContainText("error 400 no leaves");
  await fresh(page, 'call Exec {"command":"true"}');
  await page.getByRole("button", { name: "Undo…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("This Turn changed no files.");
  await expect(dialog.getByRole("button")).toHaveCount(2);
});

test("who is asked about a change sees it, wherever it is answered", async ({ page }) => {
  await page.goto("/#/new");
  await page.getByLabel("Approvals").selectOption("askWrites");
  await ask(page, 'call WriteFile {"path":"cups/one.md","content":"a first cup\\n"}');
  const card = page.getByRole("region", { name: "Write this file?" });
  await expect(card.locator(".diff")).toContainText("a first cup");
  await page.goto("/#/waiting");
  await page.reload();
  await expect(card.locator(".diff")).toContainText("a first cup");
  await allow(page).click();
  await expect(page.getByText("Nothing needs your attention.")).toBeVisible();
});

test("a long text of one's own is cut until all of it is asked for", async ({ page }) => {
  await fresh(page, `say short\n${"a line of a log\n".repeat(100)}the last line`);
  await expect(ends(page)).toBeVisible();
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByRole("button", { name: "Show less" }).click();
  await expect.poll(() => page.locator(".user-cut").evaluate((box) => box.clientHeight)).toBeLessThan(260);
});

test("an error of a dialog is shown over the dialog", async ({ page }) => {
  await fresh(page, "say hello");
  await expect(ends(page)).toBeVisible();
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Rename…" }).click();
  await page.getByLabel("Title").fill("x".repeat(5000));
  await page.getByRole("button", { name: "Rename", exact: true }).click();
  await expect(page.locator(".toasts:popover-open .toast.bad")).toBeVisible();
});

test("the browser finds words far up in a conversation", async ({ page }) => {
  await fresh(page, "say the word at the beginning");
  await expect(ends(page)).toHaveCount(1);
  for (let round = 0; round < 3; round++) {
    await ask(
      page,
      [...Array.from({ length: 12 }, () => 'call ReadFile {"path":"missing.md"}'), `say round ${round}`].join("\n"),
    );
    await expect(page.locator(".is-agent", { hasText: `round ${round}` })).toBeVisible();
    await expect(page.getByRole("button", { name: "Stop the Turn" })).toHaveCount(0);
  }
  const first = page.locator(".is-agent", { hasText: "the word at the beginning" });
  await expect(first).toHaveCount(0);
  await page.keyboard.press("Control+f");
  await expect(first).toHaveCount(1);
});

test("who reads further up stays there while a text grows", async ({ page }) => {
  await fresh(
    page,
    [...Array.from({ length: 12 }, () => 'call ReadFile {"path":"missing.md"}'), "say full"].join("\n"),
  );
  await expect(ends(page)).toBeVisible();
  await ask(page, Array.from({ length: 300 }, () => "say more \npause 10").join("\n"));
  await expect(page.locator(".is-agent", { hasText: "more" })).toBeVisible();
  const box = page.locator(".timeline");
  await box.hover();
  await page.mouse.wheel(0, -400);
  await expect(page.getByRole("button", { name: "Latest" })).toBeVisible();
  const top = await box.evaluate(({ scrollTop }) => scrollTop);
  await expect(page.getByRole("button", { name: "Stop the Turn" })).toHaveCount(0, { timeout: 15_000 });
  expect(Math.abs((await box.evaluate(({ scrollTop }) => scrollTop)) - top)).toBeLessThan(40);
  await page.getByRole("button", { name: "Latest" }).click();
  await expect(page.getByRole("button", { name: "Latest" })).toHaveCount(0);
});

test("what is in the queue is sent after a stop", async ({ page }) => {
  await fresh(page, "stall");
  await expect(page.getByRole("button", { name: "Stop the Turn" })).toBeVisible();
  await ask(page, "say later");
  await expect(page.getByRole("list", { name: "Queue" })).toContainText("say later");
  await page.getByRole("button", { name: "Stop the Turn" }).click();
  await page.getByRole("button", { name: "Send now" }).click();
  await expect(ends(page)).toHaveCount(2);
  await expect(page.getByRole("list", { name: "Queue" })).toHaveCount(0);
});

test("one sees that the model is asked before its first word", async ({ page }) => {
  await fresh(page, "stall");
  await expect(page.locator(".working")).toContainText(/\d s$/);
  await page.getByRole("button", { name: "Stop the Turn" }).click();
  await expect(ends(page)).toBeVisible();
  await expect(page.locator(".working")).toHaveCount(0);
});

test("Back closes what covers the conversation of a phone, and a reload does not", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 800 });
  await fresh(page, "say hello");
  await expect(ends(page)).toBeVisible();
  await page.getByRole("button", { name: "Changes, plan, terminals, agents" }).click();
  await page.getByRole("button", { name: "Agents", exact: true }).click();
  await expect(page.getByText("This Thread has no subagents.")).toBeVisible();
  await page.reload();
  await expect(page.getByText("This Thread has no subagents.")).toBeVisible();
  await page.goBack();
  await page.goBack();
  await expect(page.getByRole("complementary")).toHaveCount(0);
  await expect(ends(page)).toBeVisible();
});

test("a Thread that cannot be read says so, and does not look empty", async ({ page }) => {
  await fresh(page, "say hello");
  await expect(ends(page)).toBeVisible();
  await page.routeWebSocket(/\/ws/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      const { id, method } = JSON.parse(String(message)) as { id?: number; method?: string };
      if (method === "thread/read" || method === "thread/subscribe")
        socket.send(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message: "the disk is full" } }));
      else server.send(message);
    });
    server.onMessage((message) => socket.send(message));
  });
  await page.reload();
  await expect(page.locator("main .note.bad")).toContainText("the disk is full");
  await expect(page.getByText("Nothing was said here yet.")).toHaveCount(0);
});

test("a search shows conversations though many titles have its words", async ({ page }) => {
  await fresh(page, "say hello");
  await expect(ends(page)).toBeVisible();
  await page.evaluate(async () => {
    const { ticket } = (await (
      await fetch("/page/ticket", {
        method: "POST",
        headers: { authorization: `Bearer ${localStorage.getItem("bobbin.secret")}` },
      })
    ).json()) as { ticket: string };
    const socket = new WebSocket(`ws://${location.host}/ws?ticket=${ticket}`);
    await new Promise((open) => (socket.onopen = open));
    const send = (id: number, method: string, params: object) =>
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const done = new Promise<void>(
      (resolve) =>
        (socket.onmessage = ({ data }) => void ((JSON.parse(String(data)) as { id?: number }).id === 30 && resolve())),
    );
    send(0, "initialize", { clientInfo: { name: "story", version: "1" }, capabilities: {} });
    socket.send(JSON.stringify({ jsonrpc: "2.0", method: "initialized" }));
    for (let at = 1; at <= 30; at++)
      send(at, "thread/start", { identity: { channelName: "web" }, displayName: `hello ${at}` });
    await done;
    socket.close();
  });
  await page.getByRole("searchbox").fill("hello");
  await expect(page.locator(".thread-row")).toHaveCount(20);
  await expect(page.getByRole("region", { name: "In conversations" })).toContainText("hello");
  await page.getByRole("button", { name: /^Show more/ }).click();
  await expect.poll(() => page.locator(".thread-row").count()).toBeGreaterThanOrEqual(30);
});
