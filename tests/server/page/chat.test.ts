import assert from "node:assert/strict";
import { askModel, type ModelRequest } from "../../../src/server/page/chat/ask_model.ts";
import {
  type ConversationStore,
  conversedModels,
  keepConversation,
  keptConversation,
  MOST_CHARACTERS,
  MOST_CONVERSATIONS,
} from "../../../src/server/page/chat/kept_conversations.ts";
import type { Turn } from "../../../src/server/page/chat/turn.ts";

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

/** A browser's storage, which refuses more characters than it has room for. */
class Storage implements ConversationStore {
  readonly entries = new Map<string, string>();
  constructor(readonly room = Infinity) {}

  get length() {
    return this.entries.size;
  }
  key(place: number) {
    return [...this.entries.keys()][place] ?? null;
  }
  getItem(key: string) {
    return this.entries.get(key) ?? null;
  }
  setItem(key: string, value: string) {
    const others = this.entries.entries().filter(([other]) => other !== key);
    const taken = others.reduce((sum, [, { length }]) => sum + length, 0);
    if (taken + value.length > this.room) throw new DOMException("full", "QuotaExceededError");
    this.entries.set(key, value);
  }
  removeItem(key: string) {
    this.entries.delete(key);
  }
}

const turn = (id: number, said: string, changes: Partial<Turn> = {}): Turn => ({
  ...{ id, said, model: "a", reply: "yes", isJudged: false, critique: "", judged: null },
  ...{ isContinued: false, end: "stop", error: null, ...changes },
});

Deno.test("page's chat: a conversation is kept as it was, and one that was being written ends with the page", () => {
  const store = new Storage();
  const turns = [
    turn(4, "one"),
    turn(7, "two", { end: "failed", error: new Error("The GPU is gone.") }),
    turn(8, "three", { end: null }),
  ];
  keepConversation(store, "runs/a:b", { turns, dropped: 2 });
  const kept = keptConversation(store, "runs/a:b");
  assert.deepEqual(kept, {
    turns: [
      { ...turns[0], id: 1 },
      { ...turns[1], id: 2 },
      { ...turns[2], id: 3, end: "left" },
    ],
    dropped: 2,
  });
  assert.deepEqual(keptConversation(store, "b"), { turns: [], dropped: 0 });
  keepConversation(store, "runs/a:b", { turns: [], dropped: 0 });
  assert.equal(store.length, 0);
});

Deno.test("page's chat: a long conversation keeps its end, and of many the ones gone on with last stay", () => {
  const store = new Storage();
  const long = "x".repeat(MOST_CHARACTERS / 3);
  keepConversation(store, "a", { turns: [1, 2, 3, 4].map((id) => turn(id, long)), dropped: 1 }, 0);
  const kept = keptConversation(store, "a");
  // With what stands around each text there is room for two.
  assert.deepEqual([kept.turns.length, kept.dropped], [2, 3]);
  keepConversation(store, "vast", { turns: [turn(1, long.repeat(4))], dropped: 0 }, 1);
  assert.deepEqual(keptConversation(store, "vast"), { turns: [], dropped: 1 });
  for (let i = 2; i < MOST_CONVERSATIONS + 2; i++) {
    keepConversation(store, `m${i}`, { turns: [turn(1, "hello")], dropped: 0 }, i);
  }
  const models = conversedModels(store);
  assert.deepEqual([models.length, models[0], models.at(-1)], [MOST_CONVERSATIONS, "m21", "m2"]);
});

Deno.test("page's chat: where there is no room the oldest give way, and what nobody wrote so is not read", () => {
  const store = new Storage(600);
  store.entries.set("theme", "dark");
  for (let i = 0; i < 9; i++) {
    keepConversation(store, `m${i}`, { turns: [turn(1, "hello")], dropped: 0 }, i);
  }
  const models = conversedModels(store);
  assert(models.length < 9 && models.length > 1, models.join());
  assert.equal(models[0], "m8");
  const huge = { turns: [turn(1, "x".repeat(700))], dropped: 0 };
  assert.throws(() => keepConversation(store, "a", huge), /full/);
  assert.equal(store.getItem("theme"), "dark");
  for (const entry of ["{", "[]", "null", '{"at":1,"dropped":0,"turns":[{"said":1}]}']) {
    store.entries.set("conversation-1:a", entry);
    assert.deepEqual(keptConversation(store, "a"), { turns: [], dropped: 0 }, entry);
  }
});
