import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "tests",
  timeout: 40_000,
  expect: { timeout: 8_000 },
  workers: 1,
  reporter: "list",
  use: {
    viewport: { width: 1280, height: 800 },
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
  },
});
