/** OpenAI's own client, unchanged. */

import assert from "node:assert/strict";
import OpenAI from "openai";
import { withFolder } from "../written_run.ts";
import { untilIdle, withModels, writeTalking } from "./with_models.ts";

const TEMPLATE = "{{ bos_token }}{% for m in messages %}{{ m.content }}?{% endfor %}";

/** The embedded model with a template: its only turn is a question. */
async function withTalking(body: (client: OpenAI, idle: () => Promise<void>) => Promise<void>) {
  await withFolder(async (folder) => {
    writeTalking(folder, TEMPLATE);
    await withModels(async ({ url, served }) => {
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
      await body(client, () => untilIdle(served, "mine/talking"));
    }, { "mine/talking": folder });
  });
}

Deno.test("openai's client: lists models, completes, chats and streams", async () => {
  await withTalking(async (client) => {
    const model = "mine/talking";
    const models = await Array.fromAsync(client.models.list());
    assert.deepEqual(models.map(({ id }) => id), [model]);
    assert.equal((await client.models.retrieve(model)).id, model);
    const completion = await client.completions.create({
      ...{ model, prompt: "<bos>cat dog?", temperature: 0, max_tokens: 60, logprobs: 2 },
    });
    const { text, logprobs } = completion.choices[0];
    assert.equal(logprobs?.tokens?.length, completion.usage?.completion_tokens);
    const asked = {
      ...{ model, temperature: 0, max_tokens: 60 },
      messages: [{ role: "user" as const, content: "cat dog" }],
    };
    const reply = await client.chat.completions.create(asked);
    assert.equal(reply.choices[0].message.content, text);
    assert.equal(reply.choices[0].finish_reason, "stop");
    const stream = await client.chat.completions.create({
      ...asked,
      ...{ stream: true, stream_options: { include_usage: true }, logprobs: true, top_logprobs: 1 },
    });
    let joined = "";
    let tokens = 0;
    let usage = 0;
    for await (const chunk of stream) {
      joined += chunk.choices[0]?.delta.content ?? "";
      tokens += chunk.choices[0]?.logprobs?.content?.length ?? 0;
      usage = chunk.usage?.completion_tokens ?? usage;
    }
    assert.deepEqual([joined, tokens, usage], [text, usage, reply.usage?.completion_tokens]);
    await assert.rejects(
      client.chat.completions.create({
        ...asked,
        tools: [{ type: "custom", custom: { name: "x" } }],
      }),
      (error) => error instanceof OpenAI.BadRequestError && error.param === "tools",
    );
    await assert.rejects(
      client.models.retrieve("other"),
      (error) => error instanceof OpenAI.NotFoundError && error.code === "model_not_found",
    );
  });
});

Deno.test("openai's client: a stream that is given up is sampled no further", async () => {
  await withTalking(async (client, idle) => {
    const stream = await client.completions.create({
      ...{ model: "mine/talking", prompt: "<bos>cat?", max_tokens: 480, stream: true },
      ...{ n: 8, ignore_eos: true },
    } as OpenAI.CompletionCreateParamsStreaming);
    for await (const _chunk of stream) break;
    await idle();
  });
});
