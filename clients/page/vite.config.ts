import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const library = fileURLToPath(new URL("../typescript/src/", import.meta.url));

// `BOBBIN_URL` is where a running server listens, for `npm run dev`.
const server = process.env.BOBBIN_URL ?? "http://127.0.0.1:9100";

/** Has xterm make its styles without inline styles, which the page's policy refuses: see `src/shells/styles.ts`. */
const xtermStyles: Plugin = {
  name: "xterm-styles",
  apply: "build",
  transform(code, id) {
    if (!id.endsWith("/@xterm/xterm/lib/xterm.mjs")) return;
    let changed = code;
    const replace = (found: RegExp, by: string, expected: number) => {
      const count = changed.match(found)?.length ?? 0;
      if (count !== expected)
        this.error(`xterm has ${count} times ${found} and not ${expected}: look at its styles again`);
      changed = changed.replace(found, by);
    };
    replace(/createElement\("style"\)/g, 'createElement("xterm-styles")', 3);
    replace(/\.setAttribute\("style",(`[^`]*`)\)/g, ".style.cssText=$1", 1);
    return { code: changed, map: null };
  },
};

export default defineConfig({
  plugins: [react(), xtermStyles],
  // The client library is bundled from its sources, so that it need not be built first.
  resolve: { alias: { "@bobbin/client": `${library}index.ts`, "#socket": `${library}socket-web.ts` } },
  build: {
    outDir: "../../crates/page/dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    license: { fileName: "THIRD-PARTY.txt" },
  },
  server: {
    host: "127.0.0.1",
    proxy: {
      "/ws": { target: server, ws: true, changeOrigin: true, rewriteWsOrigin: true },
      "/page": { target: server, changeOrigin: true },
    },
  },
});
