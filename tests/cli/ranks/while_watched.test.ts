import assert from "node:assert/strict";
import { whileWatched } from "../../../src/cli/ranks/while_watched.ts";
import { BETWEEN_RUNS_SECONDS } from "../../../src/distributed/open_communicator.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { inProcess } from "../../distributed/in_process.ts";

/** Runs something on two ranks. @returns how long a message of the first of them might take, each time that was said */
async function limitsOf(silenceSeconds: number | null): Promise<number[]> {
  const limits = { silence_seconds: silenceSeconds, stall_seconds: 600, wait_seconds: 7200 };
  const said: number[][] = [[], []];
  await Promise.all(
    inProcess(2).map(async (communicator, rank) => {
      const opened = {
        communicator,
        places: [0, 1].map((localRank) => ({ host: "here", localRank })),
        library: null,
        waitAtMost: (seconds: number) => void said[rank].push(seconds),
        close: () => Promise.resolve(),
        abort: () => {},
      };
      const folder = RunFolder.at("runs/none");
      const events = new RunEvents();
      const run = { opened, gpu: "its GPU", limits, command: "train" as const, folder, events };
      const seen = await whileWatched(run, (watch) => Promise.resolve(watch !== null));
      assert.equal(seen, silenceSeconds !== null);
    }),
  );
  assert.deepEqual(said[1], said[0]);
  return said[0];
}

Deno.test("while watched: a rank waits for another's part as long as the configuration says, and not so long after it", async () => {
  assert.deepEqual(await limitsOf(60), [7200, BETWEEN_RUNS_SECONDS]);
});

Deno.test("while watched: so it does where ranks do not watch each other, to the end", async () => {
  assert.deepEqual(await limitsOf(null), [7200]);
});
