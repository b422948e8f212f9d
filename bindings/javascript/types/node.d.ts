import { Chatparse } from "./chatparse.js";
export * from "./chatparse.js";
/**
 * Loads an instance of the library.
 * @param {BufferSource | WebAssembly.Module} [wasm] the module; by default the package's `chatparse.wasm`
 */
export declare function load(wasm?: BufferSource | WebAssembly.Module): Promise<Chatparse>;
