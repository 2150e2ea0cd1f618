import { fileURLToPath } from "node:url";
import { Failure } from "../../base/failure.ts";
import { UserError } from "../../base/user_error.ts";
import { causes, LAST_WORDS, lastWords } from "../../distributed/watch/last_words.ts";
import { driverThreads } from "../driver_threads.ts";
import { Interrupt, INTERRUPTED_EXIT_CODE } from "../interrupt.ts";
import { LostReader, writeToReader } from "../lost_reader.ts";
import { EXIT } from "../program.ts";
import { noted, type TerminalSize } from "./launch_notes.ts";
import { type KilledProcess, killedProcess, WithoutLauncherWords } from "./launcher_words.ts";
import { Meeting } from "./meeting.ts";
import { findMpiexec, startCommand } from "./mpiexec.ts";
import { RankWatch, signalProcess } from "./rank_watch.ts";

/** Milliseconds in which `mpiexec` ends the other ranks when one has ended. */
const CLEANUP_MS = 5000;
/** In which it is heard how a rank has ended. */
const HEARING_MS = 1000;

/**
 * Starts this very command as several ranks on this machine and waits for them. What they print goes to the terminal;
 * the first Ctrl-C, SIGTERM or SIGHUP goes to rank 0, which stops the run after its step, and the second ends all at once.
 *
 * @returns the exit code
 * @throws UserError when there is no MPI; Failure when a rank is killed or crashes
 */
export async function launchRanks(ranks: number): Promise<number> {
  const mpiexec = await findMpiexec();
  if (mpiexec === null) {
    throw new UserError(
      `--ranks ${ranks} needs MPI's mpiexec, and none was found. Install MPICH or Open MPI (Debian: apt install ` +
        `mpich), or start with ./tango, which brings it along.`,
    );
  }
  using watch = new RankWatch();
  // They start at the same moment, and would queue to see whether the dependencies are installed.
  const run = ["run", "-A", "--node-modules-dir=manual", fileURLToPath(Deno.mainModule)];
  const program = [Deno.execPath(), ...run, ...Deno.args];
  const { command, args, env } = startCommand(mpiexec, ranks, program);
  const launcher = new Deno.Command(command, {
    args,
    env: {
      ...env,
      ...driverThreads(ranks),
      ...noted({ socket: watch.socket, terminal: terminalSize() }),
    },
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    detached: true, // Ctrl-C would have it end all ranks
  }).spawn();
  let hasSaidWhy = false;
  const words: string[] = [];
  const shown = Promise.all([
    show(launcher.stdout, Deno.stdout, words),
    show(launcher.stderr, Deno.stderr, words, (text) => {
      hasSaidWhy ||= text.includes(LAST_WORDS);
    }),
  ]);
  await watch.add(launcher.pid);
  let interrupted = false;
  using _lostReader = new LostReader();
  using interrupt = new Interrupt(() => {
    interrupted = true;
    const first = watch.pidOf(0);
    if (first === null) signalProcess(launcher.pid, "SIGKILL"); // nothing has begun
    else signalProcess(first, "SIGINT"); // SIGTERM is how mpirun ends a rank
  });
  using meeting = new Meeting(watch, ranks);
  const first = await Promise.race([watch.failed, launcher.status, meeting.failed]);
  if (typeof first === "string") {
    signalProcess(launcher.pid, "SIGKILL");
    watch.end();
    await Promise.race([shown, pause(HEARING_MS)]); // a rank that has not reported may hold them open
    throw new Failure(first);
  }
  const cleanup = setTimeout(() => {
    signalProcess(launcher.pid, "SIGKILL");
    watch.end();
  }, CLEANUP_MS);
  const { success, code, signal } = await launcher.status;
  clearTimeout(cleanup);
  watch.end();
  await shown;
  if (success) return EXIT.success;
  if (interrupted && watch.pidOf(0) === null) return interrupt.exitCode;
  const failed = await Promise.race([watch.failed, pause(HEARING_MS)]);
  if (failed?.code && !(interrupted && failed.code === INTERRUPTED_EXIT_CODE)) return failed.code;
  if (interrupted) return interrupt.exitCode;
  if ("signal" in first && signal !== null) {
    throw new Failure(`${mpiexec.path} was killed (${signal}), which ended all ranks.`);
  }
  if (hasSaidWhy) return code === EXIT.userError ? code : EXIT.failure;
  const killed = killedProcess(words.join(""));
  const culprit = killed?.rank ?? failed?.rank;
  if (culprit === undefined) {
    throw new Failure(`${mpiexec.path} could not start the ranks (exit code ${code}).`);
  }
  const silent = killed?.rank == null ? unreported(watch, ranks) : [];
  throw new Failure(describeEnd(culprit, silent, killed, watch));
}

/** What a rank's watch would have said, had `mpiexec` not ended it first. */
function describeEnd(
  rank: number,
  silent: readonly number[],
  killed: KilledProcess | null,
  watch: RankWatch,
): string {
  const word = watch.wordOf(rank);
  if (word === null) {
    const pid = watch.pidOf(rank);
    const isSure = killed !== null && (killed.rank === rank || killed.pid === pid);
    const end = `rank ${rank}${pid === null ? "" : ` (process ${pid})`} was ` +
      (isSure ? `killed (signal ${killed.signal})` : "killed or crashed");
    const isApart = ["here", null].includes(watch.stageOf(rank));
    const when = isApart ? " before the ranks had joined" : "";
    if (silent.length === 0) return `${end}${when}, which ended all ranks.`;
    return `${end}${when}, and rank ${
      silent.join(", ")
    } had not begun; the first of them to end ended all ranks.`;
  }
  return lastWords([word.who], causes.death(word.doing), watch.wordOf(0)?.hint ?? "");
}

/** Ranks that have never been heard of. */
function unreported(watch: RankWatch, ranks: number): number[] {
  return Array.from({ length: ranks }, (_, rank) => rank)
    .filter((rank) => watch.stageOf(rank) === null);
}

const pause = (milliseconds: number) =>
  new Promise<null>((resolve) => setTimeout(() => resolve(null), milliseconds));

/** Passes on what ranks print. */
async function show(
  from: ReadableStream<Uint8Array>,
  to: typeof Deno.stdout,
  words: string[],
  hear: (text: string) => void = () => {},
): Promise<void> {
  const text = from.pipeThrough(new TextDecoderStream()).pipeThrough(
    new WithoutLauncherWords(words),
  );
  for await (const part of text) {
    hear(part);
    writeToReader(to, new TextEncoder().encode(part));
  }
}

function terminalSize(): TerminalSize | null {
  return Deno.stderr.isTerminal() ? Deno.consoleSize() : null;
}
