import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const library = fileURLToPath(new URL("../typescript/src/", import.meta.url));

// `BOBBIN_URL` is where a running server listens, for `npm run dev`.
const server = process.env.BOBBIN_URL ?? "http://127.0.0.1:9100";

export default defineConfig({
  plugins: [react()],
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
