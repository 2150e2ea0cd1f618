import { systemLibrary } from "../../base/system_library.ts";
import type { Environment } from "./started_by.ts";

/**
 * Has the launcher end all ranks when this one fails before it has joined them. MPICH's does nothing of its own then, and
 * the others would wait in `MPI_Init`. It is asked in PMI-1, the language in which its ranks find each other: lines on
 * a file that it has opened for each of them. Other launchers see to it themselves, and have no such file.
 */
export function endUnjoined(code: number, environment: Environment): void {
  const file = Number(environment("PMI_FD") ?? NaN);
  if (!Number.isInteger(file) || systemLibrary === null) return;
  const library = Deno.dlopen(systemLibrary, {
    write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  });
  const lines = `cmd=init pmi_version=1 pmi_subversion=1\ncmd=abort exitcode=${code}\n`;
  const bytes = new TextEncoder().encode(lines);
  library.symbols.write(file, bytes, BigInt(bytes.length)); // one that cannot be told has ended
}
