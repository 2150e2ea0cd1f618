/** A program whose one command counts on several ranks, for the tests of starting and ending them. */

import type { CommandModule } from "../../../src/cli/program.ts";
import { runProgram } from "../../../src/cli/program.ts";
import { Failure } from "../../../src/base/failure.ts";
import { UserError } from "../../../src/base/user_error.ts";
import { FollowedRun } from "../../../src/cli/followed_run.ts";
import { endWithLauncher } from "../../../src/cli/ranks/launcher_line.ts";
import { onRanks } from "../../../src/cli/ranks/on_ranks.ts";
import { startedBy } from "../../../src/distributed/mpi/started_by.ts";
import { ranksOption } from "../../../src/cli/run_options.ts";
import type { OpenCommunicator } from "../../../src/distributed/open_communicator.ts";
import { broadcastValue, gatherValues } from "../../../src/distributed/values.ts";

const register: CommandModule["register"] = (program) => {
  program.command("count").addOption(ranksOption()).argument("<how>")
    .action((how: string, { ranks }: { ranks?: number }) =>
      onRanks(ranks, () => {}, (opened) => count(how, opened))
    );
};
const counting = {
  summary: "counts",
  isForRanks: true,
  load: () => Promise.resolve({ register }),
};
const early = ["SIGKILL", "SIGSTOP"].find((signal) => Deno.args.includes(signal));
if (early && startedBy((name) => Deno.env.get(name))?.rank === 1) {
  // As soon as it has reported to whoever started it.
  const { connect } = Deno;
  Deno.connect = (async (options: Deno.UnixConnectOptions) => {
    const line = await connect(options);
    const write = line.write.bind(line);
    line.write = async (bytes) => {
      const written = await write(bytes);
      Deno.kill(Deno.pid, early as Deno.Signal);
      return written;
    };
    return line;
  }) as typeof Deno.connect;
}
const code = await runProgram({ count: counting }, Deno.args);
await endWithLauncher(code);
Deno.exit(code);

/** Steps of a run whose ranks go together; the first one is asked to stop. */
async function count(how: string, { communicator }: OpenCommunicator): Promise<void> {
  const { rank, size } = communicator;
  const pids = await gatherValues(communicator, Deno.pid);
  console.log(`${size} ranks: ${pids.join(" ")}`);
  const fails = ["user error", "failure on 1"].includes(how);
  if (fails) console.log("going");
  if (how === "user error") throw new UserError("a file is missing");
  if (how === "failure on 1" && rank === 1) throw new Failure("a GPU gave out");
  using followed = new FollowedRun(() => () => ({ kind: "", status: "" }), "step");
  if (!fails) console.log("going"); // now Ctrl-C is heard
  for (let step = 0; step < (how === "short" ? 3 : 400); step++) {
    if (how === "deaf") await new Promise((resolve) => setTimeout(resolve, 50));
    else if (await broadcastValue(communicator, followed.control.isStopRequested)) {
      console.log(`stopped at ${step}`);
      Deno.exitCode = followed.stoppedExitCode;
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  console.log("done");
}
