/** The command line as one of several ranks, of which the second one cannot open its MPI library. */

import { startedBy } from "../../../src/distributed/mpi/started_by.ts";
import { LIBRARY_VARIABLE } from "../../../src/distributed/mpi/find_library.ts";

const start = startedBy((name) => Deno.env.get(name));
if (start?.rank === 1) Deno.env.set(LIBRARY_VARIABLE, "/nowhere/libmpi.so");
await import("../../../src/cli/main.ts");
