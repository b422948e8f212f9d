import { Chatparse } from "./chatparse.js";

export * from "./chatparse.js";

/**
 * Loads an instance of the library.
 * @param {BufferSource | WebAssembly.Module | Response} [wasm] the module; by default `chatparse.wasm` of the package, beside this file
 */
export async function load(wasm) {
  wasm ??= await fetch(new URL("../chatparse.wasm", import.meta.url));
  if (wasm instanceof Response) {
    if (!wasm.ok) throw new Error(`${wasm.url}: ${wasm.status} ${wasm.statusText}`);
    wasm = await wasm.arrayBuffer();
  }
  const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
  return new Chatparse(await WebAssembly.instantiate(module));
}
