/** What clients may send that no client should: no error of the server, and nothing of it shows in another's run. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type WithModels, withModels } from "../openai/with_models.ts";
import type { TrainedModel } from "../../../src/client/trained_model.ts";
import { TrainingSession } from "../../../src/client/training_session.ts";
import { type Datum, encodeLoss } from "../../../src/client/wire.ts";

const RUNS = Number(Deno.env.get("TANGO_TEST_FUZZ") ?? 150);

const DATA: readonly Datum[] = [{ tokens: [1, 5, 9], targets: [5, 9, 20] }];

/** Texts that have led elsewhere before, in one program or another. */
const text = fc.oneof(
  fc.string(),
  fc.constantFrom(
    ...[
      "",
      ".",
      "..",
      "../../etc/passwd",
      "/etc/passwd",
      "a/b",
      "a\0b",
      "__proto__",
      "constructor",
    ],
    ...[
      "tinker://x/weights/y",
      "tinker://x:train:0/weights/../../y",
      "tinker://..:train:0/weights/a",
    ],
    ...["tiny", "tiny/generator@1", "😀", "a".repeat(5000), "NaN", "weights", "CON", "%2e%2e%2f"],
  ),
);
const value = fc.oneof(
  text,
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.integer(), { maxLength: 5 }),
  fc.jsonValue({ maxDepth: 2 }),
);

/** A body with some of its fields replaced, left out or added. */
function spoiled(body: Readonly<Record<string, unknown>>): fc.Arbitrary<Record<string, unknown>> {
  const keys = Object.keys(body);
  const changed = fc.dictionary(fc.oneof(fc.constantFrom(...keys), text), value, { maxKeys: 3 });
  const left = fc.subarray(keys, { minLength: Math.max(0, keys.length - 2) });
  return fc.tuple(left, changed).map(([kept, others]) => ({
    ...Object.fromEntries(kept.map((key) => [key, body[key]])),
    ...others,
  }));
}

Deno.test("fuzz: JSON, token ids, names and protobuf of any kind make no error of the server, and disturb no other client", async () => {
  await withModels(
    async (server) => {
      const quiet = await trained(server.url);
      const victim = trained(server.url, async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
      });
      const client = await TrainingSession.begin({ url: server.url });
      const model = await client.createModel("tiny", { rank: 8 });
      const sampler = await model.snapshot();
      await fuzzJson(server, client, model, sampler.id);
      await fuzzProtobuf(server, model);
      await client.finish();
      assert.deepEqual(await victim, quiet);
      const left = Array.from(Deno.readDirSync(server.root), ({ name }) => name).sort();
      assert.deepEqual(left, [".tango", "checkpoints"]);
    },
    undefined,
    { slots: 8, cacheTokens: 2048 },
  );
});

async function fuzzJson(
  { url }: WithModels,
  { id: session }: TrainingSession,
  { id }: TrainedModel,
  sampler: string,
): Promise<void> {
  const prompt = { chunks: [{ type: "encoded_text", tokens: [1, 5] }] };
  const sampling_params = { max_tokens: 2, temperature: 1, stop: [2], seed: 1, top_k: 1, top_p: 1 };
  const bodies: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    "create_session": { tags: [], type: "create_session" },
    "session_heartbeat": { session_id: session },
    "create_model": {
      ...{ session_id: session, model_seq_id: 1, base_model: "tiny" },
      ...{ lora_config: { rank: 8, seed: 1 }, user_metadata: { a: "b" } },
    },
    "get_info": { model_id: id },
    "optim_step": { model_id: id, seq_id: 9, adam_params: { learning_rate: 1e-3 } },
    "save_weights": { model_id: id, seq_id: 9, path: "a", overwrite: true },
    "save_weights_for_sampler": { model_id: id, seq_id: 9, sampling_session_seq_id: 9 },
    "load_weights": {
      model_id: id,
      seq_id: 9,
      path: "tinker://a:train:0/weights/a",
      optimizer: true,
    },
    "create_sampling_session": {
      ...{ session_id: session, sampling_session_seq_id: 8, model_path: "tinker://a/weights/b" },
    },
    "asample": { sampling_session_id: sampler, seq_id: 1, num_samples: 2, prompt, sampling_params },
    "retrieve_future": { request_id: "x" },
    "weights_info": { tinker_path: "tinker://a/weights/b" },
    "client/config": { sdk_version: "0" },
    "telemetry": { events: [] },
    "sessions/x/finish": { reason: { type: "success" } },
  };
  const openAi: typeof bodies = {
    "/v1/completions": { prompt: [1, 5], max_tokens: 2, n: 2, logprobs: 1, echo: true, seed: 1 },
    "/v1/chat/completions": { messages: [{ role: "user", content: "a" }], max_tokens: 1 },
    "/inference/v1/generate": { token_ids: [1, 5], sampling_params: { max_tokens: 1 } },
    "/tokenize": { prompt: "cat" },
    "/detokenize": { tokens: [1, 5] },
    "/v1/load_lora_adapter": { lora_name: "a", lora_path: "b" },
    "/v1/unload_lora_adapter": { lora_name: "a" },
  };
  const routes = [
    ...Object.entries(bodies).map(([path, body]) => [`/api/v1/${path}`, body] as const),
    ...Object.entries(openAi),
  ];
  for (const [path, body] of routes) {
    await fc.assert(
      fc.asyncProperty(spoiled(body), async (sent) => {
        const response = await fetch(url + path, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(sent),
          signal: AbortSignal.timeout(20_000),
        });
        const answer = await response.text();
        assert.ok(response.status < 500, `${path} ${response.status}: ${answer}`);
      }),
      { numRuns: Math.ceil(RUNS / 5) },
    );
  }
}

async function fuzzProtobuf({ url }: WithModels, model: TrainedModel): Promise<void> {
  const whole = encodeLoss({
    ...{ modelId: model.id, number: model.nextNumber(), data: DATA, loss: "ppo" },
    ...{ forwardOnly: false, numbers: { clip_low_threshold: 0.9 } },
  });
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }).map(
      (changes) => {
        const spoilt = Uint8Array.from(whole);
        for (const [at, byte] of changes) spoilt[at] = byte;
        return spoilt;
      },
    ),
    fc.nat(whole.length).map((length) => whole.slice(0, length)),
  );
  await fc.assert(
    fc.asyncProperty(bytes, async (body) => {
      const response = await fetch(`${url}/api/v1/forward_backward`, {
        method: "POST",
        headers: { "content-type": "application/x-protobuf" },
        body: Uint8Array.from(body),
      });
      const answer = await response.text();
      assert.ok(response.status < 500, `${response.status}: ${answer}`);
      if (response.status !== 200) return;
      // It may wait for numbers that never come; what it comes to is no mistake of the server in any case.
      const { request_id } = JSON.parse(answer);
      const result = await Promise.race([
        model.session.result(request_id).then(() => "done", (error: Error) => error.message),
        new Promise<string>((resolve) => setTimeout(resolve, 200, "waits")),
      ]);
      assert.ok(!/made a mistake|process has ended/.test(result), result);
    }),
    { numRuns: RUNS },
  );
}

/** What a client ends with that minds its own business. */
async function trained(url: string, between = async () => {}): Promise<Float32Array> {
  const client = await TrainingSession.begin({ url });
  const model = await client.createModel("tiny", { rank: 8, seed: 11 });
  for (let step = 0; step < 8; step++) {
    await model.forwardBackward(DATA, "cross_entropy");
    await model.optimStep({ learningRate: 0.01 });
    await (await model.snapshot()).sample([1, 5], { maximumTokens: 4, seed: step });
    await between();
  }
  const { logProbs } = await model.forward(DATA);
  await client.finish();
  return logProbs[0];
}
