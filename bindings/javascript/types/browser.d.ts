import { Chatparse } from "./chatparse.js";
export * from "./chatparse.js";
/**
 * Loads an instance of the library.
 * @param {BufferSource | WebAssembly.Module | Response} [wasm] the module; by default `chatparse.wasm` of the package, beside this file
 */
export declare function load(wasm?: BufferSource | WebAssembly.Module | Response): Promise<Chatparse>;
