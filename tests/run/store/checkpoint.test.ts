import assert from "node:assert/strict";
import { join } from "node:path";
import { z } from "zod";
import { UserError } from "../../../src/base/user_error.ts";
import { encodeSafetensors } from "../../../src/model/weights/safetensors.ts";
import {
  type Checkpoint,
  latestCheckpoint,
  listCheckpoints,
  saveCheckpoint,
  skippedCheckpoints,
} from "../../../src/run/store/checkpoint.ts";
import { StoredCheckpoint } from "../../../src/run/store/stored_checkpoint.ts";
import { streamOf, type Tensor } from "../../model/safetensors_tensors.ts";

const f32 = (...values: number[]): Tensor => ({
  dtype: "F32",
  shape: [values.length],
  data: Float32Array.from(values),
});

const setsOf = (step: number): Record<string, Record<string, Tensor>> => ({
  generator: {
    "model.norm.weight": f32(0.1 * step, -0, NaN, Infinity, 1e-45),
    "optimizer.first_moment": f32(step),
    "random_counter": { dtype: "U32", shape: [2], data: Uint32Array.of(step, 4294967295) },
  },
  verifier: { "model.norm.weight": f32(2) },
});

const encoded = (set: Record<string, Tensor>) =>
  encodeSafetensors(
    Object.fromEntries(Object.entries(set).map(([name, tensor]) => [name, streamOf(tensor, 4)])),
  );

function checkpoint(step: number): Checkpoint {
  const { generator, verifier } = setsOf(step);
  return {
    step,
    sets: { generator: encoded(generator), verifier: encoded(verifier) },
    state: { position: { globalSteps: step }, classCounts: null, mean: 0.1 + 0.2 },
  };
}

/** The bytes of a set's tensors. */
async function readSet(stored: StoredCheckpoint, set: string): Promise<Record<string, Uint8Array>> {
  const tensors: Record<string, Uint8Array> = {};
  await stored.read(set, (entries) => {
    for (const [name, { begin, end }] of entries) tensors[name] = new Uint8Array(end - begin);
    return ({ name, begin, bytes }) => Promise.resolve(tensors[name].set(bytes, begin));
  });
  return tensors;
}

async function withFolder(body: (folder: string) => Promise<void> | void): Promise<void> {
  const folder = Deno.makeTempDirSync();
  try {
    await body(join(folder, "checkpoints"));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const steps = (folder: string) => listCheckpoints(folder).map(({ step }) => step);

async function refused(path: string, message: RegExp): Promise<void> {
  const load = async () => await readSet(new StoredCheckpoint(path), "generator");
  await assert.rejects(load, (error) => {
    assert.ok(error instanceof UserError, String(error));
    assert.match(error.message, message);
    assert.ok(error.message.includes(path));
    return true;
  });
}

Deno.test("checkpoint: comes back bit for bit", async () => {
  await withFolder(async (folder) => {
    const saved = checkpoint(3);
    const stored = new StoredCheckpoint(await saveCheckpoint(folder, saved, 2));
    assert.equal(stored.step, 3);
    assert.deepEqual(stored.state(z.unknown()), saved.state);
    assert.ok(stored.has("generator") && !stored.has("other"));
    for (const [name, set] of Object.entries(setsOf(3))) {
      const bytes = Object.entries(set)
        .map(([tensor, { data }]) => [tensor, new Uint8Array(data.buffer)]);
      assert.deepEqual(await readSet(stored, name), Object.fromEntries(bytes));
    }
  });
});

Deno.test("checkpoint: tensors that are refused are not read, unless it is the file that is damaged", async () => {
  await withFolder(async (folder) => {
    const path = await saveCheckpoint(folder, checkpoint(3), 2);
    const stored = new StoredCheckpoint(path);
    const refuse = (): never => {
      throw new UserError("not these");
    };
    await assert.rejects(stored.read("generator", refuse), { message: "not these" });
    const file = join(path, "generator.safetensors");
    const text = new TextDecoder().decode(Deno.readFileSync(file));
    assert.ok(text.includes('"model.norm.weight"'));
    const bytes = Deno.readFileSync(file);
    bytes[text.indexOf("norm")] ^= 1;
    Deno.writeFileSync(file, bytes);
    await assert.rejects(stored.read("generator", refuse), { message: /content .* has changed/ });
    bytes[9] = 0;
    Deno.writeFileSync(file, bytes);
    await refused(path, /content of generator\.safetensors has changed/);
  });
});

Deno.test("checkpoint: files of before are read", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "step-000002");
    Deno.mkdirSync(path, { recursive: true });
    const header = '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  ';
    const bytes = new Uint8Array(8 + header.length + 4);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(header.length), true);
    bytes.set(new TextEncoder().encode(header), 8);
    bytes.set(new Uint8Array(Float32Array.of(1.5).buffer), 8 + header.length);
    Deno.writeFileSync(join(path, "generator.safetensors"), bytes);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const files = { "generator.safetensors": { bytes: bytes.length, sha256: hash.toHex() } };
    const state = { format: 1, step: 2, state: null, files };
    Deno.writeTextFileSync(join(path, "state.json"), JSON.stringify(state));
    const { a } = await readSet(new StoredCheckpoint(path), "generator");
    assert.deepEqual(new Float32Array(a.buffer), Float32Array.of(1.5));
  });
});

Deno.test("checkpoint: only the newest are kept", async () => {
  await withFolder(async (folder) => {
    for (const step of [1, 5, 9, 1000000]) await saveCheckpoint(folder, checkpoint(step), 2);
    assert.deepEqual(steps(folder), [9, 1000000]);
    assert.equal(latestCheckpoint(folder)?.step, 1000000);
    assert.deepEqual(skippedCheckpoints(folder), []);
  });
});

Deno.test("checkpoint: saving a step again replaces it and drops later ones", async () => {
  await withFolder(async (folder) => {
    for (const step of [1, 5, 9]) await saveCheckpoint(folder, checkpoint(step), 5);
    const again = { ...checkpoint(5), state: "again" };
    await saveCheckpoint(folder, again, 5);
    assert.deepEqual(steps(folder), [1, 5]);
    assert.equal(new StoredCheckpoint(join(folder, "step-000005")).state(z.string()), "again");
  });
});

Deno.test("checkpoint: a half-written folder is passed over and cleared away", async () => {
  await withFolder(async (folder) => {
    await saveCheckpoint(folder, checkpoint(1), 2);
    const unfinished = join(folder, "step-000002.tmp");
    Deno.mkdirSync(unfinished);
    assert.equal(latestCheckpoint(folder)?.step, 1);
    await saveCheckpoint(folder, checkpoint(3), 2);
    assert.throws(() => Deno.statSync(unfinished), Deno.errors.NotFound);
  });
});

Deno.test("checkpoint: damage is found, and the latest whole one is offered", async () => {
  await withFolder(async (folder) => {
    await saveCheckpoint(folder, checkpoint(1), 9);
    const path = await saveCheckpoint(folder, checkpoint(2), 9);
    const weights = join(path, "generator.safetensors");
    const bytes = Deno.readFileSync(weights);

    const flipped = bytes.slice();
    flipped[flipped.length - 1] ^= 1;
    Deno.writeFileSync(weights, flipped);
    await refused(path, /content of generator\.safetensors has changed/);

    Deno.writeFileSync(weights, bytes.slice(0, -4));
    await refused(path, /generator\.safetensors has \d+ bytes instead of \d+/);
    assert.equal(latestCheckpoint(folder)?.step, 1);
    assert.deepEqual(skippedCheckpoints(folder), [{ step: 2, path }]);

    Deno.removeSync(weights);
    await refused(path, /generator\.safetensors is missing/);
    assert.equal(latestCheckpoint(folder)?.step, 1);

    Deno.writeTextFileSync(join(path, "state.json"), "{");
    await refused(path, /state\.json is not JSON/);
    Deno.writeTextFileSync(join(path, "state.json"), '{"format":99}');
    await refused(path, /format 99/);
    Deno.writeTextFileSync(join(path, "state.json"), '{"step":1,"state":0,"files":null}');
    await refused(path, /state\.json is damaged \(files: /);
    Deno.writeTextFileSync(
      join(path, "state.json"),
      '{"step":1,"state":0,"files":{"generator.safetensors":null}}',
    );
    await refused(path, /state\.json is damaged \(files\.generator\.safetensors: /);
    Deno.removeSync(join(path, "state.json"));
    await refused(path, /state\.json is missing/);
    assert.equal(latestCheckpoint(folder)?.step, 1);
  });
});

Deno.test("checkpoint: a state that was changed, or is no such run's, is not gone on from", async () => {
  await withFolder(async (folder) => {
    await saveCheckpoint(folder, checkpoint(1), 9);
    const path = await saveCheckpoint(folder, checkpoint(2), 9);
    const file = join(path, "state.json");
    const text = Deno.readTextFileSync(file);
    for (
      const [from, to] of [
        ['"globalSteps": 2', '"globalSteps": 3'],
        ['"step": 2', '"step": 4'],
        ['"mean": 0.30000000000000004', '"mean": 0.3'],
        ['"classCounts": null', '"classCounts": {}'],
      ]
    ) {
      assert.ok(text.includes(from), from);
      Deno.writeTextFileSync(file, text.replace(from, to));
      await refused(path, /the content of state\.json has changed since it was written/);
      assert.equal(latestCheckpoint(folder)?.step, 1);
    }
    // Whoever lays it out anew changes nothing; earlier versions wrote no hash.
    const { sha256, ...facts } = JSON.parse(text);
    assert.match(sha256, /^[0-9a-f]{64}$/);
    for (const whole of [{ ...facts, sha256 }, facts]) {
      Deno.writeTextFileSync(file, JSON.stringify(whole));
      assert.equal(latestCheckpoint(folder)?.step, 2);
    }
    assert.throws(
      () => new StoredCheckpoint(path).state(z.object({ position: z.string() })),
      { name: "UserError", message: /is not a state of such a run \(position: / },
    );
  });
});

Deno.test("checkpoint: a folder without any gives null", () => {
  withFolder((folder) => assert.equal(latestCheckpoint(folder), null));
});
