import assert from "node:assert/strict";
import fc from "fast-check";
import {
  COLOURS,
  EMPTY_FORM,
  FILTERS,
  KINDS,
  readState,
  SCREENS,
  SORTS,
  TOKENS,
  VIEWS,
  writeState,
} from "../../../src/server/page/url_state.ts";

const DEFAULTS = readState("");
const keysOf = <Key extends string>(words: Record<Key, string>) => Object.keys(words) as Key[];

Deno.test("page's address: what is written is read again, whatever is in it", () => {
  const step = fc.option(fc.nat({ max: 1e6 }), { nil: null });
  const state = fc.record({
    screen: fc.constantFrom(...keysOf(SCREENS)),
    view: fc.constantFrom(...keysOf(VIEWS)),
    runs: fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 4 }),
    smoothing: fc.integer({ min: 1, max: 101 }),
    from: step,
    to: step,
    filter: fc.constantFrom(...keysOf(FILTERS)),
    step,
    group: fc.string(),
    page: fc.integer({ min: 1, max: 1000 }),
    colour: fc.constantFrom(...keysOf(COLOURS)),
    tokens: fc.constantFrom(...keysOf(TOKENS)),
    asked: fc.string(),
    set: fc.string(),
    file: fc.string(),
    bench: fc.string(),
    earlier: fc.string(),
    wanted: fc.string(),
    tag: fc.string(),
    state: fc.constantFrom("", "running", "failed", "lost"),
    sort: fc.constantFrom(...keysOf(SORTS)),
    more: fc.string({ unit: "grapheme" }),
  }, { noNullPrototype: true });
  const form = fc.record({
    kind: fc.constantFrom(...keysOf(KINDS)),
    preset: fc.string(),
    model: fc.string(),
    data: fc.json(),
    again: fc.string(),
    change: fc.json(),
  }, { noNullPrototype: true });
  fc.assert(fc.property(state, form, (one, filled) => {
    // A form's parts are of no use elsewhere.
    const of = one.screen === "start" ? filled : EMPTY_FORM;
    assert.deepEqual(readState(writeState({ ...one, ...filled })), { ...one, ...of });
  }));
});

Deno.test("page's address: short where nothing is chosen, and nonsense is the default", () => {
  assert.equal(writeState({ ...DEFAULTS, runs: [] }), "/");
  assert.equal(
    writeState({ ...DEFAULTS, runs: ["a", "b c"], view: "samples" }),
    "?run=a&run=b+c&view=samples",
  );
  assert.deepEqual(readState("?screen=admin&view=&smoothing=-3&from=x&page=0&filter=%00"), {
    ...DEFAULTS,
    runs: [],
  });
  assert.deepEqual(readState("?run=a&run=a&run=b&run=c&run=d&run=e").runs, ["a", "b", "c", "d"]);
});
