// Makes what the package needs besides its source: `node build.mjs [WASM]`. Without a module, .ci/wasm.sh builds one. Ends with 77
// where that cannot be. With binaryen (npm install), the module has only the functions that the package calls, and is smaller.
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const WASM = at("chatparse.wasm");
/** What compilers take for granted in WebAssembly, and all engines have. */
const FEATURES = ["bulk-memory", "bulk-memory-opt", "multivalue", "mutable-globals", "nontrapping-float-to-int", "reference-types", "sign-ext"];

let module = process.argv[2];
if (module === undefined) {
  const built = spawnSync(at("../../.ci/wasm.sh"), { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (built.status !== 0) process.exit(built.status ?? 1);
  module = resolve(at("../.."), built.stdout.trim());
}

if (existsSync(at("node_modules/binaryen"))) {
  const folder = mkdtempSync(join(tmpdir(), "chatparse-"));
  const [roots, smaller] = [join(folder, "roots.json"), join(folder, "smaller.wasm")];
  const run = (tool, ...args) => {
    const features = FEATURES.map((name) => `--enable-${name}`);
    execFileSync(process.execPath, [at(`node_modules/binaryen/bin/${tool}`), ...features, ...args], { stdio: ["ignore", "ignore", "inherit"] });
  };
  const source = readdirSync(at("src")).map((name) => readFileSync(at(`src/${name}`), "utf8")).join("");
  const called = new Set(["memory", ...source.match(/(?<=["`.])chat_\w+(?=["`(])/g)]);
  writeFileSync(roots, JSON.stringify([...called].map((name) => ({ name, export: name, root: true }))));
  run("wasm-metadce", module, `--graph-file=${roots}`, "-o", smaller);
  run("wasm-opt", "-Oz", smaller, "-o", WASM);
  rmSync(folder, { recursive: true });
} else {
  copyFileSync(module, WASM);
}
copyFileSync(at("../../LICENSE"), at("LICENSE"));
const wasm = readFileSync(WASM);
console.log(`chatparse.wasm: ${wasm.length} bytes, ${gzipSync(wasm, { level: 9 }).length} gzipped`);
