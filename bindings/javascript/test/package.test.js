import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "../src/browser.js";
import { needsModule } from "./support.js";

const HERE = fileURLToPath(new URL("..", import.meta.url));

test("the packed package installs in a fresh folder, and the README's program runs", needsModule, () => {
  const readme = readFileSync(join(HERE, "README.md"), "utf8");
  const [, program] = readme.match(/```js\n([^]*?)```/) ?? [];
  const [, prints] = readme.match(/```console\n(?:\$ .*\n)+([^]+?)```/) ?? [];
  const folder = mkdtempSync(join(tmpdir(), "chatparse-"));
  try {
    const npm = (/** @type {string[]} */ ...args) => execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const tarball = npm("pack", HERE, "--silent").trim();
    writeFileSync(join(folder, "package.json"), '{"type": "module", "private": true}');
    npm("install", `./${tarball}`, "--offline", "--no-audit", "--no-fund");
    writeFileSync(join(folder, "program.js"), program);
    const said = execFileSync(process.execPath, ["program.js"], { cwd: folder, encoding: "utf8" });
    assert.equal(said, prints);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("browsers load the module from bytes, from a response, or compiled", needsModule, async () => {
  const bytes = readFileSync(join(HERE, "chatparse.wasm"));
  const module = await WebAssembly.compile(bytes);
  for (const given of [bytes, new Response(bytes), module]) assert.equal((await load(given)).builtin("chatml").reader.length > 0, true);
  await assert.rejects(load(new Response("", { status: 404 })), /404/);
  await assert.rejects(load(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)), { kind: "argument" });
});
