// Makes what the package needs besides its source: `node build.mjs [WASM]`. Without a module, .ci/wasm.sh builds one. Ends with 77
// where that cannot be.
import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

let module = process.argv[2];
if (module === undefined) {
  const built = spawnSync(at("../../.ci/wasm.sh"), { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (built.status !== 0) process.exit(built.status ?? 1);
  module = built.stdout.trim();
  if (!module.startsWith("/")) module = at(`../../${module}`);
}
copyFileSync(module, at("chatparse.wasm"));
copyFileSync(at("../../LICENSE"), at("LICENSE"));
const wasm = readFileSync(at("chatparse.wasm"));
console.log(`chatparse.wasm: ${wasm.length} bytes, ${gzipSync(wasm, { level: 9 }).length} gzipped`);
