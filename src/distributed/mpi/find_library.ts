import { basename, dirname, join } from "node:path";
import { UserError } from "../../base/user_error.ts";
import { CLibrary } from "./c_library.ts";
import { MpiLibrary } from "./mpi_library.ts";
import type { Environment, Family, Start } from "./started_by.ts";

/** Names a library file, for a machine where none is found or the wrong one. */
export const LIBRARY_VARIABLE = "TANGO_MPI_LIBRARY";

const mac = Deno.build.os === "darwin";
const named = (name: string, version: number) =>
  mac ? `${name}.${version}.dylib` : `${name}.so.${version}`;

/** File names of each family's library, the standard's interface first. */
const FILES: Readonly<Record<Family, readonly string[]>> = {
  "Open MPI": [named("libmpi_abi", 0), named("libmpi_abi", 1), named("libmpi", 40)],
  "MPICH": [
    named("libmpi_abi", 1),
    named("libmpi_abi", 0),
    named("libmpi", 12),
    named("libmpich", 12),
  ],
};

const triplet = Deno.build.target.replace("-unknown", "");

/** Folders of libraries below an installation's folder. */
const BELOW = ["lib", "lib64", `lib/${triplet}`, `lib/${triplet}/openmpi/lib`];

/** Folders of installations that the loader does not know on some systems. */
const USUAL = ["/usr/lib64/openmpi", "/usr/lib64/mpich", "/usr/local", "/opt/homebrew", "/usr"];

/**
 * Opens the MPI library that belongs to what started this process.
 *
 * @throws UserError when none can be opened
 */
export function openLibrary(start: Start, environment: Environment): MpiLibrary {
  const chosen = environment(LIBRARY_VARIABLE);
  let problem = "none was found";
  for (const path of chosen ? [chosen] : candidates(start.family, environment)) {
    const library = CLibrary.open(path);
    if (typeof library === "string") {
      // The message for a file that cannot be loaded is kept: a name unknown to the loader says nothing new.
      if (path.includes("/") || chosen) problem = library;
      continue;
    }
    const mpi = MpiLibrary.open(library);
    if (mpi === null) {
      problem = `${path} is no MPI library`;
      continue;
    }
    if (chosen || start.family === null || familyOf(mpi.version) === start.family) return mpi;
    problem = `${mpi.path} is ${mpi.version}`;
  }
  throw new UserError(
    `This process was started as rank ${start.rank} of ${start.size} by ${start.launcher}, but the library that ` +
      `belongs to it cannot be opened: ${problem}. Name it: ${LIBRARY_VARIABLE}=/…/${
        FILES[start.family ?? "Open MPI"].at(-1)
      }, passed on to all ranks.`,
  );
}

function familyOf(version: string): Family {
  return version.includes("Open MPI") ? "Open MPI" : "MPICH"; // and what comes of MPICH: Intel's, Cray's, MVAPICH
}

/** Paths and names that may be the library, the likeliest first. */
function candidates(family: Family | null, environment: Environment): string[] {
  const families: readonly Family[] = family === null ? ["Open MPI", "MPICH"] : [family];
  const files = families.flatMap((family) => FILES[family]);
  const inFolders = (prefixes: readonly string[]) =>
    prefixes.flatMap((prefix) =>
      BELOW.flatMap((below) => files.map((file) => join(prefix, below, file)))
    ).filter(isFile);
  const told = ["OPAL_PREFIX", "I_MPI_ROOT", "MPI_HOME", "MPI_ROOT"].map(environment)
    .filter((prefix) => prefix !== undefined);
  return [...inFolders([...launcherPrefixes(), ...told]), ...files, ...inFolders(USUAL)];
}

const LAUNCHERS = /^(mpirun|mpiexec|orterun|orted|prterun|prted|prte|hydra_)/;

/** Folders of the installation whose launcher is an ancestor of this process; none where /proc does not tell. */
function launcherPrefixes(): string[] {
  const prefixes: string[] = [];
  for (let process = Deno.ppid; process > 1;) {
    try {
      const program = Deno.readLinkSync(`/proc/${process}/exe`);
      if (LAUNCHERS.test(basename(program))) prefixes.push(dirname(dirname(program)));
      // The name may hold anything, so what follows it is found from its end.
      const status = Deno.readTextFileSync(`/proc/${process}/stat`);
      process = Number(status.slice(status.lastIndexOf(")") + 2).split(" ")[1]);
    } catch {
      break; // Another user's process, or no /proc.
    }
  }
  return prefixes;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
