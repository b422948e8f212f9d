/// <reference lib="esnext.disposable" preserve="true" />
import { ChatError } from "./error.js";

/** @import { Wasm } from "./wasm.js" */

/** @type {FinalizationRegistry<{ wasm: Wasm, free: string, pointer: number }>} */
const forgotten = new FinalizationRegistry(({ wasm, free, pointer }) => {
  // After a trap there is nothing to give back to.
  if (!wasm.trapped) wasm.invoke(free, [pointer]);
});

/**
 * An object of the library. It is freed some time after nobody refers to it any more; `free`, or `using`, does it at once, which
 * keeps the memory small where many are made. No object needs another to stay alive.
 */
export class Handle {
  /**
   * @internal
   * @type {Wasm}
   */
  wasm;
  #pointer;
  #free;

  /**
   * Objects are made by the functions of others.
   * @internal
   * @param {Wasm} wasm
   * @param {number} pointer
   * @param {string} free the function that frees it
   */
  constructor(wasm, pointer, free) {
    this.wasm = wasm;
    this.#pointer = pointer;
    this.#free = free;
    forgotten.register(this, { wasm, free, pointer }, this);
  }

  /**
   * The address of the object in the module.
   * @internal
   */
  get pointer() {
    if (this.#pointer === 0) throw new ChatError("argument", `this ${this.constructor.name} has been freed`);
    return this.#pointer;
  }

  /** Frees the object. It is of no use afterwards; freeing it again does nothing. */
  free() {
    if (this.#pointer === 0) return;
    forgotten.unregister(this);
    const pointer = this.#pointer;
    this.#pointer = 0;
    if (!this.wasm.trapped) this.wasm.invoke(this.#free, [pointer]);
  }

  /** As `free`, for `using`. A platform without `Symbol.dispose` has no `using` either. */
  [Symbol.dispose]() {
    this.free();
  }
}
