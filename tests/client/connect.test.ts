import assert from "node:assert/strict";
import { Refused } from "../../src/client/address.ts";
import { answered, connect } from "../../src/client/connect.ts";
import { TrainingSession } from "../../src/client/training_session.ts";
import { chatAnswer, completionAnswer } from "../../src/server/openai/answers.ts";
import { serve } from "../../src/server/serve.ts";
import { withModels } from "../server/openai/with_models.ts";
import { withFolder } from "../server/written_run.ts";

Deno.test("client: models are asked with the types of the server's own routes, and a refusal is an error", async () => {
  await withModels(async ({ url }) => {
    const client = connect({ url });
    const { data } = await answered(client.v1.models.$get());
    assert.deepEqual(data.map(({ id }) => id), ["tiny"]);
    const { tokens } = await answered(client.tokenize.$post({ json: { prompt: "<bos>cat?" } }));
    const asked = {
      prompt: tokens,
      max_tokens: 4,
      temperature: 0,
      logprobs: 2,
      prompt_logprobs: 1,
    };
    const completion = await answered(
      client.v1.completions.$post({ json: { ...asked, return_token_ids: true } }),
    );
    assert.deepEqual(completionAnswer.strict().parse(completion), completion);
    const [{ token_ids = [], logprobs }] = completion.choices;
    assert.equal(token_ids.length, 4);
    assert.equal(logprobs?.token_logprobs.length, 4);
    const none = client.v1.completions.$post({ json: { prompt: tokens, model: "none" } });
    await assert.rejects(answered(none), (error) => {
      assert.ok(error instanceof Refused);
      assert.deepEqual([error.status, /no model "none"/.test(error.message)], [404, true]);
      return true;
    });
    const chat = client.v1.chat.completions.$post({
      json: { messages: [{ role: "user", content: "cat" }] },
    });
    await assert.rejects(answered(chat), /no chat template/);
    const { runs } = await answered(client.api.runs.$get({ query: {} }));
    assert.deepEqual(runs, []);
    assert.ok(chatAnswer);
  });
});

Deno.test("client: with a token it is let in, without one it is refused", async () => {
  await withFolder(async (root) => {
    const options = { hostname: "127.0.0.1", port: 0, token: "tml-secret", folders: [], root };
    await using server = serve({ ...options, program: "none" });
    const { url } = server;
    await assert.rejects(
      answered(connect({ url }).api.runs.$get({ query: {} })),
      /A token is needed/,
    );
    await assert.rejects(TrainingSession.begin({ url }), /A token is needed/);
    const address = { url, token: "tml-secret" };
    assert.deepEqual((await answered(connect(address).api.runs.$get({ query: {} }))).runs, []);
    await using session = await TrainingSession.begin(address);
    // As Tinker's SDK says it.
    const headers = { "x-api-key": "tml-secret" };
    const { sessions } = await (await fetch(`${url}/api/v1/sessions`, { headers })).json();
    assert.deepEqual(sessions, [session.id]);
  });
});
