/** A server whose adapters come, fail and go: the model that they stand on always answers. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { RandomStream } from "../../../src/random/philox.ts";
import { TrainingSession } from "../../../src/client/training_session.ts";
import { type WithModels, withModels } from "../openai/with_models.ts";
import { withFolder } from "../written_run.ts";
import { ORDERS } from "./orders.ts";

/** Each costs as much as many with stand-ins. */
const SERVED_ORDERS = Math.ceil(ORDERS / 100);
const SERVED = { slots: 4, cacheTokens: 1024 };
const NO_ROOM = /of GPU memory; .* may be taken/;
const PROMPT = [1, 5, 9, 20];
const DATA = Array.from({ length: 4 }, (_, i) => ({
  tokens: PROMPT.map((token) => token + i),
  targets: PROMPT.map((token) => token + i + 1),
}));

const complete = ({ ask }: WithModels, model: string, tokens = 4) =>
  ask("/v1/completions", { model, prompt: PROMPT, max_tokens: tokens, seed: 1, ignore_eos: true });

/** Why an adapter cannot be had; of a stream, since another answer that takes longer than a second has its status before. */
async function refusalOf({ ask }: WithModels, model: string): Promise<string> {
  const { status, body } = await ask("/v1/completions", { model, prompt: PROMPT, stream: true });
  assert.equal(status, 400, JSON.stringify(body));
  return body.error.message;
}

/** The folder of an adapter that was trained on the model. */
async function trainedFolder({ url, root }: WithModels, to: string, seed = 3): Promise<string> {
  await using client = await TrainingSession.begin({ url });
  const model = await client.createModel("tiny", { rank: 8, seed });
  await model.forwardBackward(DATA, "cross_entropy");
  await model.optimStep({ learningRate: 0.05 });
  const [, session] = /^tinker:\/\/(.+):train:0\//.exec(await model.saveForSampling("one")) ?? [];
  copyFolder(join(root, "checkpoints", session, "train-0/sampler_weights/one"), to);
  return to;
}

/** Writes over what is there. */
function copyFolder(from: string, to: string): void {
  Deno.mkdirSync(to, { recursive: true });
  for (const { name } of Deno.readDirSync(from)) {
    Deno.copyFileSync(join(from, name), join(to, name));
  }
}

const memoryOf = async ({ url }: WithModels): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  const [, value] = /^tango_model_memory_bytes{model="tiny"} (\S+)$/m.exec(text) ?? [];
  return Number(value ?? assert.fail(text));
};

Deno.test("an adapter that does not fit, or whose folder is gone, is refused, and its base answers as before", () =>
  withFolder(async (folder) => {
    const kept = join(folder, "kept");
    let peakBytes = 0;
    await withModels(
      async (server) => {
        await trainedFolder(server, kept);
        ({ info: { peakBytes } } = server.served.find("tiny"));
      },
      undefined,
      SERVED,
    );
    await withModels(
      async (server) => {
        const { ask, root } = server;
        const gone = join(root, "gone");
        const full = join(root, "full");
        copyFolder(kept, gone);
        copyFolder(kept, full);
        const wanted = await complete(server, "tiny", 30);
        for (const lora_path of [gone, full]) {
          const named = { lora_name: lora_path, lora_path };
          assert.equal((await ask("/v1/load_lora_adapter", named)).status, 200);
        }
        Deno.removeSync(gone, { recursive: true });
        for (
          const [name, why] of [[gone, /adapter_config\.json/], [full, /may be taken/]] as const
        ) {
          const before = complete(server, "tiny", 30);
          const refused = [refusalOf(server, name), refusalOf(server, name)];
          for (const message of await Promise.all(refused)) assert.match(message, why);
          for (const answer of [await before, await complete(server, "tiny", 30)]) {
            assert.equal(answer.status, 200);
            assert.deepEqual(answer.body.choices, wanted.body.choices);
          }
        }
      },
      undefined,
      { ...SERVED, memoryLimit: (peakBytes + 1e4) / 1e9 },
    );
  }));

Deno.test("an adapter that is written over is read anew: when it is loaded again, and for later requests when it is not", () =>
  withModels(
    async (server) => {
      const { ask, root, url } = server;
      const [one, two] = [
        await trainedFolder(server, join(root, "one"), 3),
        await trainedFolder(server, join(root, "two"), 4),
      ];
      const load = { lora_name: "policy", lora_path: join(root, "policy") };
      const long = { prompt: PROMPT, max_tokens: 300, seed: 1, ignore_eos: true, stream: true };
      const textOf = (events: string) =>
        [...events.matchAll(/^data: (\{.*)$/gm)].map(([, event]) =>
          JSON.parse(event).choices[0].text
        )
          .join("");
      const choicesOf = async () => (await complete(server, "policy", 12)).body.choices;
      const wanted = [];
      for (const from of [one, two]) {
        copyFolder(from, load.lora_path);
        assert.equal((await ask("/v1/load_lora_adapter", load)).status, 200);
        const { body } = await ask("/v1/completions", { ...long, model: "policy" });
        wanted.push({ short: await choicesOf(), long: textOf(body) });
        const { lora_name } = load;
        assert.equal((await ask("/v1/unload_lora_adapter", { lora_name })).status, 200);
      }
      const [first, second] = wanted;
      assert.notDeepEqual(first, second);
      assert.equal((await ask("/v1/load_lora_adapter", load)).status, 200);
      assert.deepEqual(await choicesOf(), second.short);
      // Written over while a response is on its way.
      const response = await fetch(`${url}/v1/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...long, model: "policy" }),
      });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let events = (await reader?.read())?.value ?? assert.fail("nothing is streamed");
      copyFolder(one, load.lora_path);
      assert.deepEqual(await choicesOf(), first.short);
      for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
        events += part.value;
      }
      assert.equal(textOf(events), second.long);
    },
    undefined,
    SERVED,
  ));

Deno.test(`${SERVED_ORDERS} random orders over HTTP of loads, failures, training, sampling and giving up: the model answers, and its memory returns`, () =>
  withModels(
    async (server) => {
      const { ask, root, served, url } = server;
      const good = await trainedFolder(server, join(root, "good"));
      const random = new RandomStream(5, 1);
      const pick = <Item>(...items: Item[]) => items[random.integer(items.length)];
      const wanted = await complete(server, "tiny", 12);
      const start = await memoryOf(server);
      for (let order = 0; order < SERVED_ORDERS; order++) {
        await using client = await TrainingSession.begin({ url });
        const names = ["a", "b", "c"];
        for (const lora_name of names) {
          const lora_path = join(root, `${lora_name}-${order}`);
          copyFolder(good, lora_path);
          assert.equal((await ask("/v1/load_lora_adapter", { lora_name, lora_path })).status, 200);
        }
        Deno.removeSync(join(root, `c-${order}`), { recursive: true });
        const sample = async (model: string) => {
          if (model === "c") return assert.match(await refusalOf(server, model), /c-\d+/);
          if (model === "tiny") {
            const { body } = await complete(server, model, 12);
            return assert.deepEqual(body.choices, wanted.body.choices);
          }
          const { status, body } = await ask("/v1/completions", {
            ...{ model, prompt: PROMPT, max_tokens: 12, stream: true },
          });
          if (status === 400) assert.match(body.error.message, NO_ROOM);
          else assert.match(body, /\[DONE\]/);
        };
        const giveUp = async (model: string) => {
          const leaving = new AbortController();
          const asked = fetch(`${url}/v1/completions`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ model, prompt: PROMPT, max_tokens: 200, ignore_eos: true }),
            signal: leaving.signal,
          }).then((response) => response.text(), () => null);
          for (let wait = random.integer(20); wait > 0; wait--) {
            await new Promise((resolve) => setTimeout(resolve));
          }
          leaving.abort();
          await asked.catch(() => null);
        };
        const train = async (rank: number) => {
          const model = await client.createModel("tiny", { rank });
          await model.forwardBackward(DATA, "cross_entropy");
          await model.optimStep({ learningRate: 0.01 });
          const sampler = await model.snapshot();
          const { responses } = await sampler.sample(PROMPT, { maximumTokens: 5, stop: [] });
          assert.equal(responses[0].tokens.length, 5);
        };
        await Promise.all(Array.from({ length: 12 }, () => {
          const what = pick("sample", "sample", "give up", "train");
          const model = pick("tiny", ...names);
          // Of some there is no room.
          if (what === "train") {
            return train(pick(4, 8, 256)).catch(({ message }) => assert.match(message, NO_ROOM));
          }
          return what === "sample" ? sample(model) : giveUp(model);
        }));
        await client.finish();
        for (const lora_name of names) {
          assert.equal((await ask("/v1/unload_lora_adapter", { lora_name })).status, 200);
        }
        while (served.find("tiny").model.pending > 0) {
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        await sample("tiny");
        assert.equal(await memoryOf(server), start, `after order ${order}`);
      }
    },
    undefined,
    { ...SERVED, microBatchTokens: 8, memoryLimit: 0.06 },
  ));
