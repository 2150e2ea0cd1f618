import assert from "node:assert/strict";
import { Sampler } from "../../../src/engine/sampling/sampler.ts";
import type { Response as Sampled } from "../../../src/engine/sampling/request.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { streams } from "../../../src/random/philox.ts";
import { TINY, untilIdle, withModels } from "./with_models.ts";

const PROMPT = "<bos>cat dog?";

/** What the engine samples in this process. */
async function sampledHere(
  seed: number,
  sequenceId: number,
  maximumResponse: number,
): Promise<{ readonly prompt: Uint32Array; readonly response: Sampled }> {
  const gpu = await Gpu.open();
  const { model, tokenizer, stopTokens } = await loadModelFolder(gpu, TINY, { trained: false });
  const sampler = new Sampler(model, { slots: 1, stepsBetweenReadbacks: 3 });
  const prompt = tokenizer.encode(PROMPT);
  const { promise, resolve } = Promise.withResolvers<Sampled>();
  sampler.add({
    ...{ temperature: 1, topK: 0, topP: 1, minP: 0 },
    ...{ seed, stream: streams.served, step: 0, sequenceId },
    ...{ prompt, maximumResponse, stopTokens, likeliest: 3, promptLogProbs: true },
    promptLikeliest: 3,
    listener: { end: resolve },
  });
  while (await sampler.step());
  sampler.close();
  model.release();
  gpu.close();
  return { prompt, response: await promise };
}

Deno.test("completions: tokens and log-probs are the engine's own to the last bit, in the lists that lm-evaluation-harness reads", async () => {
  await withModels(async ({ ask }) => {
    const { prompt, response } = await sampledHere(7, 0, 5);
    const { status, body } = await ask("/v1/completions", {
      ...{ model: "tiny", prompt: [Array.from(prompt)], max_tokens: 5, seed: 7 },
      ...{ logprobs: 3, echo: true, return_token_ids: true, prompt_logprobs: 1 },
    });
    assert.equal(status, 200, JSON.stringify(body));
    const [choice] = body.choices;
    assert.deepEqual(choice.prompt_token_ids, Array.from(prompt));
    assert.deepEqual(choice.token_ids, Array.from(response.tokens));
    const { tokens, token_logprobs, top_logprobs, text_offset } = choice.logprobs;
    const wanted = [...response.prompt!.logProbs, ...response.logProbs];
    assert.deepEqual(token_logprobs, [null, ...wanted.slice(1)]);
    assert.equal(top_logprobs[0], null);
    assert.equal(top_logprobs.length, wanted.length);
    assert.equal(tokens.slice(1).join(""), choice.text);
    assert.equal(text_offset.at(-1), tokens.slice(0, -1).join("").length);
    // Each list has the token itself, and three beside it where it is none of the likeliest.
    tokens.slice(1).forEach((token: string, i: number) => {
      const top = top_logprobs[i + 1];
      assert.equal(top[token], token_logprobs[i + 1]);
      const isLikeliest = Object.values<number>(top).every((value) => value <= top[token]);
      const all = [...response.prompt!.likeliest!.logProbs, ...response.likeliest!.logProbs];
      assert.equal(isLikeliest, token_logprobs[i + 1] === all[3 * (i + 1)]);
    });
    assert.equal(choice.prompt_logprobs[0], null);
    assert.equal(choice.prompt_logprobs[1][prompt[1]].logprob, wanted[1]);
    assert.deepEqual(body.usage.total_tokens, prompt.length + 5);
    assert.equal(choice.finish_reason, "length");
  });
});

Deno.test("completions: choices go prompt by prompt, a seed gives the same ones alone and in a batch, stop texts end them", async () => {
  await withModels(async ({ ask }) => {
    const common = {
      prompt: [PROMPT, "<bos>a b?"],
      n: 3,
      seed: 5,
      max_tokens: 40,
      return_token_ids: true,
    };
    const { body } = await ask("/v1/completions", common);
    assert.deepEqual(body.choices.map(({ index }: { index: number }) => index), [0, 1, 2, 3, 4, 5]);
    const ids = body.choices.map((choice: { token_ids: number[] }) => choice.token_ids.join());
    assert.ok(new Set(ids).size > 2, "samples of one prompt differ");
    const alone = await ask("/v1/completions", { ...common, prompt: PROMPT });
    assert.deepEqual(
      alone.body.choices.map((choice: { token_ids: number[] }) => choice.token_ids.join()),
      ids.slice(0, 3),
    );
    const greedy = { prompt: PROMPT, temperature: 0, max_tokens: 60 };
    const whole = (await ask("/v1/completions", greedy)).body.choices[0];
    assert.match(whole.text, /^<think><step>cat:/);
    assert.deepEqual([whole.finish_reason, typeof whole.stop_reason], ["stop", "number"]);
    const cut = (await ask("/v1/completions", { ...greedy, stop: ["</step>"] })).body.choices[0];
    assert.equal(cut.text, whole.text.split("</step>")[0]);
    assert.deepEqual([cut.finish_reason, cut.stop_reason], ["stop", "</step>"]);
    const including = { ...greedy, stop: "</step>", include_stop_str_in_output: true };
    assert.equal(
      (await ask("/v1/completions", including)).body.choices[0].text,
      `${cut.text}</step>`,
    );
    const empty = { ...greedy, max_tokens: 0, echo: true, logprobs: 1 };
    const { choices: [echoed], usage } = (await ask("/v1/completions", empty)).body;
    assert.deepEqual([echoed.text, echoed.logprobs.tokens.length], [PROMPT, 9]);
    assert.deepEqual([usage.prompt_tokens, usage.completion_tokens, usage.total_tokens], [9, 0, 9]);
    const { echo: _, ...silent } = empty;
    const unasked = (await ask("/v1/completions", { ...silent, return_token_ids: true })).body;
    assert.deepEqual(unasked.choices[0].token_ids, []);
    assert.deepEqual(unasked.choices[0].logprobs.tokens, []);
    const streaming = { ...silent, stream: true, stream_options: { include_usage: true } };
    const { body: events } = await ask("/v1/completions", streaming);
    assert.match(events, /"completion_tokens":0,/);
    const ignoring = { ...greedy, ignore_eos: true, max_tokens: 80, return_token_ids: true };
    assert.equal((await ask("/v1/completions", ignoring)).body.choices[0].token_ids.length, 80);
  });
});

Deno.test("completions: what cannot be had is refused by name, and the next request is answered", async () => {
  await withModels(async ({ ask, url }) => {
    const refusals: [object, number, string | null, RegExp][] = [
      [{ prompt: "a", model: "none" }, 404, "model", /There is tiny/],
      [{ prompt: "a", logit_bias: { 5: 1 } }, 400, "logit_bias", /not built/],
      [{ prompt: "a", presence_penalty: 0.5 }, 400, "presence_penalty", /not built/],
      [{ prompt: "a", suffix: "b" }, 400, "suffix", /not built/],
      [{ prompt: "a", strange: 1 }, 400, null, /strange/],
      [{ prompt: [] }, 400, "prompt", /./],
      [{ prompt: "" }, 400, "prompt", /empty/],
      [{ prompt: [5, 64] }, 400, "prompt", /token 64/],
      [{ prompt: "a", max_tokens: 512 }, 400, "max_tokens", /512/],
      [{ prompt: "a".repeat(600) }, 400, "prompt", /600/],
      [{ prompt: "a", temperature: -1 }, 400, "temperature", /./],
      [{ prompt: "a", echo: true, logprobs: 1, stream: true }, 400, "stream", /not streamed/],
    ];
    for (const [asked, status, param, message] of refusals) {
      const answer = await ask("/v1/completions", asked);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.equal(answer.body.error.param, param);
      assert.match(answer.body.error.message, message);
    }
    const nowhere = await fetch(`${url}/v1/nothing`);
    assert.equal(nowhere.status, 404);
    assert.match((await nowhere.json()).error.message, /openapi/);
    const form = await fetch(`${url}/v1/completions`, { method: "POST", body: "prompt=a" });
    assert.equal(form.status, 415);
    const unheard = await fetch(`${url}/v1/completions`, { method: "PUT" });
    assert.deepEqual([unheard.status, unheard.headers.get("allow")], [405, "POST"]);
    await unheard.body?.cancel();
    assert.equal((await form.json()).error.type, "invalid_request_error");
    assert.equal((await ask("/v1/completions", { prompt: "a" })).status, 200);
  });
});

Deno.test("completions: 64 at once are those that come one by one", async () => {
  await withModels(async ({ ask }) => {
    const common = { prompt: PROMPT, max_tokens: 20, return_token_ids: true };
    const seeds = Array.from({ length: 64 }, (_, seed) => seed);
    const together = await Promise.all(
      seeds.map((seed) => ask("/v1/completions", { ...common, seed })),
    );
    for (const seed of [0, 33, 63]) {
      const alone = await ask("/v1/completions", { ...common, seed });
      assert.deepEqual(together[seed].body.choices, alone.body.choices);
    }
  });
});

Deno.test("completions: who asks when too many wait is told when to come again, and who hangs up gives up", async () => {
  await withModels(async ({ ask, url, served }) => {
    const hangUp = new AbortController();
    const much = {
      prompt: Array.from({ length: 2048 }, () => PROMPT),
      ...{ max_tokens: 400, ignore_eos: true },
    };
    const post = () =>
      fetch(`${url}/v1/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(much),
        signal: hangUp.signal,
      });
    const given = [post(), post()];
    const { model } = served.find("tiny");
    while (model.pending < 4096) await new Promise((resolve) => setTimeout(resolve, 5));
    const refused = await ask("/v1/completions", much);
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get("retry-after")) >= 1);
    assert.equal(refused.body.error.type, "rate_limit_error");
    hangUp.abort();
    await Promise.allSettled(given);
    await untilIdle(served);
    assert.equal((await ask("/v1/completions", { prompt: "a", max_tokens: 2 })).status, 200);
  });
});

Deno.test("completions: of a process that ends responses fail, and the next request starts it again", async () => {
  await withModels(async ({ ask, url, served }) => {
    const { model } = served.find("tiny");
    // More than is answered before the process is killed, however slow that is.
    const long = { prompt: Array(256).fill(PROMPT), max_tokens: 400, ignore_eos: true };
    const kill = () => Deno.kill(model.pid ?? assert.fail("no process"), "SIGKILL");
    const lost = ask("/v1/completions", long).then(({ status, body }) => {
      assert.deepEqual([status, body.error.type], [503, "server_error"]);
    }, (error) => {
      // An answer that has begun, after a second, has its status: it breaks off, and clients try again.
      assert.match(`${error}`, /error reading a body from connection/);
    });
    while (model.pending === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    kill();
    await lost;
    const short = { prompt: PROMPT, max_tokens: 2 };
    assert.equal((await ask("/v1/completions", short)).status, 200);

    const response = await fetch(`${url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...long, stream: true }),
    });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader.read()).value ?? "";
    kill();
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
    const [error, done] = text.trim().split("\n\n").slice(-2);
    assert.equal(JSON.parse(error.replace("data: ", "")).error.type, "server_error");
    assert.equal(done, "data: [DONE]");
    assert.equal((await ask("/v1/completions", short)).status, 200);
  });
});

Deno.test("generate: ids and log-probs are those of a completion", async () => {
  await withModels(async ({ ask }) => {
    const { body: { tokens } } = await ask("/tokenize", { prompt: PROMPT });
    const common = { max_tokens: 9, seed: 3, logprobs: 0 };
    const completion = { ...common, prompt: tokens, return_token_ids: true };
    const [wanted] = (await ask("/v1/completions", completion)).body.choices;
    const { status, body } = await ask("/inference/v1/generate", {
      token_ids: tokens,
      sampling_params: { ...common, skip_special_tokens: false },
    });
    assert.equal(status, 200, JSON.stringify(body));
    const [choice] = body.choices;
    assert.deepEqual(choice.token_ids, wanted.token_ids);
    assert.deepEqual(
      choice.logprobs.content.map(({ logprob }: { logprob: number }) => logprob),
      wanted.logprobs.token_logprobs,
    );
    assert.equal((await ask("/inference/v1/generate", { token_ids: tokens })).status, 400);
  });
});
