/**
 * Tries the API against its own description with schemathesis: no error of the server, no answer that is not
 * described, nothing refused that the description allows.
 *
 *     python3 -m venv .venv && .venv/bin/pip install -r tests/server/schemathesis/requirements.txt
 *     deno run -A tests/server/schemathesis/main.ts --command .venv/bin/schemathesis --cases 100
 *
 * It is given a server of its own with one run that has ended. What it starts there is a stand-in that ends at once,
 * and what it fetches comes from nowhere: nothing computes, nothing leaves the machine. Other arguments, after `--`,
 * are schemathesis's own, such as `--include-path /api/runs`.
 */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";
import { serve } from "../../../src/server/serve.ts";
import { withFolder, WrittenRun } from "../written_run.ts";

const { values: options, positionals } = parseArgs({
  args: Deno.args,
  allowPositionals: true,
  options: {
    command: { type: "string", default: "schemathesis" },
    cases: { type: "string", default: "100" },
  },
});
const fileOf = (name: string) => fileURLToPath(import.meta.resolve(name));

Deno.chdir(PROJECT_FOLDER); // where the presets are
// Nobody listens there.
Deno.env.set("HF_ENDPOINT", "http://127.0.0.1:9");
let code = 1;
await withFolder(async (folder) => {
  const root = join(folder, "runs");
  writeRun(root);
  await using server = serve({
    ...{ hostname: "127.0.0.1", port: 0, token: null, root, models: join(folder, "models") },
    folders: ["configs", "weights"],
    program: fileOf("./stand_in.ts"),
  });
  const child = new Deno.Command(options.command, {
    args: [
      ...["--config-file", fileOf("./schemathesis.toml"), "run", `${server.url}/openapi.json`],
      ...["--checks", "all", "--max-examples", options.cases, ...positionals],
    ],
    cwd: folder, // where it keeps what it found
  }).spawn();
  ({ code } = await child.status);
});
Deno.exit(code);

/** A run that the examples of the description name, with something of everything. */
function writeRun(root: string): void {
  const run = new WrittenRun(root, "last-letter-001", { rollout: { temperature: 1 } });
  run.event({ type: "started", step: 0, total: 2, ranks: 1 });
  for (const [step, phase] of [[1, "generator"], [2, "verifier"]] as const) {
    run.step(step, phase, { [`${phase}/reward`]: step / 4, "perf/tokens_per_second": 100 });
    run.event({ type: "step", step, phase });
    run.sample({ step, phase });
  }
  run.event({ type: "finished", step: 2, reachedEnd: true });
  const checkpoint = join(run.folder.checkpoints, "step-000002");
  Deno.mkdirSync(join(checkpoint, "generator"), { recursive: true });
  Deno.writeTextFileSync(join(checkpoint, "state.json"), "{}");
  Deno.writeTextFileSync(join(checkpoint, "generator", "model.safetensors"), "weights");
}
