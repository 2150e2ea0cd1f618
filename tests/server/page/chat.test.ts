import assert from "node:assert/strict";
import { askModel, type ModelRequest } from "../../../src/server/page/chat/ask_model.ts";

const ASKED: ModelRequest = {
  ...{ model: "mine", hasChat: null, said: ["a", "b", "c"] },
  ...{ temperature: 0, maximumTokens: 8 },
};

/** What is said, and what was asked for, of a server that answers by path. */
async function asked(request: ModelRequest, answers: Record<string, () => Response>) {
  const original = globalThis.fetch;
  const sent: [string, Record<string, unknown>][] = [];
  globalThis.fetch = (input, init) => {
    sent.push([String(input), JSON.parse(String(init?.body))]);
    return Promise.resolve(answers[String(input)]());
  };
  try {
    const pieces = await Array.fromAsync(askModel(request, new AbortController().signal));
    return { pieces, sent };
  } finally {
    globalThis.fetch = original;
  }
}

const events = (...items: object[]) => () =>
  new Response(
    [...items.map((one) => JSON.stringify(one)), "[DONE]"].map((one) => `data: ${one}\n\n`).join(
      "",
    ),
  );
const refused = (param: string) => () =>
  Response.json({ error: { message: "mine has no chat template", param } }, { status: 400 });

Deno.test("page's chat: turns go to the model's template, and its reply comes in pieces", async () => {
  const { pieces, sent } = await asked({ ...ASKED, hasChat: true }, {
    "/v1/chat/completions": events(
      { choices: [{ delta: { role: "assistant", content: "d" }, finish_reason: null }] },
      { choices: [{ delta: { content: "e" }, finish_reason: "stop" }] },
    ),
  });
  assert.deepEqual(pieces.map(({ text, end }) => [text, end]), [["d", null], ["e", "stop"]]);
  assert.deepEqual(sent.map(([, { messages }]) => messages), [[
    { role: "user", content: "a" },
    { role: "assistant", content: "b" },
    { role: "user", content: "c" },
  ]]);
});

Deno.test("page's chat: a model without a template goes on with the text, also where nobody knew", async () => {
  const answers = {
    "/v1/chat/completions": refused("model"),
    "/v1/completions": events({ choices: [{ text: "d", finish_reason: "length" }] }),
  };
  for (const hasChat of [null, false]) {
    const { pieces, sent } = await asked({ ...ASKED, hasChat }, answers);
    assert.deepEqual(pieces, [{ text: "d", end: "length", isContinued: true }]);
    assert.equal(sent.at(-1)?.[1].prompt, "ab\nc");
    assert.equal(sent.length, hasChat === null ? 2 : 1);
  }
});

Deno.test("page's chat: what else is refused, or breaks off in the middle, is said", async () => {
  await assert.rejects(
    asked(ASKED, { "/v1/chat/completions": refused("messages") }),
    /no chat template/,
  );
  const broken = events({ choices: [{ delta: { content: "d" }, finish_reason: null }] }, {
    error: { message: "The GPU is gone." },
  });
  await assert.rejects(asked(ASKED, { "/v1/chat/completions": broken }), /The GPU is gone/);
});
