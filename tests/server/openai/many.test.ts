/** Many requests, some of them given up: nothing of them stays. */

import assert from "node:assert/strict";
import { type WithModels, withModels } from "./with_models.ts";

/** More by the variable, for those who have the time. */
const REQUESTS = Number(Deno.env.get("TANGO_TEST_REQUESTS") ?? 600);
const AT_ONCE = 48;

async function metric({ url }: WithModels, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const [, value] = new RegExp(`^${name}{model="tiny"} (\\S+)$`, "m").exec(text) ?? [];
  return Number(value ?? assert.fail(text));
}

Deno.test(`many: ${REQUESTS} requests of all kinds, a third of them given up, leave no page of the cache behind`, async () => {
  await withModels(
    async (server) => {
      const { url, served } = server;
      const { model, info: { maximumTokens } } = served.find("tiny");
      const pages = await metric(server, "tango_model_cache_pages");
      let next = 0;
      const ask = async () => {
        for (let i = next++; i < REQUESTS; i = next++) {
          const given = i % 3 === 0;
          const leaving = AbortSignal.timeout(1 + i % 40);
          const length = 1 + i * 7 % 90;
          const body = {
            prompt: Array.from({ length }, (_, at) => 1 + (i % 5 + at * at) % 60),
            max_tokens: 1 + i % 30,
            ...{ seed: i, n: 1 + i % 3, ignore_eos: i % 2 === 0, stream: i % 4 === 0 },
            ...(i % 5 === 0 && i % 4 !== 0 ? { echo: true, logprobs: 2 } : {}),
          };
          try {
            const response = await fetch(`${url}/v1/completions`, {
              method: "POST",
              headers: { "content-type": "application/json" },
              body: JSON.stringify(body),
              signal: given ? leaving : null,
            });
            const text = await response.text();
            assert.equal(response.status, 200, text);
          } catch (error) {
            if (!(error instanceof DOMException)) throw error;
            assert.ok(given);
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, ask));
      while (model.pending > 0) await new Promise((resolve) => setTimeout(resolve, 20));
      assert.equal(await metric(server, "tango_model_responses"), 0);
      assert.equal(await metric(server, "tango_model_cache_pages_available"), pages);
      // All of it can be had at once again.
      const whole = await server.ask("/v1/completions", {
        prompt: Array.from({ length: maximumTokens - 1 }, (_, at) => 1 + at % 60),
        max_tokens: 1,
      });
      assert.equal(whole.status, 200, JSON.stringify(whole.body));
    },
    undefined,
    { slots: 16, cacheTokens: 1024 },
  );
});
