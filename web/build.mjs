// Puts the page together: `node web/build.mjs [OUT]` writes one file, by default target/web/index.html, with the module and all scripts
// inside. It works from a server and from a disk, and asks for nothing else. The JavaScript package's module is built if it is not there.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const read = (path) => readFileSync(at(path), "utf8");
const PACKAGE = "../bindings/javascript/";

// A page on a disk may import no modules, so all become one script: what they import from each other stands in front.
function bundled(path, scripts = new Map()) {
  if (scripts.has(path)) return "";
  scripts.set(path, "");
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  const text = read(path).replace(/^(?:import|export) [^;]*? from "(\.[^"]+)";\n/gm, (_, other) => {
    const segments = `${folder}${other}`.split("/").filter((segment) => segment !== ".");
    for (let i; (i = segments.findIndex((segment, k) => segment === ".." && k > 0 && segments[k - 1] !== "..")) > 0; ) segments.splice(i - 1, 2);
    bundled(segments.join("/"), scripts);
    return "";
  });
  // Behind those that it imports.
  scripts.delete(path);
  scripts.set(path, text.replace(/^export /gm, ""));
  return `\n${[...scripts.values()].join("\n")}\n`;
}

const module = at(`${PACKAGE}chatparse.wasm`);
if (!existsSync(module)) {
  const { status } = spawnSync(process.execPath, [at(`${PACKAGE}build.mjs`)], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
const wasm = gzipSync(readFileSync(module), { level: 9 }).toString("base64");
const script = bundled("page.js");
const worker = bundled("worker.js");
const style = `\n${read("style.css")}\n`;
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = `default-src 'none'; script-src ${hash(script)} 'wasm-unsafe-eval'; worker-src blob:; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`;

const { version } = JSON.parse(readFileSync(at(`${PACKAGE}package.json`), "utf8"));
const page = read("page.html").replace(/\s\{\{(style|script|worker)\}\}\s|\{\{(policy|wasm|version)\}\}/g, (_, block, inline) => ({ style, script, worker, policy, wasm, version })[block ?? inline]);
const out = process.argv[2] ?? at("../target/web/index.html");
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, page);
console.log(`${out}: ${page.length} bytes`);
