//! Actions of FineCode: trust, a run with progress, findings, a diff, cancelling, and the runner.
import AxeBuilder from "@axe-core/playwright";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, picture, test } from "./fixtures";

const runner = join(import.meta.dirname, "lab/runner.py");
const action = (name: string) => [
  name,
  { source: `lab.${name}`, handlers: [{ name: `${name}-all`, source: `lab.handlers.${name}`, env: "tools" }] },
];
test.use({
  options: {
    config: {
      FineCode: {
        Runners: [{ Env: "tools", Command: ["python3", runner], Dialect: "documented" }],
        Projects: { shop: { action: Object.fromEntries(["lint", "format", "fix", "wait"].map(action)) } },
      },
    },
  },
});

test("actions run with progress, findings lead to lines, fixes are a diff, and a run is cancelled", async ({
  page,
  bench,
}) => {
  mkdirSync(join(bench.workspace, "shop"), { recursive: true });
  writeFileSync(
    join(bench.workspace, "shop/pyproject.toml"),
    '[project]\nname = "shop"\n[dependency-groups]\ndev_workspace = ["finecode"]\n',
  );
  await page.goto("/#/");
  await page.getByRole("link", { name: "FineCode" }).click();
  // What the folder brings runs after it was trusted.
  await expect(page.locator(".fc-list")).toContainText("waits for your trust");
  await page.getByRole("link", { name: "Look at what it brings" }).click();
  await page.getByRole("button", { name: "Trust what is shown" }).click();
  await page.getByRole("link", { name: "FineCode" }).click();
  const run = (name: string) => page.getByRole("region", { name: `Run of ${name}` }).first();
  const start = async (name: string) => {
    await page.locator(".fc-list").getByRole("button", { name }).click();
    await page.getByRole("button", { name: "Run", exact: true }).click();
  };

  await start("lint");
  await expect(run("lint")).toContainText("not clean");
  await expect(run("lint").getByRole("listitem").first()).toContainText("brew.py:2:10");
  await expect(run("lint").getByRole("listitem").last()).toContainText("<b>unused</b>");

  await expect(run("lint").locator(".file")).toHaveCount(0);

  await start("format");
  await expect(run("format").locator("tr.add")).toContainText("tea.pour(1)");

  // This one says what the file has to be; what it was before is in the file.
  writeFileSync(join(bench.workspace, "shop/brew.py"), "import tea\ntea.pour( 1 )\n");
  await page.locator(".fc-list").getByRole("button", { name: "fix" }).click();
  await page.getByLabel(/Payload/).fill('{"file_path": "shop/brew.py"}');
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(run("fix").locator("summary").first()).toContainText("shop/brew.py");
  await expect(run("fix").locator("tr.del")).toContainText("tea.pour( 1 )");
  await expect(run("fix").locator("tr.add")).toHaveCount(1);
  await picture(page, "finecode");
  // Runs do not share the height of the window.
  expect(await run("fix").evaluate((box) => box.scrollHeight - box.clientHeight)).toBe(0);

  await start("wait");
  await expect(run("wait")).toContainText("wait of the kettle: brew.py");
  await expect(run("wait").getByRole("progressbar")).toHaveAttribute("value", "50");
  // It goes on while another part of the page is shown.
  await page.getByRole("link", { name: "New Thread" }).click();
  await page.getByRole("link", { name: "FineCode" }).click();
  await run("wait").getByRole("button", { name: "Cancel" }).click();
  await expect(run("wait")).toContainText("cancelled");

  await page.getByLabel(/Payload/).fill("{");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("not JSON");

  const runners = page.getByRole("region", { name: "Runners" });
  await expect(runners).toContainText("tools shop runs");
  await runners.getByRole("button", { name: "Log" }).click();
  await expect(runners.locator("pre")).toContainText("the runner of the lab");
  await runners.getByRole("button", { name: "Stop" }).click();
  await expect(runners).toContainText(/does not run|has ended/);

  for (const width of [1280, 390]) {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 800 });
      expect(
        (await new AxeBuilder({ page }).analyze()).violations.map(({ id, nodes }) => [
          id,
          nodes.map(({ html }) => html),
        ]),
      ).toEqual([]);
    }
  }
});
