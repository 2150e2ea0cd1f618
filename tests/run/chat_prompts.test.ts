import assert from "node:assert/strict";
import { join } from "node:path";
import { loadSftConfig, loadTangoConfig } from "../../src/run/config/load_config.ts";
import { openPolicies, promptFitOf, releasePolicies } from "../../src/run/tango/policies.ts";
import { SftRun } from "../../src/run/sft/sft_run.ts";
import { onEveryGpu } from "../kernels/harness.ts";
import { Tokenizer } from "../../src/model/tokenizer/tokenizer.ts";
import { characterTokenizer, characterTokenizerConfig } from "../../src/data/vocabulary.ts";
import { tinyData } from "./tiny_data.ts";
import { type TinyProject, withTinyProject } from "./tiny_project.ts";

const chatTemplate = "{{ bos_token }}{% for message in messages %}" +
  "{{ message.role }}: {{ message.content }}\n{% endfor %}" +
  "{% if add_generation_prompt %}assistant: {% endif %}";

const tokenizer = Tokenizer.fromJson(
  { ...characterTokenizer() },
  { ...characterTokenizerConfig() },
  "the character vocabulary",
);

/** Teaches a tiny model to converse. */
function addChatTemplate(model: string): void {
  const file = join(model, "tokenizer_config.json");
  const settings = JSON.parse(Deno.readTextFileSync(file));
  Deno.writeTextFileSync(file, JSON.stringify({ ...settings, chat_template: chatTemplate }));
}

/** Writes prompts that leave the beginning of the text to the chat template. */
function writePrompts({ folder }: TinyProject) {
  const generator = join(folder, "generator.txt"), verifier = join(folder, "verifier.txt");
  Deno.writeTextFileSync(generator, "solve {{ question }}");
  Deno.writeTextFileSync(verifier, "judge {{ steps }} steps of {{ solution }} to {{ question }}");
  return { generator, verifier };
}

onEveryGpu(
  "chat: both policies are asked in their model's template, trained or measured",
  async (gpu) => {
    await withTinyProject(gpu, async (project) => {
      const prompts = writePrompts(project);
      addChatTemplate(project.generator);
      addChatTemplate(project.verifier);
      const config = loadTangoConfig(project.config, {
        set: [
          `generator.prompt_template=${prompts.generator}`,
          `verifier.prompt_template=${prompts.verifier}`,
          "generator.chat=true",
          "verifier.chat=true",
          "verifier.system_prompt=be strict",
        ],
      });
      for (const frozen of [false, true]) {
        const policies = await openPolicies(gpu, config, { frozen });
        const { generator, verifier } = policies;
        const asked = "<bos>user: solve it\nassistant: ";
        assert.equal(generator.template.render({ question: "it" }), asked);
        assert.equal(
          verifier?.template.render({ question: "it", solution: "so", steps: 2 }),
          "<bos>system: be strict\nuser: judge 2 steps of so to it\nassistant: ",
        );
        // <bos> is one token, and so is each character.
        const tokens = asked.length - "<bos>".length + 1;
        const fits = promptFitOf(policies);
        assert.deepEqual([fits("it", tokens), fits("it", tokens - 1)], [true, false]);
        releasePolicies(policies);
      }
    });
  },
);

onEveryGpu("chat: fine-tuning imitates responses to the same prompts", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const prompts = writePrompts(project);
    addChatTemplate(project.generator);
    const file = join(project.folder, "examples.jsonl");
    Deno.writeTextFileSync(file, tinyData(6));
    const test = join(project.folder, "test.jsonl");
    Deno.writeTextFileSync(test, tinyData(2, 6));
    const [{ question }] = tinyData(1).split("\n").map((line) => JSON.parse(line));
    const chat = [
      `initial_model=${project.generator}`,
      `prompt_template=${prompts.generator}`,
      "chat=true",
      "system_prompt=be short",
    ];
    const columns = "{question: question, solution: solution}";
    const sources = {
      file: `data={train: [{path: ${file}, columns: ${columns}}], shuffle: false, ` +
        `held_out: [{path: ${test}, columns: ${columns}}]}`,
      task: "data=null",
    };
    for (const [name, source] of Object.entries(sources)) {
      const config = loadSftConfig(project.sftConfig, { set: [...chat, source] });
      const run = await SftRun.open(gpu, config);
      const [sample] = run.examples.some(1);
      const text = tokenizer.decode(sample.prompt);
      assert.match(text, /^system: be short\nuser: solve .*\nassistant: $/, name);
      if (name === "file") {
        const asked = `<bos>system: be short\nuser: solve ${question}\nassistant: `;
        assert.deepEqual(sample.prompt, tokenizer.encode(asked));
      }
      // What is learned from is the response alone, each of its tokens alike.
      assert.equal(sample.weights.length, sample.response.length);
      assert.ok(sample.weights.every((weight) => weight === 1));
      assert.match(tokenizer.decode(sample.response), /^<think>.*<\/answer>$/);
      run.close();
    }
  });
});

onEveryGpu(
  "chat: a model without a template, or a system prompt without chat, is refused",
  async (gpu) => {
    await withTinyProject(gpu, async ({ config: file, sftConfig, generator }) => {
      const before = gpu.pool.liveBytes;
      const config = loadTangoConfig(file, { set: ["generator.chat=true"] });
      await assert.rejects(openPolicies(gpu, config), {
        name: "UserError",
        message: new RegExp(`${generator} has no chat template`),
      });
      assert.equal(gpu.pool.liveBytes, before);
      for (const policy of ["generator", "verifier"]) {
        assert.throws(
          () => loadTangoConfig(file, { set: [`${policy}.system_prompt=be brief`] }),
          /system_prompt.*"be brief".*null, because chat is false/,
        );
      }
      assert.throws(
        () => loadSftConfig(sftConfig, { set: ["system_prompt=be brief"] }),
        /system_prompt.*"be brief".*null, because chat is false/,
      );
    });
  },
);
