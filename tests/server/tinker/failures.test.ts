/** What fails in the midst of a client's request leaves nothing behind, and what can be had is had. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { TrainingSession } from "../../../src/client/training_session.ts";
import { type WithModels, withModels } from "../openai/with_models.ts";
import { fillDisk, SMALL_DISK, withSmallDisk } from "../small_disk.ts";

const trainedIn = async ({ served }: WithModels) =>
  (await served.find("tiny").model.look())?.trained ?? assert.fail("there is no process");

Deno.test("a model of any number that the SDK counts to is made, saved and found again", () =>
  withModels(async (server) => {
    await using client = await TrainingSession.begin(server);
    const seq_id = 1;
    const model_seq_id = 1234567890;
    const { model_id } = await client.done("create_model", {
      ...{ session_id: client.id, model_seq_id, base_model: "tiny", lora_config: { rank: 8 } },
    });
    const { path } = await client.done("save_weights", { model_id, seq_id, path: "one" });
    assert.equal(path, `tinker://${client.id}:train:${model_seq_id}/weights/one`);
    await client.loadModel(String(path));
    assert.equal(await trainedIn(server), 2);
    await client.finish();
    assert.equal(await trainedIn(server), 0);
  }));

Deno.test({
  name: `a model whose making fails on a full disk leaves no adapter on the GPU${SMALL_DISK.why}`,
  ignore: !SMALL_DISK.isPossible,
  fn: () =>
    withSmallDisk((disk) =>
      withModels(async (server) => {
        Deno.symlinkSync(disk, join(server.root, "checkpoints"));
        const ballast = join(disk, "ballast");
        fillDisk(ballast);
        await using client = await TrainingSession.begin(server);
        await assert.rejects(
          client.createModel("tiny", { rank: 8 }),
          /disk is full.* Make room and ask for the model again/,
        );
        assert.equal(await trainedIn(server), 0);
        Deno.removeSync(ballast);
        const model = await client.createModel("tiny", { rank: 8 });
        const saved = await model.save("one");
        fillDisk(ballast);
        await assert.rejects(client.loadModel(saved), /disk is full/);
        assert.equal(await trainedIn(server), 1);
      })
    ),
});

Deno.test("sampling at any temperature may fill the context, and its log-probs are those of training", () =>
  withModels(async (server) => {
    await using client = await TrainingSession.begin(server);
    const model = await client.createModel("tiny", { rank: 8 });
    const { info: { maximumTokens } } = server.served.find("tiny");
    const sampler = await client.sampler({ base: "tiny" });
    const prompt = [1, 5, 9, 20];
    for (const temperature of [0.6, 1, 0]) {
      // No length is asked for: what the positions leave.
      const asked = { temperature, stop: [], seed: 3, count: 2 };
      const { responses: [{ tokens, logProbs }, second] } = await sampler.sample(prompt, asked);
      assert.equal(tokens.length, maximumTokens - prompt.length);
      assert.equal(second.tokens.length, maximumTokens - prompt.length);
      const { logProbs: [trained] } = await model.forward([{
        tokens: [...prompt, ...tokens.slice(0, -1)],
        targets: [...prompt.slice(1), ...tokens],
      }]);
      assert.deepEqual(trained.subarray(prompt.length - 1), logProbs);
    }
  }));

Deno.test("a request of which one response is refused gives up its others", () =>
  withModels(
    async (server) => {
      const { model } = server.served.find("tiny");
      await using client = await TrainingSession.begin(server);
      const sampler = await client.sampler({ base: "tiny" });
      const long = { maximumTokens: 500, stop: [], count: 1024 };
      const full = Array.from({ length: 4 }, () => sampler.sample([1, 5], long).catch(() => null));
      while (model.pending < 4096) await new Promise((resolve) => setTimeout(resolve));
      const room = 4096 - model.waiting;
      assert.ok(room > 0);
      // There is room for some of them.
      await assert.rejects(sampler.sample([1, 5], long), /responses wait for this model already/);
      assert.ok(model.pending <= 4096, `${model.pending - 4096} are still waited for`);
      await client.finish();
      await Promise.all(full);
      while (model.pending > 0) await new Promise((resolve) => setTimeout(resolve));
    },
    undefined,
    { slots: 8, cacheTokens: 4096 },
  ));
