import { dirname, join } from "node:path";
import { findMpiexec, type Mpiexec, startCommand } from "../../../src/cli/ranks/mpiexec.ts";
import type { TwoHosts } from "../two_hosts.ts";

const project = join(import.meta.dirname ?? "", "..", "..", "..");

/** How a run over ranks ended. */
export interface RunOutcome {
  readonly code: number;
  readonly output: string;
  /** Ranks whose processes were still there. */
  readonly left: readonly number[];
}

/** A run over ranks that are processes, of which each can be got at. */
export class RankedRun implements Disposable {
  readonly #folder = Deno.makeTempDirSync();
  readonly #launcher: Deno.ChildProcess;
  readonly #output: Promise<string[]>;

  /**
   * Starts ranks of the command line under MPI's launcher.
   *
   * @returns null where there is no MPI
   */
  static async start(ranks: number, args: readonly string[]): Promise<RankedRun | null> {
    const mpiexec = await findMpiexec();
    if (mpiexec === null) return null;
    const { command, args: rest, env } = startCommand(mpiexec, ranks, programOf(args));
    return new RankedRun(command, rest, env);
  }

  /**
   * Starts as many ranks on one of two hosts as on the other, from the first of them.
   *
   * @param folder for the file of hosts, and for what reaches them
   */
  static startOn(
    hosts: TwoHosts,
    { path, family }: Mpiexec,
    folder: string,
    ranks: number,
    args: readonly string[],
  ): RankedRun {
    const agent = join(folder, "agent"), hostFile = join(folder, "hosts");
    hosts.writeAgent(agent);
    const addresses = hosts.hosts.map(({ address }) => address);
    const [slots, where] = family === "MPICH"
      ? [":", ["-launcher", "ssh", "-launcher-exec", agent, "-f", hostFile]]
      : [
        " slots=",
        ["--mca", "plm_rsh_agent", agent, "--hostfile", hostFile, "--bind-to", "none"],
      ];
    Deno.writeTextFileSync(hostFile, addresses.map((a) => `${a}${slots}${ranks / 2}\n`).join(""));
    const line = [path, ...where, "-n", `${ranks}`, ...programOf(args)];
    const env = { OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" };
    return new RankedRun(agent, [addresses[0], ...line], { ...Deno.env.toObject(), ...env });
  }

  private constructor(command: string, args: readonly string[], env: Record<string, string>) {
    this.#launcher = new Deno.Command(command, {
      args: [...args],
      env: { ...env, TEST_RANKS: this.#folder },
      clearEnv: true,
      cwd: project,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const { stdout, stderr } = this.#launcher;
    this.#output = Promise.all([stdout, stderr].map((stream) => new Response(stream).text()));
  }

  /** Whether a rank's process has begun. */
  has(rank: number): boolean {
    return this.#processes().has(rank);
  }

  /** Sends a signal to a rank's process. */
  signal(rank: number, signal: Deno.Signal): void {
    const pid = this.#processes().get(rank);
    if (pid === undefined) throw new Error(`rank ${rank} has not begun`);
    Deno.kill(pid, signal);
  }

  /**
   * Waits until no rank is left on two hosts. The launcher may wait on, for a host that is gone.
   *
   * @param since when the wait began, of `performance.now()`
   */
  async endedOn(
    hosts: TwoHosts,
    since: number,
  ): Promise<{ readonly seconds: number; readonly output: string }> {
    while (hosts.processes().some(isThere)) await pause(50);
    const seconds = (performance.now() - since) / 1000;
    await pause(500); // what was said last is on its way
    this.#launcher.kill("SIGKILL");
    return { seconds, output: (await this.#output).join("") };
  }

  /** Waits for the end, of all ranks too. */
  async outcome(): Promise<RunOutcome> {
    const { code } = await this.#launcher.status;
    const [out, err] = await this.#output;
    const left = [...this.#processes()].filter(([, pid]) => isThere(pid)).map(([rank]) => rank);
    return { code, output: out + err, left };
  }

  /** Process numbers by rank, of those that have begun. */
  #processes(): Map<number, number> {
    const ranks = [...Deno.readDirSync(this.#folder)].map(({ name }) => name);
    return new Map(
      ranks.map((rank) => [Number(rank), Number(Deno.readTextFileSync(join(this.#folder, rank)))])
        .filter(([, pid]) => pid > 0) as [number, number][], // a file may be there before its content
    );
  }

  [Symbol.dispose](): void {
    for (const pid of this.#processes().values()) if (isThere(pid)) Deno.kill(pid, "SIGKILL");
    Deno.removeSync(this.#folder, { recursive: true });
  }
}

/** The command line, as a rank runs it. */
function programOf(args: readonly string[]): string[] {
  const preload = join(import.meta.dirname ?? "", "on_signal.ts");
  const options = ["run", "-A", "--no-check", "--preload", preload];
  return [Deno.execPath(), ...options, join(project, "src/cli/main.ts"), ...args];
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Whether a process is there, and a rank: neither a launcher, which also names the program, nor another one by now. */
function isThere(pid: number): boolean {
  try {
    return Deno.readLinkSync(`/proc/${pid}/exe`) === Deno.realPathSync(Deno.execPath()) &&
      Deno.readTextFileSync(`/proc/${pid}/cmdline`).includes(dirname(import.meta.filename ?? ""));
  } catch {
    return false;
  }
}
