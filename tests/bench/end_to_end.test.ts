import { plainDecoder, wholeHeads } from "../../src/model/decoder/config.ts";
import assert from "node:assert/strict";
import { referenceLogProbs } from "../../bench/end_to_end/reference_decoder.ts";
import { measure } from "../../bench/measure.ts";
import { type BenchTask, listTasks } from "../../bench/shapes.ts";
import { onEveryGpu } from "../kernels/harness.ts";

const rates = { gflops: 100, gbps: 10, driverCopyGbps: 20 };

/** The task of that name with few tokens and layers. */
function tinyTask(name: string, size: Record<string, number>): BenchTask {
  const [task] = listTasks(name);
  const { model } = task.shape;
  assert.ok(model);
  return { ...task, shape: { ...task.shape, size, model: { ...model, layers: 2 } } };
}

const tasks = [
  { task: tinyTask("training_step", { sequences: 3, tokens: 9 }), tokens: 27 },
  { task: tinyTask("rollout", { sequences: 3, promptTokens: 5, newTokens: 20 }), tokens: 60 },
];

for (const { task, tokens } of tasks) {
  onEveryGpu(`${task.name} is right and counts its tokens`, async (gpu) => {
    const lines: string[] = [];
    const measured = await measure(gpu, task, rates, 0.01, (line) => lines.push(line));
    assert.deepEqual(lines, []);
    assert.ok(measured.error <= 1);
    assert.equal(measured.unit, "tokens_per_second");
    assert.equal(measured.share, null);
    assert.ok(Math.abs(measured.rate * measured.milliseconds / 1000 - tokens) < 1e-9 * tokens);
  });
}

Deno.test("the reference decoder gives a distribution that sees the past", () => {
  const shapes = {
    "model.embed_tokens": [8, 4],
    "model.layers.0.input_layernorm": [4],
    "model.layers.0.self_attn.q_proj": [4, 4],
    "model.layers.0.self_attn.k_proj": [2, 4],
    "model.layers.0.self_attn.v_proj": [2, 4],
    "model.layers.0.self_attn.o_proj": [4, 4],
    "model.layers.0.post_attention_layernorm": [4],
    "model.layers.0.mlp.gate_proj": [6, 4],
    "model.layers.0.mlp.up_proj": [6, 4],
    "model.layers.0.mlp.down_proj": [4, 6],
    "model.norm": [4],
  };
  const weights = Object.fromEntries(
    Object.entries(shapes).map(([name, shape], n) => {
      const length = shape.reduce((a, b) => a * b);
      return [`${name}.weight`, Float32Array.from({ length }, (_, i) => Math.sin(7 * n + i + 1))];
    }),
  );
  const config = {
    architecture: "llama",
    vocabularySize: 8,
    hiddenSize: 4,
    intermediateSize: 6,
    layers: 1,
    heads: 2,
    kvHeads: 1,
    headDim: 2,
    normEpsilon: 1e-6,
    kinds: wholeHeads(2, 10000),
    tiedEmbeddings: true,
    ...plainDecoder,
    maxPositions: 8,
  } as const;
  const logProbs = (...tokens: number[]) =>
    referenceLogProbs(config, weights, Uint32Array.from(tokens));
  const total = Array.from({ length: 8 }, (_, last) => Math.exp(logProbs(3, 1, 4, last)[2]))
    .reduce((a, b) => a + b);
  assert.ok(Math.abs(total - 1) < 1e-12);
  assert.deepEqual([...logProbs(3, 1, 4, 1, 5)].slice(0, 3), [...logProbs(3, 1, 4, 1)]);
  assert.ok(Math.abs(logProbs(3, 1, 4, 1)[2] - logProbs(5, 1, 4, 1)[2]) > 1e-6);
});
