import assert from "node:assert/strict";
import fc from "fast-check";
import {
  COLOURS,
  FILTERS,
  readState,
  SCREENS,
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
    preset: fc.string(),
    model: fc.string(),
    data: fc.string(),
    columns: fc.string(),
    asked: fc.string(),
    set: fc.string(),
    file: fc.string(),
    bench: fc.string(),
    earlier: fc.string(),
    more: fc.string({ unit: "grapheme" }),
  }, { noNullPrototype: true });
  fc.assert(fc.property(state, (one) => assert.deepEqual(readState(writeState(one)), one)));
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
