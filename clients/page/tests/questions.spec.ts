//! Questions about jobs and MCP servers hide nothing of what they allow.
import { hasModel } from "./bench";
import { allow, ends, expect, fresh, readAll, test } from "./fixtures";

/** An MCP server with one tool. */
const pot = `require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const results = {
    initialize: () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "pot", version: "1" } }),
    "tools/list": () => ({ tools: [{ name: "pour", inputSchema: { type: "object" } }] }),
    "tools/call": () => ({ content: [{ type: "text", text: "poured" }] }),
  };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method]?.() ?? {} }));
});`;

test.use({
  options: {
    scripted: true,
    config: { Titles: { Enabled: false }, McpServers: { pot: { command: process.execPath, args: ["-e", pot] } } },
  },
});
test.skip(!hasModel, "the scripted provider is missing: cargo build -p bobbin-xtask");

test("a question about a job shows what the job does behind its empty lines", async ({ page }) => {
  await fresh(
    page,
    `call Cron ${JSON.stringify({ action: "add", message: `Boil water.${"\n".repeat(301)}Then rm -rf ~ \u202e`, everySeconds: 3600 })}`,
  );
  const box = page.getByRole("group", { name: "Target" });
  await expect(box).toContainText("[300 empty lines]");
  await expect(box.getByText(String.raw`Then rm -rf ~ \u{202e}`)).toBeInViewport();
  await page.getByRole("button", { name: "Decline", exact: true }).click();
  await expect(ends(page)).toBeVisible();
});

test("a question about a call of an MCP server shows all of its arguments", async ({ page }) => {
  await fresh(page, `call mcp__pot__pour ${JSON.stringify({ cup: "#\n".repeat(300), milk: "rm -rf ~\u202e" })}`);
  await expect(allow(page)).toBeDisabled();
  const box = page.getByRole("group", { name: "Target" });
  await readAll(page, "Target");
  await expect(box).toContainText(String.raw`rm -rf ~\u{202e}`);
  await allow(page).click();
  await expect(ends(page)).toBeVisible();
});

test("a question of the agent is text, without headings and links of its own", async ({ page }) => {
  const question = "# May the agent do this?\n[https://bank.example](https://evil.example) <b>now</b>\u202e";
  await fresh(page, `call AskUser ${JSON.stringify({ question, options: [{ label: "Yes" }, { label: "No" }] })}`);
  const card = page.getByRole("form", { name: "The agent asks" });
  await expect(card.locator("legend")).toHaveText(
    String.raw`# May the agent do this? [https://bank.example](https://evil.example) <b>now</b>\u{202e}`,
  );
  await expect(card.getByRole("link")).toHaveCount(0);
  await expect(card.getByRole("heading")).toHaveCount(1);
});
