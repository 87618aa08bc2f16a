//! Documents and extensions, as an interface engineer uses them.
import AxeBuilder from "@axe-core/playwright";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Bench } from "./bench";
import { expect, type Page, picture, test } from "./fixtures";

const lab = join(import.meta.dirname, "lab");
// The page that the extension's window shows.
const site = createServer(
  (_, response) =>
    void response
      .writeHead(200, { "content-type": "text/html" })
      .end(
        "<h1>Chart of the ward</h1><script>try { parent.document.title = 'ran' } catch { document.title = 'kept out' }</script>",
      ),
);
await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
site.unref();
const LAB_URL = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;

test.use({
  options: {
    config: { HermesExtensions: [{ Name: "Lab", Path: "python3", Args: [join(lab, "lab.py")], Env: { LAB_URL } }] },
  },
});

const fieldOf = (page: Page, path: string) => page.getByLabel(`Value of ${path}`, { exact: true });
const state = (page: Page) => page.locator(".hl7-state");
const place = (page: Page, path: string) => page.locator(`[data-path="${path}"]`);

/** Opens a copy of the message in a Thread of its own. */
async function opened(page: Page, bench: Bench, name: string) {
  copyFileSync(join(lab, "admission.hl7"), join(bench.workspace, name));
  await page.goto("/#/documents");
  await page.getByRole("button", { name: "Open…" }).click();
  await page.getByLabel(/A file on the server/).fill(name);
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await expect(page.getByRole("heading", { name })).toBeVisible();
}

/** Chooses a place, also one that is far down. */
async function choose(page: Page, path: string) {
  await page.getByLabel("Find a path").fill(path);
  await place(page, path).click();
  await expect(fieldOf(page, path)).toBeFocused();
}

async function write(page: Page, path: string, value: string) {
  await choose(page, path);
  await fieldOf(page, path).fill(value);
  await fieldOf(page, path).press("Enter");
}

test("a field is changed, taken back, made again and saved", async ({ page, bench }) => {
  await opened(page, bench, "day.hl7");
  await write(page, "PID.5.1", "O|Neil");
  await expect(state(page)).toContainText("not saved · version 1");
  await expect(page.locator(".hl7-raw")).toContainText("O\\F\\Neil^ADAM");
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.locator(".hl7-raw")).toContainText("EVERYMAN^ADAM");
  await page.getByRole("button", { name: "Redo" }).click();
  await expect(place(page, "PID.5.1")).toContainText("O|Neil");
  await page.keyboard.press("Control+s");
  await expect(state(page)).toContainText(/^saved/);
  const before = readFileSync(join(lab, "admission.hl7"), "utf8");
  const after = readFileSync(join(bench.workspace, "day.hl7"), "utf8");
  expect(after).toBe(before.replace("EVERYMAN", "O\\F\\Neil"));
});

test("text is changed as text, line ends and all", async ({ page, bench }) => {
  await opened(page, bench, "text.hl7");
  await page.getByRole("button", { name: "Edit the text" }).click();
  const area = page.getByLabel("Text of the message");
  await area.fill((await area.inputValue()).replace("ZLB|R|tube 7", "ZLB|B|tube 7\nZLB|R|Röhrchen 8 🧪"));
  await page.getByRole("button", { name: "Store", exact: true }).click();
  await expect(page.locator(".hl7-raw")).toContainText("Röhrchen 8 🧪");
  await page.keyboard.press("Control+s");
  await expect(state(page)).toContainText(/^saved/);
  expect(readFileSync(join(bench.workspace, "text.hl7"), "utf8")).toContain("\rZLB|B|tube 7\rZLB|R|Röhrchen 8 🧪\r");
});

test("a file that is there is replaced only after a question", async ({ page, bench }) => {
  const other = join(bench.workspace, "other.hl7");
  writeFileSync(other, "MSH|^~\\&|KEEP\r");
  await opened(page, bench, "mine.hl7");
  await write(page, "PV1.2", "E");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Save as…" }).click();
  const dialog = page.getByRole("dialog");
  const path = dialog.getByLabel(/^Path on/);
  await path.fill("other.hl7");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByRole("alert")).toContainText("other.hl7 is there already");
  expect(readFileSync(other, "utf8")).toContain("KEEP");
  // The answer is about this path alone.
  await path.fill("third.hl7");
  await expect(dialog.getByRole("button", { name: "Replace the file" })).toHaveCount(0);
  await path.fill("other.hl7");
  await dialog.getByRole("button", { name: "Replace the file" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(state(page)).toContainText(/^saved/);
  expect(readFileSync(other, "utf8")).not.toContain("KEEP");
});

test("findings lead to their fields, and help says what fits", async ({ page, bench }) => {
  await opened(page, bench, "wrong.hl7");
  await write(page, "MSH.10", "");
  const finding = page.locator(".hl7-findings li", { hasText: "MSH.10" });
  await expect(finding).toContainText("a value is required");
  await finding.getByRole("button").click();
  await expect(fieldOf(page, "MSH.10")).toBeFocused();
  await fieldOf(page, "MSH.10").fill("MSG7");
  await fieldOf(page, "MSH.10").press("Enter");
  await expect(finding).toHaveCount(0);
  // What an extension says of a segment of its own.
  await choose(page, "ZLB.1");
  await expect(page.locator(".hl7-chosen")).toContainText("The colour of the cap.");
  await expect(page.locator(".hl7-chosen .is-now")).toHaveText("R Red");
  await page.getByLabel("Find a path").fill("");
  await choose(page, "PV1.2");
  await picture(page, "documents");
});

test("two windows see what the other does, and one field has one winner", async ({ page, bench, context }) => {
  await opened(page, bench, "both.hl7");
  const other = await context.newPage();
  await other.goto(page.url());
  await choose(other, "PID.8");
  await fieldOf(other, "PID.8").fill("F");
  // Another field is no conflict.
  await write(page, "PV1.2", "E");
  await expect(state(other)).toContainText("changed by another client");
  await fieldOf(other, "PID.8").press("Enter");
  await expect(state(page)).toContainText("version 2 · changed by another client");
  // The same one is.
  await choose(other, "PID.5.2");
  await fieldOf(other, "PID.5.2").fill("EVE");
  await write(page, "PID.5.2", "ADA");
  await expect(state(other)).toContainText("version 3");
  await fieldOf(other, "PID.5.2").press("Enter");
  await expect(other.getByRole("alert")).toContainText("ADA");
  await other.getByRole("button", { name: "Write mine" }).click();
  await expect(place(page, "PID.5.2")).toContainText("EVE");
  // What is written as text is not lost either.
  await other.getByRole("button", { name: "Edit the text" }).click();
  await write(page, "PID.5.2", "EVA");
  await expect(other.getByRole("alert")).toContainText("changed meanwhile");
  await other.getByRole("button", { name: "Take the other text" }).click();
  await expect(other.getByLabel("Text of the message")).toHaveValue(/EVERYMAN\^EVA/);
  await other.close();
});

test("an extension asks, changes the message and shows a window", async ({ page, bench }) => {
  await opened(page, bench, "order.hl7");
  await page.getByRole("button", { name: "Order", exact: true }).click();
  await expect(page.getByRole("dialog")).toContainText("The extension Lab asks.");
  await page.getByRole("button", { name: "Yes" }).click();
  await expect(page.getByRole("dialog")).toContainText("It is ordered.");
  await page.getByRole("button", { name: "OK" }).click();
  await expect(page.locator(".hl7-raw")).toContainText("ORC|NW");
  await expect(state(page)).toContainText("version 1 · changed by Lab");

  await page.getByRole("button", { name: "Say" }).click();
  await expect(page.getByRole("dialog")).toContainText("<script>alert(2)</script> **text**");
  await expect(page.getByRole("dialog").locator("img, script")).toHaveCount(0);
  await expect(page.locator(".hl7-buttons :is(svg, script, [onload])")).toHaveCount(0);
  await page.getByRole("button", { name: "OK" }).click();

  await page.getByRole("button", { name: "Import" }).click();
  await page.getByLabel("A file", { exact: true }).fill("order.hl7");
  await page.getByRole("button", { name: "Choose" }).click();
  await expect(page.getByRole("dialog")).toContainText("chosen: order.hl7");
  await page.getByRole("button", { name: "OK" }).click();

  await page.getByRole("button", { name: "Chart" }).click();
  const frame = page.frameLocator(".hl7-window iframe");
  await expect(frame.getByRole("heading")).toHaveText("Chart of the ward");
  await expect(page).not.toHaveTitle("ran");
  expect(
    (await new AxeBuilder({ page }).disableRules(["document-title", "html-has-lang"]).analyze()).violations.map(
      ({ id }) => id,
    ),
  ).toEqual([]);
  await page.locator(".hl7-window").getByRole("button", { name: "Close" }).click();
  await expect(page.locator(".hl7-window")).toHaveCount(0);
});

test("an extension that is killed takes its dialog and its buttons with it", async ({ page, bench }) => {
  await opened(page, bench, "killed.hl7");
  await page.getByRole("button", { name: "Chart" }).click();
  await expect(page.locator(".hl7-window")).toBeVisible();
  await page.getByRole("button", { name: "Slow" }).click();
  const text = await page.locator("dialog.sheet").textContent();
  process.kill(Number(/process (\d+)/.exec(text ?? "")?.[1]), "SIGKILL");
  await expect(page.locator("dialog")).toHaveCount(0);
  await expect(page.locator(".toast")).toContainText("withdrawn");
  await expect(page.getByRole("toolbar")).toHaveCount(0);
  await page.getByRole("link", { name: "Back to the documents" }).click();
  await expect(page.locator(".hl7-extension")).toContainText("failed");
  await page.getByRole("button", { name: "Start again", exact: true }).click();
  await expect(page.locator(".hl7-extension")).toContainText("runs");
  await page.getByRole("button", { name: "Log" }).click();
  await expect(page.locator(".hl7-extension pre")).toContainText("the lab is open");
});

test("a value is in no address, no title and no console, and unsaved changes are asked for", async ({
  page,
  bench,
}) => {
  const said: string[] = [];
  page.on("console", (line) => said.push(line.text()));
  page.on("request", (request) => said.push(request.url()));
  await opened(page, bench, "secret.hl7");
  await write(page, "PID.5.1", "SECRETNAME");
  await page.getByLabel("Find a path").fill("SECRETNAME");
  said.push(page.url(), await page.title(), JSON.stringify(await page.evaluate(() => ({ ...localStorage }))));
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Close" }).click();
  await page.getByRole("button", { name: "Discard the changes" }).click();
  await expect(page.getByRole("heading", { name: "HL7 documents" })).toBeVisible();
  await expect(page.locator(".hl7-entry", { hasText: "secret.hl7" })).toHaveCount(0);
  expect(said.join("\n")).not.toMatch(/SECRETNAME|EVERYMAN/);
});

test("a document is there after the connection was lost, and the server's end is said", async ({
  page,
  bench,
  context,
}) => {
  await opened(page, bench, "cut.hl7");
  await write(page, "PID.5.1", "FIRST");
  await choose(page, "PID.5.2");
  await fieldOf(page, "PID.5.2").fill("SECOND");
  await context.setOffline(true);
  await page.evaluate(() => dispatchEvent(new Event("offline")));
  await context.setOffline(false);
  await fieldOf(page, "PID.5.2").press("Enter");
  await expect(place(page, "PID.5.2")).toContainText("SECOND");
  await expect(state(page)).toContainText("version 2");
});

for (const scheme of ["light", "dark"] as const) {
  for (const width of [1280, 390]) {
    test(`axe finds nothing in documents: ${scheme}, ${width} px`, async ({ page, bench }) => {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 800 });
      const clean = async () =>
        expect(
          (await new AxeBuilder({ page }).analyze()).violations.map(({ id, nodes }) => [
            id,
            nodes.map(({ html }) => html),
          ]),
        ).toEqual([]);
      await opened(page, bench, `axe-${scheme}-${width}.hl7`);
      await clean();
      await choose(page, "PID.8");
      await clean();
      for (const name of ["Text", "Findings"]) {
        if (width < 900) await page.getByRole("group", { name: "What is shown" }).getByRole("button", { name }).click();
        await clean();
      }
      await page.goto("/#/documents");
      await expect(page.locator(".hl7-extension")).toBeVisible();
      await clean();
    });
  }
}
