import assert from "node:assert/strict";
import { alone } from "../../../src/distributed/communicator.ts";
import { onEveryRank } from "../../../src/distributed/placed.ts";
import type { RunEvent } from "../../../src/run/events/run_event.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";
import { Divergence } from "../../../src/run/health/divergence.ts";
import { PolicyHealth } from "../../../src/run/health/policy_health.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { tinyModel } from "../../model/tiny_model.ts";
import type { Gpu } from "../../../src/gpu/gpu.ts";

/** A generator whose updates may be skipped twice, and what is told of it. */
function watched(gpu: Gpu) {
  const model = tinyModel(gpu);
  const events = new RunEvents();
  const told: string[] = [];
  events.listen((event: RunEvent) => event.type === "warning" && told.push(event.message));
  const engine = onEveryRank(alone, { model });
  const generator = { engine, optimizerKey: "generator.optimizer", maximumSkipped: 3 };
  return { model, told, health: new PolicyHealth({ generator }, events) };
}

const step = (...applied: boolean[]) =>
  ({ learner: "generator", policy: "generator", applied, what: "log-probs are" }) as const;

onEveryGpu("policy health: skipped updates count in a row, over steps and within one", (gpu) => {
  const { model, health, told } = watched(gpu);
  health.count(1, step(true, false));
  health.count(2, step(false, true, false, false));
  assert.deepEqual(health.skippedInARow, { generator: 2 });
  assert.match(
    told[1],
    /^step 2: the generator's 3 of 4 updates were skipped because the generator/,
  );
  assert.throws(() => health.count(3, step(false)), ({ message, lastUpdate }: Divergence) => {
    assert.match(
      message,
      /^Step 3 ends the run: .* log-probs are not finite, 3 in a row by now\. .*lower generator\.optimizer\.learning_rate\.$/,
    );
    return lastUpdate === 2;
  });
  health.skippedInARow = { generator: 1 };
  health.count(4, step(false));
  // Three in a row end the run though the last took effect.
  assert.throws(() => health.count(5, step(false, true)), Divergence);
  model.release();
  return Promise.resolve();
});

onEveryGpu("policy health: weights and log-probs that are not finite are not kept", async (gpu) => {
  const { model, health, told } = watched(gpu);
  health.remember("generator", { prompt: Uint32Array.of(1, 5), response: Uint32Array.of(6, 7) });
  const weights = model.trainable?.weights ?? [];
  const [first] = await gpu.readAll(weights) as Float32Array[];
  const changed = (change: (value: number, i: number) => number) =>
    gpu.write(weights[0], first.map(change));
  assert.ok(await health.maySave(1));
  changed((value, i) => i === first.length - 1 ? NaN : value);
  assert.ok(!await health.maySave(2));
  // Each is finite, their squares' sum is not.
  changed((value) => value < 0 ? -1e19 : 1e19);
  assert.ok(!await health.maySave(3));
  await assert.rejects(health.requireSound(3), Divergence);
  // The norm is finite, what is computed with them is not.
  changed((value) => value < 0 ? -1e17 : 1e17);
  assert.ok(!await health.maySave(4));
  gpu.write(weights[0], first);
  assert.ok(await health.maySave(5));
  assert.equal(told.length, 3);
  model.release();
});
