/** The walks of a pass, made by a machine whose states are texts: what a state holds is what it was made of. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Part,
  prefillWalks,
  type WalkedPrefill,
} from "../../../src/engine/sampling/prefill_walks.ts";

/** Lengths at which beginnings part, some of them too short to be shared. */
const lengths = fc.constantFrom(0, 1, 3, 15, 16, 17, 40, 100);

/** A sequence as a way through a tree of texts: at each fork one of two tokens, and then so many of a kind. */
const sequence = fc.record({
  forks: fc.array(fc.tuple(fc.nat(1), lengths), { minLength: 1, maxLength: 4 }),
  /** How much of it need not be computed, in sixths. */
  cached: fc.constantFrom(0, 1, 3, 5, 6, 6, 6),
});

function passOf(
  sequences: readonly { forks: [number, number][]; cached: number }[],
  begun: number,
): WalkedPrefill[] {
  return sequences.map(({ forks, cached }, i) => {
    const tokens = forks.flatMap(([kind, count], fork) => [
      2 * fork + kind,
      ...Array.from({ length: count }, (_, n) => 100 * fork + n),
    ]);
    const end = tokens.length - 1;
    // A pass before has begun the first one.
    const own = i === 0 ? Math.floor(end * begun / 6) : 0;
    const first = i === 0 && own > 0 ? own : Math.floor(end * cached / 6);
    // Any rows but those in order.
    const stateRow = (i * 11 + 3) % sequences.length;
    return { sequence: { tokens, stateRow }, first, end, begun: own };
  });
}

interface Walked {
  readonly states: ReadonlyMap<number, string>;
  readonly outputs: ReadonlyMap<number, string>;
  readonly rows: number;
}

/** Walks as the kernel does, all of a stretch at once. */
function walk(pass: readonly WalkedPrefill[], stretches: readonly Part[][], most: number): Walked {
  const states = new Map<number, string>(), outputs = new Map<number, string>();
  for (const { sequence: { tokens, stateRow }, begun } of pass) {
    if (begun > 0) states.set(stateRow, tokens.slice(0, begun).join());
  }
  let rows = 0;
  for (const parts of stretches) {
    const left = new Map<number, string>();
    let row = 0;
    for (const { place, begin, end, walk } of parts) {
      const { sequence: { tokens } } = pass[place];
      assert.equal(walk.row, row);
      assert.equal(walk.count, end - begin);
      row += walk.count;
      let text = walk.start === null ? "" : states.get(walk.start) ?? assert.fail("no state");
      for (let t = 0; t < walk.count; t++) {
        text = [...text ? [text] : [], tokens[begin + t]].join();
        if (t < walk.skipped) continue;
        const at = walk.outputRow + t - walk.skipped;
        assert.ok(!outputs.has(at), `row ${at} of the output is written twice`);
        outputs.set(at, text);
      }
      assert.ok(walk.end !== null && !left.has(walk.end), "a state is left twice");
      left.set(walk.end, text);
    }
    for (const { walk: { start, end } } of parts) {
      const isRead = parts.some((other) => other.walk.start === end && other.walk.end !== end);
      assert.ok(!isRead, `state ${end} is read and left at once, from ${start}`);
    }
    assert.ok(row <= most);
    rows += row;
    for (const [state, text] of left) states.set(state, text);
  }
  return { states, outputs, rows };
}

Deno.test("prefill walks: each state is made of its sequence's tokens, and each output once", () => {
  fc.assert(
    fc.property(
      fc.array(sequence, { minLength: 1, maxLength: 9 }),
      fc.constantFrom(0, 0, 2, 5),
      fc.constantFrom(1, 30, 8192),
      (sequences, begun, most) => {
        const pass = passOf(sequences, begun);
        const { states, outputs, rows } = walk(pass, prefillWalks(pass, most), most);
        let outputRow = 0;
        for (const { sequence: { tokens, stateRow }, first, end } of pass) {
          assert.equal(states.get(stateRow), tokens.slice(0, end).join());
          for (let at = first; at < end; at++) {
            assert.equal(outputs.get(outputRow++), tokens.slice(0, at + 1).join());
          }
        }
        assert.equal(outputs.size, outputRow);
        const alone = pass.reduce((sum, { end, begun }) => sum + end - begun, 0);
        assert.ok(rows <= alone);
      },
    ),
    { numRuns: 3000 },
  );
});

/** Tokens `from`, `from` + 1, … */
const counted = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);

const asked = (tokens: number[], first: number, stateRow: number): WalkedPrefill => ({
  ...{ sequence: { tokens, stateRow }, first, end: tokens.length - 1, begun: 0 },
});

Deno.test("prefill walks: eight responses to a prompt walk it once, and copy its state", () => {
  const prompt = counted(0, 2001);
  const pass = counted(0, 8).map((i) => asked(prompt, i === 0 ? 0 : 2000, i));
  const stretches = prefillWalks(pass, 8192);
  assert.deepEqual(stretches.map((parts) => parts.map(({ walk }) => walk.count)), [
    [2000],
    Array(7).fill(0),
  ]);
  assert.deepEqual(stretches[1].map(({ walk: { start, end } }) => [start, end]), [
    ...counted(1, 7).map((i) => [0, i]),
  ]);
});

Deno.test("prefill walks: prompts that begin alike walk that once, and each its own end", () => {
  const ends = [500, 700, 900].map((first) => [...counted(0, 1000), ...counted(10 * first, first)]);
  const pass = ends.flatMap((tokens, i) =>
    counted(0, 4).map((n) => asked(tokens, n > 0 ? tokens.length - 1 : i > 0 ? 1000 : 0, 4 * i + n))
  );
  const { rows } = walk(pass, prefillWalks(pass, 8192), 8192);
  assert.equal(rows, 1000 + 499 + 699 + 899);
});

Deno.test("prefill walks: what must be computed for each is walked for each", () => {
  const prompt = counted(0, 101);
  const pass = counted(0, 3).map((i) => asked(prompt, 0, i));
  const stretches = prefillWalks(pass, 8192);
  assert.deepEqual(stretches.map((parts) => parts.map(({ walk }) => walk.count)), [
    [100, 100, 100],
  ]);
});

Deno.test("prefill walks: what a pass before has walked is not walked again", () => {
  const prompt = counted(0, 10_001);
  const pass = counted(0, 3).map((i) => ({
    ...asked(prompt, i === 0 ? 8192 : 10_000, i),
    begun: i === 0 ? 8192 : 0,
  }));
  const { rows } = walk(pass, prefillWalks(pass, 8192), 8192);
  assert.equal(rows, 10_000 - 8192);
});
