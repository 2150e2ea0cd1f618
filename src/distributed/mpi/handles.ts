/**
 * Handles of the same things in each family of MPI libraries. A handle is a number to all of them: as wide as a
 * pointer, or an `int`.
 */

import { CLibrary } from "./c_library.ts";

/** How handles and constants look in one library. */
export interface Handles {
  readonly type: "u64" | "i32";
  readonly communicatorWorld: bigint | number;
  readonly byte: bigint | number;
  readonly errorsReturn: bigint | number;
  /** MPI_THREAD_FUNNELED: the process has threads, of which one alone calls MPI. */
  readonly threadFunneled: number;
}

/** The application binary interface that MPI-5.0 laid down: `libmpi_abi`. */
const standard: Handles = {
  type: "u64",
  communicatorWorld: 0x101n,
  byte: 0x247n,
  errorsReturn: 0x143n,
  threadFunneled: 1024,
};

/** MPICH 3 to 5 without the standard's interface, and those that share its own: Intel MPI, MVAPICH, Cray MPICH. */
const mpich: Handles = {
  type: "i32",
  communicatorWorld: 0x44000000,
  byte: 0x4c00010d,
  errorsReturn: 0x54000001,
  threadFunneled: 1,
};

/** Open MPI 4 and 5: a handle is the address of a variable in the library. */
function openMpi(library: CLibrary): Handles | null {
  const communicatorWorld = library.address("ompi_mpi_comm_world");
  const byte = library.address("ompi_mpi_byte");
  const errorsReturn = library.address("ompi_mpi_errors_return");
  if (communicatorWorld === null || byte === null || errorsReturn === null) return null;
  return { type: "u64", communicatorWorld, byte, errorsReturn, threadFunneled: 1 };
}

/** The handles of an open library. */
export function handlesOf(library: CLibrary): Handles {
  if (/libmpi_abi\b/.test(library.path)) return standard;
  return openMpi(library) ?? mpich;
}
