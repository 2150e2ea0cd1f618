/** The verifier that a run has trained beside a generator that is served. */

import { dirname, join } from "node:path";
import { exists } from "../../platform/files/atomic_file.ts";
import { withTurnEnd } from "../../model/tokenizer/stop_tokens.ts";
import { generatorTemplate, verifierTemplate } from "../../rl/prompt_template.ts";
import type { VerifierTemplate } from "../../rl/prompt_template.ts";
import type { Prompted } from "../../rl/verifier_prompt.ts";
import type { TangoConfig } from "../../run/config/config_schema.ts";
import { expectCritiques } from "../../run/config/expect_critiques.ts";
import { loadTangoConfig } from "../../run/config/load_config.ts";
import { RunFolder } from "../../run/store/run_folder.ts";
import { promptOf } from "../../run/tango/policies.ts";
import type { ModelNames } from "./model_names.ts";
import type { Served } from "./served_models.ts";

/** A served verifier, and how the run has asked it. */
export interface VerifierBeside {
  readonly served: Served;
  readonly prompted: Prompted<VerifierTemplate>;
  readonly stopTokens: readonly number[];
  /** The question of a prompt as the run's generator is put it; null of any other prompt. */
  questionOf(prompt: string): string | null;
}

/** Stands for a question; no template has it. */
const MARK = "\u{f0000}question\u{f0000}";

/**
 * Opens the verifier of the run whose generator is served: that of the same checkpoint, or the folder beside the
 * generator's own. Null where there is none, or the run's configuration is not there to say how to ask it.
 *
 * @throws UserError when it cannot be opened
 * @throws RequestProblem when there is no room for it: 503
 */
export async function openVerifierBeside(
  generator: Served,
  names: ModelNames,
): Promise<VerifierBeside | null> {
  const found = runOf(generator);
  if (found === null) return null;
  const config = loadTangoConfig(found.configuration);
  const { verifier } = config;
  if (verifier === null) return null;
  expectCritiques(config);
  const served =
    await (found.checkpoint === null
      ? names.served.openPolicy(found.folder, found.folder, null)
      : names.find(found.checkpoint));
  const { tokenizer, config: model } = served.text;
  const template = verifierTemplate(verifier.prompt_template);
  const { prompt, turnEnd } = promptOf(verifier, template, tokenizer);
  return {
    served,
    prompted: {
      ...{ tokenizer, template: prompt, config: model },
      maximumResponse: verifier.max_response_length,
      maximumPrompt: verifier.maximum_prompt_tokens,
    },
    stopTokens: withTurnEnd(served.text.stopTokens, turnEnd),
    questionOf: questionReader(config, generator),
  };
}

/** Where a generator's run keeps its verifier. */
type FoundVerifier =
  | { readonly configuration: string; readonly checkpoint: string }
  | { readonly configuration: string; readonly checkpoint: null; readonly folder: string };

function runOf({ name, path, model: { source: { run } }, adapter }: Served): FoundVerifier | null {
  if (run !== null) {
    if (run.policy !== "generator") return null;
    const checkpoint = name.replace(/\/generator@(\d+)$/, "/verifier@$1");
    return { configuration: RunFolder.at(run.folder).configuration, checkpoint };
  }
  const parent = dirname(path);
  const folder = join(parent, "verifier");
  if (adapter !== null || path === folder || !exists(folder)) return null;
  const configuration = [parent, dirname(parent)].map((one) => RunFolder.at(one).configuration)
    .find((file) => exists(file) && /^generator:/m.test(Deno.readTextFileSync(file)));
  return configuration === undefined ? null : { configuration, checkpoint: null, folder };
}

/** Takes the generator's template off its prompts. */
function questionReader({ generator }: TangoConfig, { text: { tokenizer } }: Served) {
  const template = generatorTemplate(generator.prompt_template);
  const { prompt } = promptOf(generator, template, tokenizer);
  const [before, after, ...more] = prompt.render({ question: MARK }).split(MARK);
  return (asked: string) => {
    const isPlain = after !== undefined && more.length === 0;
    const fits = isPlain && asked.length > before.length + after.length &&
      asked.startsWith(before) && asked.endsWith(after);
    return fits ? asked.slice(before.length, asked.length - after.length) : null;
  };
}
