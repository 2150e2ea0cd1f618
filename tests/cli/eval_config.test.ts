import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { configure, type EvalOptions } from "../../src/cli/eval/eval_config.ts";

/** Makes a run's folder of a configuration. @returns a path in it */
function writeRun(root: string, name: string, config: object): (policy: string) => string {
  const folder = join(root, name);
  Deno.mkdirSync(folder);
  Deno.writeTextFileSync(join(folder, "config.yaml"), stringify(config));
  Deno.writeTextFileSync(join(folder, "metrics.jsonl"), "");
  return (policy) => join(folder, policy);
}

Deno.test("eval: each policy is prompted as in its own run, on the problems of the generator's", () => {
  const root = Deno.makeTempDirSync();
  try {
    const tuned = writeRun(root, "tuned", {
      policy: "verifier",
      initial_model: "base",
      data: { train: [{ path: "tuned.jsonl" }], maximum_response_tokens: 99 },
      chat: true,
      system_prompt: "be strict",
      prompt_template: "judge.txt",
    });
    const trained = writeRun(root, "trained", {
      data: { train: [{ path: "trained.jsonl" }] },
      generator: { model: "g", prompt_template: "ask.txt", max_response_length: 31, chat: true },
      verifier: { model: "v", max_response_length: 32 },
    });
    const verifier = { model: tuned("verifier"), policy: "verifier", k: 1 } as const;
    const prompted = (options: EvalOptions, judgesFiles: boolean) => {
      const { data, generator, verifier } = configure(options, judgesFiles);
      const told = [generator, ...(verifier ? [verifier] : [])].map((policy) => [
        ...[policy.chat, policy.system_prompt, policy.prompt_template, policy.max_response_length],
      ]);
      return { problems: data?.train[0].path, told };
    };
    const strict = [true, "be strict", "judge.txt", 99];
    const asking = [true, null, "ask.txt", 31];
    // Solutions from files: there is no generator.
    assert.deepEqual(prompted(verifier, true).told[1], strict);
    assert.deepEqual(prompted({ ...verifier, generator: trained("generator") }, false), {
      problems: "trained.jsonl",
      told: [asking, strict],
    });
    const ofTrained = { ...verifier, model: trained("best/verifier") };
    assert.deepEqual(prompted({ ...ofTrained, generator: trained("generator") }, false), {
      problems: "trained.jsonl",
      told: [asking, [false, null, "configs/prompts/verifier.txt", 32]],
    });
    // The command line has the last word.
    const set = ["verifier.max_response_length=7"];
    assert.deepEqual(prompted({ ...verifier, set }, true).told[1], [...strict.slice(0, 3), 7]);
  } finally {
    Deno.removeSync(root, { recursive: true });
  }
});

Deno.test("eval: --temperature is that of critiques too, whatever the configuration has for them", () => {
  const asked = { model: "g", policy: "generator", k: 8, verifier: "v", critiques: 4 } as const;
  const set = ["rollout.critique_temperature=1"];
  const { temperature, critique_temperature } =
    configure({ ...asked, set, temperature: 0.7 }, false).rollout;
  assert.deepEqual([temperature, critique_temperature], [0.7, null]);
  assert.equal(configure({ ...asked, set }, false).rollout.critique_temperature, 1);
});
