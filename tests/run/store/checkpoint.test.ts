import assert from "node:assert/strict";
import { join } from "node:path";
import { UserError } from "../../../src/base/user_error.ts";
import {
  type Checkpoint,
  latestCheckpoint,
  listCheckpoints,
  loadCheckpoint,
  saveCheckpoint,
  skippedCheckpoints,
} from "../../../src/run/store/checkpoint.ts";

function checkpoint(step: number): Checkpoint {
  return {
    step,
    arrays: {
      generator: {
        "model.norm.weight": Float32Array.of(0.1 * step, -0, NaN, Infinity, 1e-45),
        "optimizer.first_moment": Float32Array.of(step),
        "random_counter": Uint32Array.of(step, 4294967295),
      },
      verifier: { "model.norm.weight": Float32Array.of(2) },
    },
    state: { position: { globalSteps: step }, classCounts: null, mean: 0.1 + 0.2 },
  };
}

function withFolder(body: (folder: string) => void): void {
  const folder = Deno.makeTempDirSync();
  try {
    body(join(folder, "checkpoints"));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const steps = (folder: string) => listCheckpoints(folder).map(({ step }) => step);

function refused(path: string, message: RegExp): void {
  assert.throws(() => loadCheckpoint(path), (error) => {
    assert.ok(error instanceof UserError, String(error));
    assert.match(error.message, message);
    assert.ok(error.message.includes(path));
    return true;
  });
}

Deno.test("checkpoint: comes back bit for bit", () => {
  withFolder((folder) => {
    const saved = checkpoint(3);
    const loaded = loadCheckpoint(saveCheckpoint(folder, saved, 2));
    assert.deepEqual(loaded, saved);
    const bits = (array: { buffer: ArrayBuffer }) => new Uint32Array(array.buffer);
    for (const [name, array] of Object.entries(saved.arrays.generator)) {
      assert.deepEqual(bits(loaded.arrays.generator[name]), bits(array), name);
    }
  });
});

Deno.test("checkpoint: only the newest are kept", () => {
  withFolder((folder) => {
    for (const step of [1, 5, 9, 1000000]) saveCheckpoint(folder, checkpoint(step), 2);
    assert.deepEqual(steps(folder), [9, 1000000]);
    assert.equal(latestCheckpoint(folder)?.step, 1000000);
    assert.deepEqual(skippedCheckpoints(folder), []);
  });
});

Deno.test("checkpoint: saving a step again replaces it and drops later ones", () => {
  withFolder((folder) => {
    for (const step of [1, 5, 9]) saveCheckpoint(folder, checkpoint(step), 5);
    const again = { ...checkpoint(5), state: "again" };
    saveCheckpoint(folder, again, 5);
    assert.deepEqual(steps(folder), [1, 5]);
    assert.deepEqual(loadCheckpoint(join(folder, "step-000005")), again);
  });
});

Deno.test("checkpoint: a half-written folder is passed over and cleared away", () => {
  withFolder((folder) => {
    saveCheckpoint(folder, checkpoint(1), 2);
    const unfinished = join(folder, "step-000002.tmp");
    Deno.mkdirSync(unfinished);
    assert.equal(latestCheckpoint(folder)?.step, 1);
    saveCheckpoint(folder, checkpoint(3), 2);
    assert.throws(() => Deno.statSync(unfinished), Deno.errors.NotFound);
  });
});

Deno.test("checkpoint: damage is found, and the latest whole one is offered", () => {
  withFolder((folder) => {
    saveCheckpoint(folder, checkpoint(1), 9);
    const path = saveCheckpoint(folder, checkpoint(2), 9);
    const weights = join(path, "generator.safetensors");
    const bytes = Deno.readFileSync(weights);

    const flipped = bytes.slice();
    flipped[flipped.length - 1] ^= 1;
    Deno.writeFileSync(weights, flipped);
    refused(path, /content of generator\.safetensors has changed/);

    Deno.writeFileSync(weights, bytes.slice(0, -4));
    refused(path, /generator\.safetensors has \d+ bytes instead of \d+/);
    assert.equal(latestCheckpoint(folder)?.step, 1);
    assert.deepEqual(skippedCheckpoints(folder), [{ step: 2, path }]);

    Deno.removeSync(weights);
    refused(path, /generator\.safetensors is missing/);
    assert.equal(latestCheckpoint(folder)?.step, 1);

    Deno.writeTextFileSync(join(path, "state.json"), "{");
    refused(path, /state\.json is not JSON/);
    Deno.writeTextFileSync(join(path, "state.json"), '{"format":99}');
    refused(path, /format 99/);
    Deno.removeSync(join(path, "state.json"));
    refused(path, /state\.json is missing/);
    assert.equal(latestCheckpoint(folder)?.step, 1);
  });
});

Deno.test("checkpoint: a folder without any gives null", () => {
  withFolder((folder) => assert.equal(latestCheckpoint(folder), null));
});
