// Puts the page together: `node web/build.mjs [OUT]` writes one file, by default target/web/index.html, with the module and all scripts
// inside. It works from a server and from a disk, and asks for nothing else. The JavaScript package must be built.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const read = (path) => readFileSync(at(path), "utf8");
const PACKAGE = "../bindings/javascript/";

// A page on a disk may import no modules, so all become one script: what they import from each other stands in front.
const scripts = [];
function add(path) {
  if (scripts.some((script) => script.path === path)) return;
  const text = read(path);
  const script = { path, text: "" };
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  script.text = text.replace(/^(?:import|export) [^;]*? from "(\.[^"]+)";\n/gm, (_, other) => {
    const segments = `${folder}${other}`.split("/").filter((segment) => segment !== ".");
    for (let i; (i = segments.findIndex((segment, k) => segment === ".." && k > 0 && segments[k - 1] !== "..")) > 0; ) segments.splice(i - 1, 2);
    add(segments.join("/"));
    return "";
  });
  script.text = script.text.replace(/^export /gm, "");
  scripts.push(script);
}
add("page.js");

const wasm = gzipSync(readFileSync(at(`${PACKAGE}chatparse.wasm`)), { level: 9 }).toString("base64");
const script = `\n${scripts.map(({ text }) => text).join("\n")}\n`;
const style = `\n${read("style.css")}\n`;
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = `default-src 'none'; script-src ${hash(script)} 'wasm-unsafe-eval'; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`;

const page = read("page.html").replace(/\s\{\{(style|script)\}\}\s|\{\{(policy|wasm)\}\}/g, (_, block, inline) => ({ style, script, policy, wasm })[block ?? inline]);
const out = process.argv[2] ?? at("../target/web/index.html");
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, page);
console.log(`${out}: ${page.length} bytes`);
