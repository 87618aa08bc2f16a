//! Runs axe on every part of the page, in both themes, wide and narrow.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import AxeBuilder from "@axe-core/playwright";
import { allow, ends, expect, fresh, test } from "./fixtures";

for (const scheme of ["light", "dark"] as const) {
  for (const width of [1280, 390]) {
    test(`axe finds nothing: ${scheme}, ${width} px`, async ({ page, bench }) => {
      test.setTimeout(90_000);
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      const clean = async () =>
        expect(
          (await new AxeBuilder({ page }).analyze()).violations.map(({ id, nodes }) => [
            id,
            nodes.map(({ html }) => html),
          ]),
        ).toEqual([]);
      execFileSync("git", ["init", "-q"], { cwd: bench.workspace });
      writeFileSync(join(bench.workspace, "README.md"), "# Tea\n\nSee `src/kettle.rs:3`.\n");
      await fresh(page, "run `make tea`");
      await expect(allow(page)).toBeVisible();
      await clean();
      await page.getByRole("button", { name: "Decline", exact: true }).click();
      await expect(ends(page)).toBeVisible();
      await clean();
      for (const place of [
        "",
        "waiting",
        "new",
        "changes",
        "terminal",
        "files/",
        "files/README.md",
        ...[
          "page",
          "devices",
          "workspace",
          "rules",
          "mcp",
          "skills",
          "schedules",
          "channels",
          "terminals",
          "trust",
          "checks",
          "server",
        ].map((name) => `settings/${name}`),
      ]) {
        await page.goto(`/#/${place}`);
        await expect(page.locator("h1:visible, nav:visible").first()).toBeVisible();
        await clean();
      }
      await page.goto("/#/terminal");
      await page.getByRole("button", { name: "New terminal" }).click();
      await expect(page.getByRole("textbox", { name: /^Terminal: / })).toBeFocused();
      await page.keyboard.type("printf '\\033[31mred \\033[97mwhite\\033[0m\\n'\n");
      await expect(page.locator(".xterm-rows")).toContainText("red white");
      await clean();
      await page.getByRole("button", { name: "Close", exact: true }).click();
    });
  }
}
