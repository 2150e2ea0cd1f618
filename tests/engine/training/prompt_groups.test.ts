import assert from "node:assert/strict";
import { promptedSequence } from "../../../src/engine/training/sequence.ts";
import {
  groupByPrompt,
  predictingRows,
  promptGroupTokens,
  promptPrefixGroup,
  runStarts,
} from "../../../src/engine/training/prompt_groups.ts";

const sample = (prompt: number[], response: number[]) =>
  promptedSequence(Uint32Array.from(prompt), Uint32Array.from(response));
const samples = [
  sample([1, 2, 3], [7]),
  sample([1, 2, 3], [8, 9]),
  sample([1, 2], [7, 7]),
  sample([1, 2, 3], [5]),
];

Deno.test("neighbours with the same prompt are a group, others are not", () => {
  assert.deepEqual(groupByPrompt(samples, true), [[samples[0], samples[1]], [samples[2]], [
    samples[3],
  ]]);
  assert.deepEqual(groupByPrompt(samples, false), samples.map((one) => [one]));
  assert.deepEqual(groupByPrompt([], true), []);
  // All but the token that makes the first prediction is the same, and yet another prompt.
  const others = [sample([1, 2, 3], [7]), sample([1, 2, 4], [7])];
  assert.equal(groupByPrompt(others, true).length, 2);
  // Where every token is predicted from, nothing could be shared.
  const whole = { tokens: Uint32Array.of(1, 2), targets: Uint32Array.of(2, 3), first: 0 };
  assert.equal(groupByPrompt([whole, whole], true).length, 2);
});

Deno.test("a group's pack: the prompt but its last token once, then each response after that token", () => {
  const [pair, single] = groupByPrompt(samples, true);
  const plain = (group: typeof pair) => {
    const { prefix, continuations } = promptPrefixGroup(group);
    return [Array.from(prefix), continuations.map((tokens) => Array.from(tokens))];
  };
  assert.deepEqual(plain(pair), [[1, 2], [[3, 7], [3, 8, 9]]]);
  assert.deepEqual(plain(single), [[], [[1, 2, 7, 7]]]);
  assert.equal(promptGroupTokens(pair), 7);
  assert.equal(promptGroupTokens(single), 4);
});

Deno.test("the rows that predict, and what they predict", () => {
  // Rows: 0 1 | 2 3 | 4 5 6 (the pair above), 7 8 9 10 (the single one)
  const { rows, targets } = predictingRows(samples.slice(0, 3), [4, 7, 11]);
  assert.deepEqual(Array.from(rows), [2, 4, 5, 8, 9]);
  assert.deepEqual(Array.from(targets), [7, 8, 9, 7, 7]);
});

Deno.test("runs begin with each prompt and after it, with the same cuts when a group loses sequences", () => {
  const starts = (groups: readonly (readonly (typeof samples)[number][])[]) => {
    const ends: number[] = [];
    let at = 0;
    for (const group of groups) {
      const { prefix, continuations } = promptPrefixGroup(group);
      at += prefix.length;
      for (const { length } of continuations) ends.push(at += length);
    }
    return runStarts(groups, ends);
  };
  const [pair, single] = groupByPrompt(samples, true);
  // 1 2 | 3 7 | 3 8 9 || 1 | 2 7 7
  assert.deepEqual(starts([pair, single]), [0, 2, 4, 7, 8]);
  // 1 2 | 3 8 9 || 1 | 2 7 7
  assert.deepEqual(starts([[pair[1]], single]), [0, 2, 5, 6]);
});
