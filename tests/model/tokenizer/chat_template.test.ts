import assert from "node:assert/strict";
import {
  characterTokenizer,
  characterTokenizerConfig,
  vocabularyTokens,
} from "../../../src/data/vocabulary.ts";
import { ChatTemplate } from "../../../src/model/tokenizer/chat_template.ts";
import { Tokenizer } from "../../../src/model/tokenizer/tokenizer.ts";

const withTemplate = (template: unknown) =>
  new ChatTemplate(
    Tokenizer.fromJson(
      { ...characterTokenizer() },
      { ...characterTokenizerConfig(), chat_template: template },
      "tokenizer.json",
    ),
    "the model",
  );

const turns = "{{ bos_token }}{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}" +
  "{% if add_generation_prompt %}assistant:{% endif %}";

Deno.test("chat template: messages, special tokens and the prompt for a reply", () => {
  const messages = [
    { role: "system", content: "be brief" },
    { role: "user", content: "hi" },
  ] as const;
  const expected = "<bos>system:be brief;user:hi;assistant:";
  assert.equal(withTemplate(turns).render(messages), expected);
  const named = [{ name: "tool_use", template: "no" }, { name: "default", template: turns }];
  assert.equal(withTemplate(named).render(messages), expected);
});

Deno.test("chat template: the token after a reply ends one; other text there does not", () => {
  assert.equal(withTemplate(turns).turnEnd(), null);
  const ended = turns.replace("{{ m.content }};", "{{ m.content }}<eos>;");
  assert.equal(withTemplate(ended).turnEnd(), vocabularyTokens.indexOf("<eos>"));
});

Deno.test("chat template: none, a broken one, and one that refuses are told apart", () => {
  const refused = (template: unknown, message: RegExp) =>
    assert.throws(() => withTemplate(template).render([{ role: "user", content: "hi" }]), {
      name: "UserError",
      message,
    });
  refused(undefined, /the model has no chat template/);
  refused("{% for %}", /the model: its chat template cannot be used/);
  refused("{{ raise_exception('only systems') }}", /cannot be used: .*only systems/);
});
