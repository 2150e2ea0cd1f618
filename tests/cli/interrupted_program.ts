/** A run's steps without a run, for the tests of what ends them: `[file to write when saved] [deaf]`. */

import { FollowedRun } from "../../src/cli/followed_run.ts";

const [file, deaf] = Deno.args;
using followed = new FollowedRun(() => () => ({ kind: "", status: "" }), "step");
console.log("ready");
for (let step = 0; step < 400; step++) {
  const end = performance.now() + 20;
  while (performance.now() < end); // a step that never waits
  await followed.control.arrivals();
  followed.progress.note("a line");
  if (!deaf && followed.control.isStopRequested) {
    console.log("saved");
    if (file) Deno.writeTextFileSync(file, "saved");
    Deno.exit(followed.stoppedExitCode);
  }
}
