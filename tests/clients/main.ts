/**
 * Runs scripts with clients that people have, unchanged, against a server of their own with a model.
 *
 *     python3 -m venv .venv && .venv/bin/pip install -r tests/clients/requirements.txt
 *     deno run -A tests/clients/main.ts --python .venv/bin/python
 *
 * Other arguments are scripts of this folder, all of them by default. `--model PATH` is the model, by default the
 * embedded one, which `openai_client.py` and `tinker_learn.py` need.
 */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { program } from "../server/client.ts";
import { TINY, withModels } from "../server/openai/with_models.ts";

const { values: { python, model }, positionals } = parseArgs({
  args: Deno.args,
  allowPositionals: true,
  options: {
    python: { type: "string", default: "python3" },
    model: { type: "string", default: TINY },
  },
});
/** What 20 steps of `./tango train --config configs/last-letter.yaml` reach, seed 0, on 512 held-out problems. */
const REACHED = 0.384;

const scripts = positionals.length > 0
  ? positionals
  : ["openai_client.py", "tinker_acceptance.py", "tinker_learn.py"];
let failed = 0;
for (const script of scripts) {
  await withModels(
    async ({ url, root }) => {
      const child = new Deno.Command(python, {
        args: ["-W", "ignore", fileURLToPath(import.meta.resolve(`./${script}`))],
        env: { TINKER_BASE_URL: url, TINKER_API_KEY: "tml-none", TINKER_TELEMETRY: "0" },
      }).spawn();
      if (!(await child.status).success) failed++;
      else if (script === "tinker_learn.py") {
        const before = await accuracyOf(TINY), after = await accuracyOf(learnedIn(root));
        console.log(`held-out problems, greedy: ${before} → ${after}, ./tango train: ${REACHED}`);
        if (after < REACHED) failed++;
      }
    },
    { tiny: model },
    { slots: 128, cacheTokens: 16_384, microBatchTokens: 2048 },
  );
}
Deno.exit(failed === 0 ? 0 : 1);

/** The adapter that the script has saved. */
function learnedIn(root: string): string {
  const checkpoints = join(root, "checkpoints");
  const [session] = Array.from(Deno.readDirSync(checkpoints), ({ name }) => name);
  return join(checkpoints, session, "train-0/sampler_weights/learned");
}

/** Of 512 problems that nobody has trained on, by `./tango eval`. */
async function accuracyOf(model: string): Promise<number> {
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", program, "eval", "--model", model, "--problems", "512", "--json"],
    cwd: PROJECT_FOLDER,
  }).output();
  if (!success) throw new Error(`${model} cannot be measured`);
  return JSON.parse(new TextDecoder().decode(stdout)).metrics["eval/generator/accuracy"];
}
