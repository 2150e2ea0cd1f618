/** The program that starts ranks on this machine. */

import { join } from "node:path";
import type { Family } from "../../distributed/mpi/started_by.ts";
import { PROJECT_FOLDER } from "../dev/project.ts";

/** A launcher that works. */
export interface Mpiexec {
  readonly path: string;
  readonly family: Family;
}

/** Where `./tango` puts an MPI library when the machine has none. */
export const BROUGHT_FOLDER: string = join(PROJECT_FOLDER, ".tango/mpi");

/** The system's, or else the one that `./tango` brought; null when there is neither. */
export async function findMpiexec(): Promise<Mpiexec | null> {
  for (const path of ["mpiexec", "mpirun", join(BROUGHT_FOLDER, "bin/mpiexec")]) {
    const found = await examineMpiexec(path);
    if (found !== null) return found;
  }
  return null;
}

/** Asks a program whether it is a launcher that is known here. */
export async function examineMpiexec(path: string): Promise<Mpiexec | null> {
  try {
    const env = environmentOf(path);
    const { stdout, stderr } = await new Deno.Command(path, {
      args: ["--version"],
      env,
      clearEnv: true,
    }).output();
    const text = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("\n");
    if (/Open ?MPI|OpenRTE|PRRTE/i.test(text)) return { path, family: "Open MPI" };
    return /HYDRA|Intel\(R\) MPI/i.test(text) ? { path, family: "MPICH" } : null;
  } catch (error) {
    const { NotFound, PermissionDenied } = Deno.errors;
    if (error instanceof NotFound || error instanceof PermissionDenied) return null;
    throw error;
  }
}

/** Variables by which a launcher would find the machines of a cluster's job; ranks started here stay here. */
const CLUSTER = /^(SLURM|PBS|LSB|LSF|SGE|PE|HYDRA|OMPI_MCA_ras|PRTE_MCA_ras)_/;

/** What a launcher and its ranks find in their environment. */
function environmentOf(path: string): Record<string, string> {
  const inherited = Object.entries(Deno.env.toObject()).filter(([name]) => !CLUSTER.test(name));
  const env = Object.fromEntries(inherited);
  if (path.startsWith(BROUGHT_FOLDER)) {
    env.LD_LIBRARY_PATH = [join(BROUGHT_FOLDER, "lib"), ...env.LD_LIBRARY_PATH?.split(":") ?? []]
      .join(":");
  }
  return env;
}

/** The command that starts as many ranks of a program on this machine. */
export function startCommand(
  { path, family }: Mpiexec,
  ranks: number,
  program: readonly string[],
): { command: string; args: string[]; env: Record<string, string> } {
  const env = environmentOf(path);
  if (family === "MPICH") {
    const here = ["-launcher", "fork", "-hosts", "localhost"];
    return { command: path, args: [...here, "-n", `${ranks}`, ...program], env };
  }
  env.OMPI_ALLOW_RUN_AS_ROOT = env.OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = "1";
  // It would tie each rank with all its threads to one core.
  const here = ["--bind-to", "none", "--oversubscribe", "--host", `localhost:${ranks}`];
  return { command: path, args: [...here, "-n", `${ranks}`, ...program], env };
}
