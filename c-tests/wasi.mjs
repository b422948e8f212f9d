// Runs a program for wasm32-wasip1: node wasi.mjs PROGRAM ARGUMENT... . It sees its arguments and the standard streams, no file.
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";

const wasi = new WASI({ version: "preview1", args: process.argv.slice(2) });
const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), wasi.getImportObject());
process.exit(wasi.start(instance));
