import assert from "node:assert/strict";
import { withFolder } from "../written_run.ts";
import { withModels, writeTalking } from "./with_models.ts";

const TEMPLATE = "{{ bos_token }}{% for m in messages %}{{ m.content }}?{% endfor %}" +
  "{% if add_generation_prompt %}<think>{% endif %}";
const asked = {
  ...{ temperature: 0, max_tokens: 12 },
  messages: [{ role: "user", content: "cat dog" }],
};

Deno.test("chats: what clients send by themselves changes nothing, and what would is refused by name", async () => {
  await withFolder(async (folder) => {
    writeTalking(folder, TEMPLATE);
    await withModels(async ({ ask }) => {
      const replyTo = async (others: object) => {
        const { status, body } = await ask("/v1/chat/completions", { ...asked, ...others });
        assert.equal(status, 200, JSON.stringify(body));
        return body.choices[0].message.content;
      };
      const plain = await replyTo({});
      const harmless = {
        ...{ store: false, metadata: { run: "1" }, service_tier: "auto", modalities: ["text"] },
        ...{ tools: [], tool_choice: "none", parallel_tool_calls: true, user: "me" },
        ...{ safety_identifier: "a", prompt_cache_key: "b", prompt_cache_retention: "24h" },
        ...{ logprobs: false, top_logprobs: 0, response_format: { type: "text" } },
        ...{ add_generation_prompt: true, continue_final_message: false },
      };
      assert.equal(await replyTo(harmless), plain);
      const none = Object.fromEntries(Object.keys(harmless).map((name) => [name, null]));
      assert.equal(await replyTo(none), plain);
      const part = (content: unknown) => ({ messages: [{ role: "user", content }] });
      const image = { type: "image_url", image_url: { url: "data:" } };
      const refusals: [object, string, RegExp][] = [
        [{ store: true }, "store", /not built/],
        [{ tools: [{ type: "function" }] }, "tools", /not built/],
        [{ tool_choice: "required" }, "tool_choice", /not built/],
        [{ tool_choice: { type: "function" } }, "tool_choice", /not built/],
        [{ modalities: ["text", "audio"] }, "modalities[1]", /not built/],
        [{ service_tier: "priority" }, "service_tier", /not built/],
        [{ response_format: { type: "json_object" } }, "response_format.type", /not built/],
        [{ top_logprobs: 1 }, "top_logprobs", /logprobs: true/],
        [
          { add_generation_prompt: true, continue_final_message: true },
          "continue_final_message",
          /add_generation_prompt: false/,
        ],
        [part([image]), "messages[0].content[0].type", /"image_url" is not built; expected "text"/],
        [part([{ type: "text" }]), "messages[0].content[0].text", /expected string/],
        [part(5), "messages[0].content", /expected string.*; or .*expected array/],
        [
          { messages: [{ role: "assistant", content: "", tool_calls: [{}] }] },
          "messages[0].tool_calls",
          /not built/,
        ],
      ];
      for (const [others, param, message] of refusals) {
        const { status, body } = await ask("/v1/chat/completions", { ...asked, ...others });
        assert.deepEqual([status, body.error?.param], [400, param], JSON.stringify(body));
        assert.match(body.error.message, message);
      }
    }, { tiny: folder });
  });
});

Deno.test("chats: the last message is continued, or no turn begins, where that is asked", async () => {
  await withFolder(async (folder) => {
    writeTalking(folder, TEMPLATE);
    await withModels(async ({ ask }) => {
      const idsOf = async (body: object) => (await ask("/tokenize", body)).body.tokens;
      // What is in the template, or in the message twice, is not taken for the message's end.
      const messages = [{ role: "user", content: "?" }, { role: "assistant", content: "<think>?" }];
      for (
        const [end, text] of [
          [{}, "<bos>??<think>??<think>"],
          [{ add_generation_prompt: false }, "<bos>??<think>??"],
          [{ continue_final_message: true }, "<bos>??<think>?"],
          [{ continue_final_message: true, add_generation_prompt: false }, "<bos>??<think>?"],
        ] as const
      ) {
        const prompt = await idsOf({ prompt: text });
        assert.deepEqual(await idsOf({ messages, ...end }), prompt, text);
        const more = { ...end, messages, return_token_ids: true, max_tokens: 1 };
        const { body } = await ask("/v1/chat/completions", more);
        assert.deepEqual(body.prompt_token_ids, prompt, text);
      }
    }, { tiny: folder });
  });
});
