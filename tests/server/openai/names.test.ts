/** Models by other names than those that the server was started with: adapters, and policies of runs. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { forwardSequences } from "../../../src/engine/training/forward.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { liveProcess } from "../../../src/run/control/endpoint/control_file.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { listCheckpoints } from "../../../src/run/store/checkpoint.ts";
import { StoredCheckpoint } from "../../../src/run/store/stored_checkpoint.ts";
import { loadPolicy } from "../../../src/run/tango/load_policy.ts";
import { Client, ENDLESS } from "../client.ts";
import { TrainingSession } from "../../../src/client/training_session.ts";
import { type Answer, withModels } from "./with_models.ts";

const PROMPT = [1, 5, 9, 20];
const SCORED = { prompt: PROMPT, max_tokens: 1, echo: true, logprobs: 0, temperature: 0 };
const logProbsOf = ({ status, body }: Answer): number[] => {
  assert.equal(status, 200, JSON.stringify(body));
  return body.choices[0].logprobs.token_logprobs.slice(1, PROMPT.length);
};

Deno.test("adapters: one on disk becomes a model on its base, gives the bits of what was trained, and goes again", async () => {
  await withModels(async ({ url, root, ask, served }) => {
    await using client = await TrainingSession.begin({ url });
    const model = await client.createModel("tiny", { rank: 8 });
    const data = [{ tokens: PROMPT.slice(0, -1), targets: PROMPT.slice(1) }];
    await model.forwardBackward(data, "cross_entropy");
    await model.optimStep({ learningRate: 0.01 });
    const address = await model.saveForSampling("one");
    const [, session, name] = /^tinker:\/\/(.+):train:0\/sampler_weights\/(.+)$/.exec(address) ??
      [];
    const folder = join(root, "checkpoints", session, "train-0/sampler_weights", name);
    const before = logProbsOf(await ask("/v1/completions", SCORED));
    const load = (body: object) => ask("/v1/load_lora_adapter", body);
    assert.equal((await load({ lora_name: "mine", lora_path: folder })).status, 200);
    const found = logProbsOf(await ask("/v1/completions", { ...SCORED, model: "mine" }));
    assert.deepEqual(found, Array.from((await model.forward(data)).logProbs[0]));
    assert.notDeepEqual(found, before);
    assert.deepEqual(logProbsOf(await ask("/v1/completions", SCORED)), before);
    // Both at once, in turns.
    const asked = Array.from(
      { length: 6 },
      (_, i) => ask("/v1/completions", { ...SCORED, model: i % 2 === 0 ? "mine" : "tiny" }),
    );
    (await Promise.all(asked)).forEach((answer, i) =>
      assert.deepEqual(logProbsOf(answer), i % 2 === 0 ? found : before)
    );
    const { data: listed } = await (await fetch(`${url}/v1/models`)).json();
    assert.deepEqual(
      listed.map(({ id, parent }: { id: string; parent: string | null }) => [id, parent]),
      [["tiny", null], ["mine", "tiny"]],
    );
    for (
      const [body, status] of [
        [{ lora_name: "mine", lora_path: folder }, 409],
        [{ lora_name: "other", lora_path: "/etc" }, 400],
        [{ lora_name: "other", lora_path: join(root, "none") }, 400],
        [{ lora_name: "other", lora_path: folder, base_model_name: "mine" }, 400],
        [{ lora_name: "other", lora_path: folder, base_model_name: "none" }, 404],
        [{ lora_name: "other" }, 400],
      ] as const
    ) assert.equal((await load(body)).status, status, JSON.stringify(body));
    assert.equal((await ask("/v1/unload_lora_adapter", { lora_name: "mine" })).status, 200);
    assert.equal((await ask("/v1/completions", { ...SCORED, model: "mine" })).status, 404);
    assert.equal((await ask("/v1/unload_lora_adapter", { lora_name: "tiny" })).status, 404);
    assert.equal(served.find("tiny").model.pending, 0);
  });
});

Deno.test({
  name:
    "policies: any checkpoint of a run is a model, and without a step the one that the run is at",
  // The run is let go on purpose.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withModels(
      async ({ url, root, ask }) => {
        const client = new Client(url);
        const { id } = await client.start(ENDLESS, {
          ...{ kind: "train", configuration: undefined, preset: "last-letter" },
          set: [
            ...["tuning=default", "rollout.batch_size=2", "rollout.group_size=2"],
            ...["evaluation.problems=2", "schedule.test_frequency=1000000"],
            ...["schedule.generator_warmup_steps=1", "schedule.verifier_warmup_steps=1"],
            ...["generator.max_response_length=16", "verifier.max_response_length=16"],
            ...["schedule.save_frequency=1000000"],
          ],
        });
        while ((await client.until(id, "running")).step < 3);
        const { step } = await client.until(id, "running");
        const name = `${id}/generator`;
        const live = await ask("/v1/completions", { ...SCORED, model: name });
        const at = Number(/@(\d+)$/.exec(live.body.model)?.[1]);
        assert.ok(at >= step, `${live.body.model} of a run at ${step}`);
        // It saves another when it is stopped.
        while ((await client.until(id, "running")).step < at + 3);
        await client.act(id, "stop");
        await client.until(id, "stopped");
        const folder = RunFolder.at(join(root, id));
        while (liveProcess(folder)) await new Promise((resolve) => setTimeout(resolve, 20));
        const gpu = await Gpu.open();
        const place = join(folder.checkpoints, `step-${String(at).padStart(6, "0")}`);
        for (const policy of ["generator", "verifier"] as const) {
          const found = await ask("/v1/completions", { ...SCORED, model: `${id}/${policy}@${at}` });
          const config = loadTangoConfig(folder.configuration);
          const { model } = await loadPolicy(gpu, config, policy, new StoredCheckpoint(place));
          const tokens = Uint32Array.from(PROMPT);
          const [{ logProbs }] = await forwardSequences(
            model,
            [{ tokens, targets: tokens.subarray(1), first: 0 }],
            { microBatchTokens: 64, sharePrompts: false },
          );
          assert.deepEqual(logProbsOf(found), Array.from(logProbs));
          if (policy === "generator") assert.deepEqual(logProbsOf(live), Array.from(logProbs));
          model.release();
        }
        gpu.close();
        // A run of the same name, begun anew, has come to the same step.
        const others = listCheckpoints(folder.checkpoints).filter(({ step }) => step !== at);
        const [other] = others.length > 0 ? others : assert.fail("there is one checkpoint alone");
        const scored = async (step: number) =>
          logProbsOf(await ask("/v1/completions", { ...SCORED, model: `${name}@${step}` }));
        const found = await scored(other.step);
        assert.notDeepEqual(found, await scored(at));
        Deno.removeSync(place, { recursive: true });
        Deno.mkdirSync(place);
        for (const { name } of Deno.readDirSync(other.path)) {
          Deno.copyFileSync(join(other.path, name), join(place, name));
        }
        assert.deepEqual(await scored(at), found);
        const none = await ask("/v1/completions", { ...SCORED, model: `${name}@999999` });
        assert.equal(none.status, 404);
        assert.match(none.body.error.message, new RegExp(`There are: .*${at}`));
        assert.equal(
          (await ask("/v1/completions", { ...SCORED, model: "x/generator" })).status,
          404,
        );
      },
      {},
      { slots: 4, cacheTokens: 1024 },
    ),
});
