// The page in headless Chromium, opened from the disk: `node --test web/page.test.js`, after web/build.mjs. PICTURES=FOLDER keeps
// screenshots.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const PAGE = at("../target/web/index.html");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const ARGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";
const PICTURES = process.env.PICTURES;

const missing = [[PAGE, "no page: web/build.mjs makes it"], [CHROMIUM, "no Chromium"]].find(([path]) => !existsSync(path));
let playwright;
try {
  playwright = createRequire(at("../bindings/javascript/package.json"))("playwright-core");
} catch {}
const skip = missing ? `there is ${missing[1]}` : !playwright && "there is no playwright-core: npm install in bindings/javascript";

let browser;
/** What the console said, and which pages were asked for. */
const said = [];
const asked = [];

before(async () => {
  if (!skip) browser = await playwright.chromium.launch({ executablePath: CHROMIUM, args: ARGS.split(" ") });
});
after(async () => browser?.close());

async function opened(options = {}, search = "", before = () => {}) {
  // Nothing plays by itself, unless a test asks for it.
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("request", (request) => asked.push(request.url()));
  await page.addInitScript(before);
  await page.goto(pathToFileURL(PAGE).href + search);
  await page.waitForSelector("#learnt[aria-busy=false]");
  return page;
}

async function picture(page, name) {
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}.png`, fullPage: true });
}

/** Puts a template in, and waits until it is learnt and proved; milliseconds until its layout showed. */
async function learnt(page, source) {
  await page.evaluate(() => delete document.documentElement.dataset.learnt);
  await page.fill("#source", source);
  await page.waitForFunction(() => document.documentElement.dataset.learnt);
  await page.waitForSelector("#learnt[aria-busy=false]");
  return Number(await page.evaluate(() => document.documentElement.dataset.learnt));
}

/** What a place says once it has settled. */
async function text(page, selector) {
  for (const place of ["message", "grammar"]) await page.waitForSelector(`#${place}[aria-busy=false]`, { state: "attached" });
  return page.locator(selector).innerText();
}

test("a built-in template is learnt, and its example read", { skip }, async () => {
  const page = await opened();
  assert.match(await text(page, "#facts"), /what was learnt \(turn\)[^]*(\d+) of \1 messages/);
  assert.match(await text(page, "#layout"), /<tool_call>/);
  assert.match(await text(page, "#prompt .message >> nth=1"), /Oslo/);
  assert.equal(await text(page, "#outcome"), "complete");
  assert.match(await text(page, "#message"), /reasoning[^]*look it up[^]*content[^]*One moment[^]*call 1: weather[^]*"city": ?"Oslo"/);
  // The output is whole, and each part of the message has its colour in it.
  const ink = await page.locator("#ink span").evaluateAll((spans) => spans.map((span) => [span.className, span.textContent]));
  assert.equal(ink.map(([, piece]) => piece).join(""), await page.inputValue("#output"));
  const inked = (name) => ink.filter(([field]) => field === name).map(([, piece]) => piece).join("");
  assert.match(inked("reasoning"), /look it up/);
  assert.equal(inked("tool_name"), "weather");
  assert.deepEqual(JSON.parse(inked("tool_arguments")), { city: "Oslo", days: 1 });
  assert.match(inked("markup"), /^<think>[^]*<tool_call>/);
  assert.equal(inked("lost"), "");
  assert.match(await text(page, "#grammar"), /root ::=/);
  assert.match(await text(page, "#starts"), /applies from "<tool_call>/);
  await page.selectOption("#dialect", "lark");
  assert.match(await text(page, "#grammar"), /start:/);
  await picture(page, "light");
  await page.close();
});

test("every built-in template can be picked", { skip }, async () => {
  const page = await opened();
  const names = await page.locator("#builtin option").evaluateAll((options) => options.map((option) => option.value));
  for (const name of names.slice(0, -1)) {
    await page.selectOption("#builtin", name);
    await page.waitForSelector("#learnt[aria-busy=false]");
    assert.notEqual(await text(page, "#prompt"), "", name);
    assert.notEqual(await text(page, "#message"), "", name);
    assert.ok(await page.locator("#template-error").isHidden(), name);
  }
  await page.close();
});

test("an output that is typed or played becomes a message as it comes", { skip }, async () => {
  const page = await opened();
  await page.locator("summary", { hasText: "Deltas" }).click();
  await page.fill("#output", "");
  for (const key of ["H", "i", " <tool"]) {
    await page.locator("#output").pressSequentially(key);
    // What is typed while the page reads comes as one piece.
    await text(page, "#deltas");
  }
  assert.match(await text(page, "#deltas"), /content\s*H\s*content\s*i[^]*<tool/);
  await page.fill("#output", 'Hi <tool_call>\n{"name": "nothing", "arguments": {"city": "');
  assert.match(await text(page, "#message"), /not complete, no tool of this name/);
  assert.equal(await text(page, "#outcome"), "recovered");
  await page.fill("#output", '<tool_call>\n{"name": "weather", "arguments": {"city": "Os');
  await page.uncheck("#ended");
  assert.match(await text(page, "#message"), /call 1: weather, not complete[^]*\{"city": "Os/);
  assert.equal(await text(page, "#outcome"), "partial");
  await page.fill("#output", '<img src=x onerror="document.title=1">&lt;');
  assert.match(await text(page, "#message"), /<img src=x onerror="document.title=1">&lt;/);
  await page.fill("#output", "It is raining in Oslo, and so it is in Bergen.");
  await page.check("#ended");
  await page.focus("#speed");
  await page.keyboard.press("ArrowRight");
  await page.focus("#play");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("play")?.textContent === "Play");
  assert.equal(await text(page, "#outcome"), "complete");
  assert.ok((await page.locator("#deltas li").count()) > 1);
  await page.close();
});

test("what is wrong is said beside the field", { skip }, async () => {
  const page = await opened();
  await page.fill("#source", "{% if %}");
  await page.waitForSelector("#template-error:not([hidden])");
  assert.match(await text(page, "#template-error"), /line 1/);
  for (const place of ["facts", "layout", "prompt", "grammar", "message"]) assert.equal((await text(page, `#${place}`)).trim(), "", place);
  await learnt(page, "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<a>{% endif %}");
  assert.ok(await page.locator("#template-error").isHidden());
  await page.locator("summary", { hasText: "Request" }).click();
  await page.fill("#request", '{"messages": 7}');
  await page.waitForSelector("#request-error:not([hidden])");
  assert.match(await text(page, "#request-error"), /messages/);
  await learnt(page, "hello");
  assert.match(await text(page, "#template-error"), /renders none of the \d+ messages; is it a chat template/);
  await learnt(page, "{{ raise_exception('not today') }}");
  assert.match(await text(page, "#template-error"), /refuses all \d+ messages; the first: [^]*not today/);
  await page.close();
});

test("it works by keyboard, on small screens, and in the dark", { skip }, async () => {
  const page = await opened({ viewport: { width: 390, height: 800 } });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `${wide} pixels`);
  await picture(page, "small");
  const order = [];
  for (let i = 0; i < 18; i++) {
    await page.keyboard.press("Tab");
    order.push(await page.evaluate(() => document.activeElement?.id || document.activeElement?.tagName));
  }
  const fields = ["builtin", "play", "speed", "ended", "share", "output", "bos", "eos", "source", "prompt"];
  assert.deepEqual(order.filter((id) => fields.includes(id)), fields);
  const unnamed = await page.evaluate(() =>
    [...document.querySelectorAll("input, select, textarea, button, [role=region]")]
      .filter((field) => !(field.labels?.length || field.getAttribute("aria-label") || field.textContent))
      .map((field) => field.id),
  );
  assert.deepEqual(unnamed, []);
  await page.close();
  const dark = await opened({ colorScheme: "dark" });
  assert.notEqual(await dark.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(247, 247, 245)");
  await picture(dark, "dark");
  await dark.close();
});

test("the page plays an output as it opens", { skip }, async () => {
  const page = await opened({ reducedMotion: "no-preference" });
  assert.equal(await page.innerText("#play"), "Stop");
  const times = await page.evaluate(() => [performance.getEntriesByName("first-contentful-paint")[0]?.startTime, performance.now()]);
  console.log(`first paint after ${Math.round(times[0])} ms, learnt and playing after less than ${Math.round(times[1])} ms`);
  assert.equal(await page.innerText("#outcome"), "writing …");
  assert.equal(await page.locator("#message .error").count(), 0);
  await picture(page, "playing");
  await page.waitForFunction(() => document.getElementById("play")?.textContent === "Play");
  assert.equal(await text(page, "#outcome"), "complete");
  await page.close();
});

test("a link shows what was shared, and another one is an error", { skip }, async () => {
  const page = await opened();
  await page.fill("#source", "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<a>{% endif %}");
  await page.waitForFunction(() => document.getElementById("prompt")?.textContent?.endsWith("<a>"));
  await page.fill("#output", "Shared: é ✓");
  await page.click("#share");
  await page.waitForFunction(() => location.hash.length > 1);
  const hash = new URL(page.url()).hash;
  await page.close();
  const other = await opened({}, hash);
  assert.equal(await other.inputValue("#output"), "Shared: é ✓");
  assert.match(await other.inputValue("#source"), /add_generation_prompt/);
  assert.match(await text(other, "#message"), /Shared: é ✓/);
  await other.close();
  const broken = await opened({}, `${hash.slice(0, 20)}!`);
  await broken.waitForFunction(() => document.getElementById("status")?.textContent?.startsWith("The link cannot be read"));
  await broken.close();
});

test("a large template is learnt", { skip: skip || (!existsSync(at("../../shared")) && "there is no ../shared") }, async () => {
  const files = ["templates", "templates-wild"].flatMap((folder) =>
    readdirSync(at(`../../shared/${folder}`), { recursive: true })
      .map((name) => at(`../../shared/${folder}/${name}`))
      .filter((path) => path.endsWith(".jinja")),
  );
  const [largest] = files.sort((a, b) => statSync(b).size - statSync(a).size);
  const page = await opened();
  const took = await learnt(page, readFileSync(largest, "utf8"));
  assert.match(await text(page, "#facts"), /\d+ of \d+ messages/);
  console.log(`${statSync(largest).size} bytes of template: its layout showed after ${took} ms`);
  await page.close();
});

const SLOW = "{# takes too long #}";

/** The library bounds what a template may take; a thread that never answers stands for one that takes long all the same. */
function slow() {
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...rest) {
    if (!message.args?.[0]?.source?.includes("takes too long")) post.call(this, message, ...rest);
  };
}

test("a template that takes too long does not hold up the page", { skip }, async () => {
  const page = await opened({}, "?seconds=3", slow);
  for (const stopped of ["by its time", "by hand", "by another template"]) {
    await page.fill("#source", SLOW);
    await page.waitForSelector("#learnt[aria-busy=true]");
    await page.waitForSelector("#cancel:not([hidden])");
    // While it is learnt, the page answers.
    await page.fill("#output", "typed");
    assert.equal(await page.inputValue("#output"), "typed");
    assert.equal(await page.getAttribute("#learnt", "aria-busy"), "true", stopped);
    if (stopped === "by its time") await picture(page, "busy");
    if (stopped === "by hand") await page.click("#cancel");
    if (stopped !== "by another template") {
      await page.waitForSelector("#learnt[aria-busy=false]");
      assert.match(await text(page, "#template-error"), stopped === "by hand" ? /^stopped$/ : /longer than 3 seconds/);
      assert.match(await text(page, "#status"), /cannot be used/);
      // The template before it is still read.
      await page.fill("#output", `Hello ${stopped}`);
      await page.waitForFunction((words) => document.getElementById("message")?.textContent?.includes(words), `Hello ${stopped}`);
    }
    await learnt(page, "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<a>{% endif %}");
    assert.ok(await page.locator("#template-error").isHidden(), stopped);
    assert.ok(await page.locator("#cancel").isHidden(), stopped);
    assert.match(await text(page, "#facts"), /\d+ of \d+ messages/);
  }
  await page.close();
});

test("nothing left the page, and the console is empty", { skip }, () => {
  assert.deepEqual(said, []);
  assert.deepEqual(asked.filter((url) => !/^(file|data|blob):/.test(url)), []);
});
