import { readFile } from "node:fs/promises";
import { Chatparse } from "./chatparse.js";

export * from "./chatparse.js";

/**
 * Loads an instance of the library.
 * @param {BufferSource | WebAssembly.Module} [wasm] the module; by default the package's `chatparse.wasm`
 */
export async function load(wasm) {
  wasm ??= await readFile(new URL("../chatparse.wasm", import.meta.url));
  const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
  return new Chatparse(await WebAssembly.instantiate(module));
}
