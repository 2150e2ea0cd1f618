import assert from "node:assert/strict";
import { withModels } from "./with_models.ts";

Deno.test("tokens: texts to ids and back, the text of a special token is that token", async () => {
  await withModels(async ({ ask, url }) => {
    const { body } = await ask("/tokenize", { prompt: "<bos>cat?", add_special_tokens: false });
    assert.equal(body.count, 5);
    assert.equal(body.max_model_len, 512);
    const back = await ask("/detokenize", { tokens: body.tokens });
    assert.equal(back.body.prompt, "cat?");
    const info = await (await fetch(`${url}/tokenizer_info`)).json();
    assert.deepEqual(Object.keys(info).sort(), [
      ...["bos_token", "chat_template", "eos_token", "pad_token", "tokenizer_class"],
    ]);
    const [eos] = (await ask("/tokenize", { prompt: info.eos_token })).body.tokens;
    assert.equal((await ask("/detokenize", { tokens: [eos] })).body.prompt, "");
    assert.equal((await ask("/detokenize", { tokens: [64] })).status, 400);
    const neither = await ask("/tokenize", {});
    assert.equal(neither.body.error.param, "prompt");
    const chat = await ask("/tokenize", { messages: [{ role: "user", content: "a" }] });
    assert.match(chat.body.error.message, /no chat template/);
    assert.equal((await fetch(`${url}/health`)).status, 200);
  });
});
