/** Ranks under MPI's launcher that go in step and watch each other. */

import { openCommunicator } from "../../../src/distributed/open_communicator.ts";
import { RunWatch } from "../../../src/distributed/watch/run_watch.ts";
import { gatherValues } from "../../../src/distributed/values.ts";

const { communicator } = await openCommunicator();
const { rank } = communicator;
const limits = { silenceSeconds: 3, stallSeconds: 60 };
const watch = await RunWatch.open(communicator, `GPU ${rank}`, limits);
watch.doing("in a test");
await watch.guard(async () => {
  const processes = await gatherValues(communicator, Deno.pid);
  if (rank === 0) console.log(processes.join(" "));
  for (;;) {
    await gatherValues(communicator, rank);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
});
