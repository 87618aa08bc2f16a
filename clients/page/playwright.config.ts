import { defineConfig } from "@playwright/test";
import { existsSync } from "node:fs";

const found = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) =>
  existsSync(path),
);

export default defineConfig({
  testDir: "tests",
  timeout: 40_000,
  expect: { timeout: 8_000 },
  // A story waits more than it computes. Each worker has a server of its own, and plays whole files.
  workers: 2,
  reporter: "list",
  use: {
    viewport: { width: 1280, height: 800 },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? found,
      // A page of `PAGE_DIST` comes from no address, so that the browser would ask before it connects to this machine.
      args: ["--no-sandbox", ...(process.env.PAGE_DIST ? ["--disable-features=LocalNetworkAccessChecks"] : [])],
    },
  },
});
