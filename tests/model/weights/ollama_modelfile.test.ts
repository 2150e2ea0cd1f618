/** Chat templates as Ollama's; that Go renders them alike was looked at by hand. */

import assert from "node:assert/strict";
import { ChatTemplate } from "../../../src/model/tokenizer/chat_template.ts";
import { Tokenizer } from "../../../src/model/tokenizer/tokenizer.ts";
import { mergedTokenizer } from "../merged_tokenizer.ts";
import { modelfile, turnTextsOf } from "../../../src/model/weights/ollama_modelfile.ts";

/** A template of a tokenizer whose first token is `<bos>`. */
function templateOf(chat_template: string): ChatTemplate {
  const settings = { chat_template, bos_token: "<bos>" };
  const tokenizer = Tokenizer.fromJson(mergedTokenizer().definition, settings, "test");
  return new ChatTemplate(tokenizer, "test");
}

const CHATML = `{% for message in messages %}{% if loop.first and message.role != 'system' %}` +
  `<|im_start|>system\nBe kind.<|im_end|>\n{% endif %}<|im_start|>{{ message.role }}\n` +
  `{{ message.content }}<|im_end|>\n{% endfor %}` +
  `{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}`;

Deno.test("modelfile: turns with a system message of the template's own", () => {
  const texts = turnTextsOf(templateOf(CHATML));
  assert.deepEqual(texts, {
    head: "",
    around: {
      system: ["<|im_start|>system\n", "<|im_end|>\n"],
      user: ["<|im_start|>user\n", "<|im_end|>\n"],
      assistant: ["<|im_start|>assistant\n", "<|im_end|>\n"],
    },
    asking: "<|im_start|>assistant\n",
    system: "Be kind.",
  });
  assert.equal(
    modelfile("a.gguf", texts, null, ["<|im_end|>"]),
    `FROM ./a.gguf
TEMPLATE """{{ range .Messages }}{{ if eq .Role "system" }}<|im_start|>system
{{ .Content }}<|im_end|>
{{ else if eq .Role "user" }}<|im_start|>user
{{ .Content }}<|im_end|>
{{ else if eq .Role "assistant" }}<|im_start|>assistant
{{ .Content }}<|im_end|>
{{ end }}{{ end }}<|im_start|>assistant
"""
SYSTEM """Be kind."""
PARAMETER stop "<|im_end|>"
`,
  );
});

Deno.test("modelfile: a first token that is put there anyway is not written twice, and braces stay text", () => {
  const texts = turnTextsOf(
    templateOf(
      `{{ bos_token }}{% for message in messages %}[{{ message.role }}] {{ '{{' }}` +
        `{{ message.content | trim }}</t>{% endfor %}{% if add_generation_prompt %}[assistant] {{ '{{' }}{% endif %}`,
    ),
  );
  assert.equal(texts.head, "<bos>");
  assert.equal(texts.system, null);
  assert.match(modelfile("a.gguf", texts, "<bos>", []), /TEMPLATE """\{\{ range \.Messages \}\}/);
  assert.match(
    modelfile("a.gguf", texts, null, []),
    /TEMPLATE """<bos>\{\{ range .* \}\}\[user\] \{\{ "\{\{" \}\}\{\{ \.Content \}\}<\/t>/,
  );
});

Deno.test("modelfile: a template that looks at more than roles is refused", () => {
  const templates = [
    // Numbered turns.
    `{% for message in messages %}{{ loop.index }} {{ message.role }}: {{ message.content }}\n{% endfor %}`,
    // The last message alone.
    `{{ messages[-1].content }}`,
    // The system message inside the user's.
    `{% for message in messages %}{% if message.role == 'system' %}{% else %}[{% if loop.index == 2 %}` +
    `{{ messages[0].content }}{% endif %}{{ message.content }}]{% endif %}{% endfor %}`,
  ];
  for (const template of templates) {
    assert.throws(() => turnTextsOf(templateOf(template)), {
      name: "UserError",
      message: /depends on more than who says it/,
    });
  }
});
