/**
 * A rank without MPI: the test that starts it is what they agree through. Its task is the first argument, its rank the
 * second. It prints who it is, reads who all are, and then has a line of input for where rank 0 listens.
 */

import { Failure } from "../../../src/base/failure.ts";
import { UserError } from "../../../src/base/user_error.ts";
import { ExchangeFailure } from "../../../src/distributed/communicator.ts";
import { FailureElsewhere, MistakeElsewhere } from "../../../src/distributed/outcomes.ts";
import { ownProcess } from "../../../src/platform/process/process_identity.ts";
import { RunWatch } from "../../../src/distributed/watch/run_watch.ts";

const [task, number, host] = Deno.args;
const rank = Number(number);
const lines = readLines();
const say = (value: unknown) => console.log(JSON.stringify(value));
const hear = async () => JSON.parse((await lines.next()).value ?? "null");

say({ rank, host, gpu: `GPU ${rank}`, process: ownProcess() });
const ranks = await hear();
const watch = await RunWatch.among(ranks, rank, { silenceSeconds: 3, stallSeconds: 4 }, {
  async agree(point) {
    if (point !== null) say(point);
    return point ?? await hear();
  },
  gather: (problem) => Promise.resolve(ranks.map(() => problem)),
});
watch.doing("in a test");
if (rank === 0) watch.hint("Continue with: --resume");

try {
  await watch.guard(work);
  say("done");
} catch (error) {
  say(`threw ${error instanceof Error ? error.message : error}`);
  Deno.exit(error instanceof UserError ? 2 : 1);
}
Deno.exit(0);

async function work(): Promise<void> {
  say("working");
  const isTheOne = await hear();
  if (task === "all finish") return;
  if (task === "all fail" || (task === "fails" && isTheOne)) {
    throw new UserError("the same file is missing");
  }
  if (task === "fails late") {
    if (!isTheOne) throw new ExchangeFailure("other bytes came than expected");
    await pause(1000);
    throw new UserError("the cause of it all");
  }
  if (task === "is told of another's failure") {
    if (!isTheOne) throw new FailureElsewhere(1, "the cause in short");
    await pause(1000);
    throw new Failure("the cause in full");
  }
  if (task === "is told of another's mistake") {
    // The one of which the others were told does not get to say it.
    if (!isTheOne) throw new MistakeElsewhere(1, "the reward is no number");
  }
  if (task === "finishes late" && !isTheOne) return say("finished");
  if (task === "is stuck" && isTheOne) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // as in a driver
  }
  if (task === "ends but for a thread" && isTheOne) leaveThreads();
  if (task === "waits for its GPU" && isTheOne) watch.readBegins();
  await pause(60_000);
}

/** Ends the main thread alone: the process counts as ended, and keeps what it holds while another thread goes on. */
function leaveThreads(): void {
  const EXIT = { x86_64: 60n, aarch64: 93n }[Deno.build.arch];
  const syscall = { parameters: ["i64", "i32"], result: "i64" } as const;
  Deno.dlopen("libc.so.6", { syscall }).symbols.syscall(EXIT, 0);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

async function* readLines(): AsyncGenerator<string> {
  let text = "";
  for await (const part of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const parts = (text + part).split("\n");
    text = parts.pop() ?? "";
    yield* parts;
  }
}
