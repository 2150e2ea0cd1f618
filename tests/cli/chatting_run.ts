/** A run whose generator is asked in a conversation. */

import { join } from "node:path";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";

/**
 * A finished run of `last-letter`, whose generator has its prompt as a chat template.
 *
 * @param folder empty
 * @param configuration changes the run's, as YAML
 */
export function chattingRun(
  folder: string,
  configuration: (text: string) => string = (text) => text,
): { generator: string; verifier: string } {
  const run = { generator: join(folder, "generator"), verifier: join(folder, "verifier") };
  for (const [name, target] of Object.entries(run)) {
    Deno.mkdirSync(target);
    const source = join(PROJECT_FOLDER, "weights/last-letter", name);
    for (const { name: file } of Deno.readDirSync(source)) {
      Deno.copyFileSync(join(source, file), join(target, file));
    }
  }
  const file = join(run.generator, "tokenizer_config.json");
  const prompt = Deno.readTextFileSync(join(PROJECT_FOLDER, "configs/prompts/generator.txt"));
  const chat_template = prompt.trimEnd().replace("question", "messages[-1].content");
  const settings = JSON.parse(Deno.readTextFileSync(file));
  Deno.writeTextFileSync(file, JSON.stringify({ ...settings, chat_template }));
  const yaml = Deno.readTextFileSync(join(PROJECT_FOLDER, "configs/last-letter.yaml"));
  Deno.writeTextFileSync(join(folder, "config.yaml"), configuration(yaml));
  Deno.writeTextFileSync(join(folder, "metrics.jsonl"), "");
  return run;
}
