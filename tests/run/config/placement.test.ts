import assert from "node:assert/strict";
import { tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { placementOf, withShards } from "../../../src/run/config/placement.ts";

const config = (changes: object = {}) =>
  tangoConfigSchema.parse({
    generator: { model: "g" },
    verifier: { model: "v" },
    reduction: { shards: 4 },
    ...changes,
  });

const placed = (generator: unknown, verifier: unknown, size: number, changes: object = {}) =>
  placementOf(config({ placement: { generator, verifier }, ...changes }), size);

Deno.test("placement: every rank holds both, or each what it is named for", () => {
  assert.deepEqual(placementOf(config(), 3), { generator: [0, 1, 2], verifier: [0, 1, 2] });
  assert.deepEqual(placed("0-1", "2-3", 4), { generator: [0, 1], verifier: [2, 3] });
  assert.deepEqual(placed("3,0-1", "2", 4), { generator: [0, 1, 3], verifier: [2] });
  // A single rank is a number in YAML.
  assert.deepEqual(placed(1, 0, 2), { generator: [1], verifier: [0] });
  assert.deepEqual(placed("0-1", "1,0", 2), { generator: [0, 1], verifier: [0, 1] });
});

Deno.test("placement: only ranks that train need a shard of the batch each", () => {
  const few = { reduction: { shards: 2 } };
  assert.throws(
    () => placementOf(config(few), 4),
    // The second advice is none for a run that is resumed.
    /4 ranks train the generator and .* 2 shards.* Start at most 2 ranks for it, or a new run with --set reduction\.shards=4/,
  );
  assert.throws(() => placed("0", "1-3", 4, few), /3 ranks train the verifier/);
  assert.deepEqual(placed("0-1", "2-3", 4, few).verifier, [2, 3]);
  const frozen = { ...few, verifier: { model: "v", trained: false } };
  assert.deepEqual(placed("0", "1-3", 4, frozen).verifier, [1, 2, 3]);
});

Deno.test("placement: without shards, one for each rank that trains the same model", () => {
  const shardsOf = (changes: object, size: number) =>
    withShards(config({ reduction: {}, ...changes }), size).reduction.shards;
  const split = { placement: { generator: "0-2", verifier: "3" } };
  assert.equal(shardsOf({}, 1), 1);
  assert.equal(shardsOf({}, 4), 4);
  assert.equal(shardsOf(split, 4), 3);
  assert.equal(shardsOf({ placement: { generator: "0", verifier: "1-3" } }, 4), 3);
  const frozen = { model: "v", trained: false };
  assert.equal(shardsOf({ placement: { generator: 0, verifier: "1-3" }, verifier: frozen }, 4), 1);
  assert.equal(shardsOf({ verifier: null }, 2), 2);
  // Those that the configuration asks for stay.
  assert.equal(shardsOf({ reduction: { shards: 8 } }, 4), 8);
  assert.throws(() => shardsOf(split, 3), /there is no rank 3/);
  const small = { rollout: { batch_size: 4, group_size: 8 }, loss: { mini_batches: 2 } };
  assert.throws(() => shardsOf(small, 3), /3 ranks train the generator and .* cut into 2 shards,/);
  const mostJudge = { placement: { generator: 0, verifier: "1-4" } };
  assert.equal(shardsOf({ ...small, ...mostJudge }, 5), 4);
});

Deno.test("placement: what is no list of ranks, or does not fit together, is refused", () => {
  assert.throws(() => config({ placement: { generator: "all", verifier: "0" } }), /ranks such as/);
  assert.throws(() => config({ placement: { generator: 0.5, verifier: "0" } }), /ranks such as/);
  assert.throws(() => placed("1-0", "2", 3), /placement\.generator: expected ranks such as/);
  assert.throws(() => placed("0,0", "1", 2), /each once/);
  assert.throws(() => placed("0", "1-4", 3), /there is no rank 3; there are 3, counted from 0/);
  assert.throws(() => placed("0", "9-8,1", 3), /there is no rank 9/);
  // So many would not fit into a list.
  assert.throws(() => placed("0", "1-99999999999", 3), /there is no rank 3/);
  assert.throws(() => placed("0", "1", 3), /of 3 ranks, 2 would hold nothing/);
  assert.throws(() => placed("0-1", "1-2", 3), /rank 1 is named for both policies/);
  assert.throws(() => placed("0", "1", 2, { verifier: null }), /no verifier to place/);
});
