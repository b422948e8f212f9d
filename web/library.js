/** @import { questions } from "./worker.js" */

/** @typedef {typeof questions} Questions */

/** Why there is no answer. `superseded`: nobody waits for it any more. `stopped`: it took too long, or somebody lost patience. */
export class Failure extends Error {
  /** @param {string} kind @param {string} message */
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

/** The library in a thread of its own, so that nothing it is given holds up the page. The thread answers one question after another. */
export class Library {
  #module;
  #script;
  #seconds;
  /** @type {Worker} */
  #worker;
  #last = 0;
  /** How often it was stopped. */
  stops = 0;
  /** @type {Map<number, { resolve: (value: any) => void, reject: (failure: Failure) => void }>} */
  #waiting = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {Promise<WebAssembly.Module>} module
   * @param {string} script the worker's, which begins while the module is compiled
   * @param {number} seconds how long an answer may take
   */
  constructor(module, script, seconds) {
    this.#module = module;
    this.#seconds = seconds;
    this.#script = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    this.#worker = this.#started();
  }

  /** Whether something is being worked on. */
  get busy() {
    return this.#waiting.size > 0;
  }

  /**
   * @template {keyof Questions} Name
   * @param {Name} name
   * @param {Parameters<Questions[Name]>} args
   * @returns {Promise<ReturnType<Questions[Name]>>}
   */
  call(name, ...args) {
    const number = ++this.#last;
    this.#worker.postMessage({ number, name, args });
    if (!this.busy) this.#watch();
    return new Promise((resolve, reject) => this.#waiting.set(number, { resolve, reject }));
  }

  /** Ends the thread and begins another. What was asked fails. @param {string} kind @param {string} message */
  stop(kind, message) {
    this.stops += 1;
    clearTimeout(this.#timer);
    this.#worker.terminate();
    this.#worker = this.#started();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new Failure(kind, message));
  }

  #started() {
    const worker = new Worker(this.#script);
    this.#module.then((module) => worker.postMessage({ module }));
    worker.addEventListener("message", ({ data: { number, value, error } }) => {
      const asked = this.#waiting.get(number);
      this.#waiting.delete(number);
      clearTimeout(this.#timer);
      if (this.busy) this.#watch();
      if (error) asked?.reject(new Failure(error.kind, error.message));
      else asked?.resolve(value);
      // A defect of the library costs its instance.
      if (error?.kind === "internal") this.stop("internal", error.message);
    });
    return worker;
  }

  #watch() {
    const seconds = this.#seconds;
    this.#timer = setTimeout(() => this.stop("stopped", `stopped: this takes longer than ${seconds} seconds`), seconds * 1000);
  }
}
