import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "../src/browser.js";
import { needsModule } from "./support.js";

const HERE = fileURLToPath(new URL("..", import.meta.url));

const README = readFileSync(join(HERE, "README.md"), "utf8");
const [, PROGRAM = ""] = README.match(/```js\n([^]*?)```/) ?? [];

/**
 * Runs a test in a folder of its own, where the packed package is installed.
 * @param {(folder: string) => void} run
 */
function installed(run) {
  const folder = mkdtempSync(join(tmpdir(), "chatparse-"));
  try {
    const npm = (/** @type {string[]} */ ...args) => execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const tarball = npm("pack", HERE, "--silent").trim();
    writeFileSync(join(folder, "package.json"), '{"type": "module", "private": true}');
    npm("install", `./${tarball}`, "--offline", "--no-audit", "--no-fund");
    run(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("the packed package installs in a fresh folder, and the README's program runs", needsModule, () => installed((folder) => {
  const [, prints] = README.match(/```console\n(?:\$ .*\n)+([^]+?)```/) ?? [];
  writeFileSync(join(folder, "program.js"), PROGRAM);
  assert.equal(execFileSync(process.execPath, ["program.js"], { cwd: folder, encoding: "utf8" }), prints);
}));

const TSC = join(HERE, "node_modules/.bin/tsc");
const needsTypeScript = existsSync(TSC) ? {} : { skip: "no TypeScript: npm install" };

test("TypeScript takes the packed package's types, in its strictest", needsTypeScript, () => installed((folder) => {
  const compiled = (/** @type {string} */ program) => {
    writeFileSync(join(folder, "program.ts"), program);
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "program.ts"];
    return spawnSync(TSC, options, { cwd: folder, encoding: "utf8" }).stdout;
  };
  const typed = `import type { Delta, DeltaKind, Status, Tree } from "chatparse";
    const kinds: DeltaKind[] = ["content", "call_withdrawn"];
    const shown = ({ kind, text }: Delta): string => (kinds.includes(kind) ? text : "");
    const names: [Tree["outcome"], Status] = ["matched", "complete"];
    console.log(shown, names);`;
  assert.equal(compiled(`${PROGRAM}\n${typed}`), "");
  assert.match(compiled(`${PROGRAM}\nconst reader: number = template.reader;`), /TS2322/);
}));

test("browsers load the module from bytes, from a response, or compiled", needsModule, async () => {
  const bytes = readFileSync(join(HERE, "chatparse.wasm"));
  const module = await WebAssembly.compile(bytes);
  for (const given of [bytes, new Response(bytes), module]) assert.equal((await load(given)).builtin("chatml").reader.length > 0, true);
  await assert.rejects(load(new Response("", { status: 404 })), /404/);
  await assert.rejects(load(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)), { kind: "argument" });
});
