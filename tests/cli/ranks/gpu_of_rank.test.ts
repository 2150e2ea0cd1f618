/** Local rank n computes on GPU n: two software adapters stand in for two identical cards. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { tangoOnRanks, testEachLibrary } from "../../distributed/mpi/installations.ts";
import { TwoAdapters } from "../../platform/gpus/two_adapters.ts";
import { tinyArchitecture } from "../../run/tiny_architecture.ts";

/** One update of a policy that begins with random weights. */
const config = {
  policy: "generator",
  architecture: tinyArchitecture,
  batch_size: 2,
  reduction: { shards: 2 },
  schedule: { total_training_steps: 1 },
  max_response_length: 8,
  evaluation: { problems: 1 },
  tuning: "default",
};

testEachLibrary("each of two ranks trains on its own of two GPUs", async (mpiexec) => {
  using adapters = TwoAdapters.make();
  if (adapters === null) return console.log("there is no software driver to make two of");
  const folder = Deno.makeTempDirSync();
  const path = (name: string) => join(folder, name);
  Deno.writeTextFileSync(path("config.yaml"), stringify(config));
  const options = ["--config", path("config.yaml"), "--run", path("run")];
  const trace = ["--ranks", "2", "--trace", path("trace.json")];
  const train = ["sft", ...options, ...trace];
  const { code, printed } = await tangoOnRanks(mpiexec, 2, train, adapters.environment);
  assert.equal(code, 0, printed);
  assert.doesNotMatch(printed, /share GPU/);
  const events: { name: string; args: { name: string } }[] = JSON.parse(
    Deno.readTextFileSync(path("trace.json")),
  );
  const named = events.filter(({ name }) => name === "process_name").map(({ args }) => args.name);
  assert.equal(named.length, 2);
  // What each rank says of the GPU that it has opened.
  assert.match(named[0], /^rank 0 .*\(LLVM /);
  assert.match(named[1], /^rank 1 .*\(MVLL /);
  Deno.removeSync(folder, { recursive: true });
});
