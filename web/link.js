// What the page shows, as the part of its address behind `#`: it is sent nowhere.

/** What was typed: a template of the library's by its name, or one's own. @typedef {{ builtin?: string, source?: string, bos?: string, eos?: string, request: string, output: string }} Shown */

/** A link may be anybody's: what it unpacks to is bounded. */
const MOST_LETTERS = 2_000_000;

/** @param {Shown} shown */
export async function packed(shown) {
  const stream = new Blob([JSON.stringify(shown)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** `undefined` for what is no such link. @param {string} text @returns {Promise<Shown | undefined>} */
export async function unpacked(text) {
  try {
    const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).pipeThrough(new TextDecoderStream()).getReader();
    let json = "";
    for (let piece; !(piece = await reader.read()).done && json.length <= MOST_LETTERS; ) json += piece.value;
    const shown = JSON.parse(json);
    return typeof shown.request === "string" && typeof shown.output === "string" ? shown : undefined;
  } catch {
    return undefined;
  }
}
