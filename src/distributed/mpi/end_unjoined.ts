import { systemLibrary } from "../../platform/process/system_library.ts";
import type { Environment } from "./started_by.ts";

const POLLIN = 1;
const ANSWER_MS = 2000;

/**
 * Has the launcher end all ranks when this one fails before it has joined them. MPICH's does nothing of its own then, and
 * the others would wait in `MPI_Init`. It is asked in PMI-1, the language in which its ranks find each other: lines on
 * a file that it has opened for each of them. Other launchers see to it themselves, and have no such file.
 */
export function endUnjoined(code: number, environment: Environment): void {
  const file = Number(environment("PMI_FD") ?? NaN);
  if (!Number.isInteger(file) || systemLibrary === null) return;
  const { symbols: { write, poll, read } } = Deno.dlopen(systemLibrary, {
    write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
    poll: { parameters: ["buffer", "usize", "i32"], result: "i32" },
    read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  });
  const say = (line: string) => {
    const bytes = new TextEncoder().encode(`${line}\n`);
    write(file, bytes, BigInt(bytes.length)); // one that cannot be told has ended
  };
  say("cmd=init pmi_version=1 pmi_subversion=1");
  // The launcher ends with an error of its own when nobody reads its answer.
  if (poll(pollDescriptor(file), 1n, ANSWER_MS) === 1) read(file, new Uint8Array(1024), 1024n);
  say(`cmd=abort exitcode=${code}`);
}

/** A `struct pollfd` that asks whether something can be read. */
function pollDescriptor(file: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(8));
  view.setInt32(0, file, true);
  view.setInt16(4, POLLIN, true);
  return new Uint8Array(view.buffer);
}
