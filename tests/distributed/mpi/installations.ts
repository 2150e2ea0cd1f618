/** The MPI libraries of this machine, each by the launcher that starts programs with it. */

import { join } from "node:path";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";
import {
  BROUGHT_FOLDER,
  examineMpiexec,
  type Mpiexec,
  startCommand,
} from "../../../src/cli/ranks/mpiexec.ts";

const PROGRAM = new URL("./rank_program.ts", import.meta.url).pathname;

interface Known {
  readonly name: string;
  readonly path: string;
  readonly howToGet: string;
}

const KNOWN: readonly Known[] = [
  { name: "Debian's MPICH", path: "/usr/bin/mpiexec.mpich", howToGet: "apt install mpich" },
  {
    name: "Debian's Open MPI",
    path: "/usr/bin/mpiexec.openmpi",
    howToGet: "apt install openmpi-bin",
  },
  {
    name: "MPICH that ./tango brings",
    path: join(BROUGHT_FOLDER, "bin/mpiexec"),
    howToGet: "./tango train --ranks 2 on a machine without mpiexec",
  },
];

/** Registers a test for each library; one that is not there is ignored, and its name says why. */
export function testEachLibrary(name: string, body: (mpiexec: Mpiexec) => Promise<void>): void {
  const onPath = Deno.env.get("PATH")?.split(":").map((folder) => join(folder, "mpiexec"))
    .find(isFile);
  const others = onPath && !KNOWN.some(({ path }) => sameFile(path, onPath))
    ? [{ name: onPath, path: onPath, howToGet: "" }]
    : [];
  for (const { name: library, path, howToGet } of [...KNOWN, ...others]) {
    const missing = !isFile(path);
    Deno.test({
      name: `mpi, ${library}: ${name}` + (missing ? ` (not here; to test it: ${howToGet})` : ""),
      ignore: missing,
      // A GPU outlives its closing by a few timers.
      sanitizeOps: false,
      sanitizeResources: false,
      fn: async () => {
        const mpiexec = await examineMpiexec(path);
        if (mpiexec === null) throw new Error(`${path} is no launcher that is known here`);
        await body(mpiexec);
      },
    });
  }
}

/** What ranks printed, and the launcher's exit code. */
export interface RanksRun {
  readonly code: number;
  readonly printed: string;
}

/** Plays a scenario of `rank_program.ts` on as many ranks. */
export async function play(mpiexec: Mpiexec, ranks: number, scenario: string): Promise<RanksRun> {
  return await runRanks(mpiexec, ranks, [PROGRAM, scenario]);
}

/** Runs `./tango` as several ranks, as a user's `mpirun` does. */
export async function tangoOnRanks(
  mpiexec: Mpiexec,
  ranks: number,
  options: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<RanksRun> {
  const main = join(PROJECT_FOLDER, "src/cli/main.ts");
  return await runRanks(mpiexec, ranks, [main, ...options], environment);
}

/**
 * Runs a module as several ranks.
 *
 * @param environment what they find in theirs besides what is in this process's
 */
export async function runRanks(
  mpiexec: Mpiexec,
  ranks: number,
  module: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<RanksRun> {
  const { code, stdout, stderr } = await commandFor(mpiexec, ranks, module, environment).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, printed: text(stdout) + text(stderr) };
}

/**
 * Plays a scenario in which a rank waits for a sign, which is given once a text has been printed as an error.
 */
export async function playUntil(
  mpiexec: Mpiexec,
  ranks: number,
  scenario: string,
  text: string,
): Promise<RanksRun> {
  const sign = Deno.makeTempFileSync(); // it is there until it is given
  const launcher = commandFor(mpiexec, ranks, [PROGRAM, scenario, sign], {}).spawn();
  const out = new Response(launcher.stdout).text();
  let printed = "";
  for await (const part of launcher.stderr.pipeThrough(new TextDecoderStream())) {
    printed += part;
    if (printed.includes(text)) await Deno.remove(sign).catch(() => {});
  }
  const { code } = await launcher.status;
  return { code, printed: printed + await out };
}

function commandFor(
  mpiexec: Mpiexec,
  ranks: number,
  module: readonly string[],
  environment: Readonly<Record<string, string>>,
): Deno.Command {
  const program = [Deno.execPath(), "run", "--no-check", "-A", ...module];
  const { command, args, env } = startCommand(mpiexec, ranks, program);
  const output = { stdin: "null", stdout: "piped", stderr: "piped" } as const;
  return new Deno.Command(command, {
    ...{ args, env: { ...env, ...environment }, clearEnv: true },
    ...output,
  });
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function sameFile(a: string, b: string): boolean {
  return isFile(a) && isFile(b) && Deno.realPathSync(a) === Deno.realPathSync(b);
}
