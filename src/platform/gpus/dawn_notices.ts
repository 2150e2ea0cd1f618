import { systemLibrary } from "../process/system_library.ts";

/**
 * Dawn says on standard error, from C++, that it offers fewer dynamic buffers than the driver. No toggle or log callback
 * of the npm package stops it, and it tells a user nothing.
 */
const NOTICE =
  /^Warning: maxDynamic(Uniform|Storage)BuffersPerPipelineLayout artificially reduced from .*\r?\n/gm;

const STANDARD_ERROR = 2;

/**
 * Runs `call` with standard error led into a file, then passes on all that was written there but Dawn's notices about
 * dynamic buffers. `call` must do its work before it returns: what a promise does later is not covered.
 */
export function withoutDawnNotices<T>(call: () => T): T {
  if (systemLibrary === null) return call(); // Windows: the notices stay
  const system = Deno.dlopen(systemLibrary, {
    dup: { parameters: ["i32"], result: "i32" },
    dup2: { parameters: ["i32", "i32"], result: "i32" },
    creat: { parameters: ["buffer", "u32"], result: "i32" },
    close: { parameters: ["i32"], result: "i32" },
  });
  const { dup, dup2, creat, close } = system.symbols;
  // A file, not a pipe: nobody reads before the end, and a pipe that is full would stop the writer.
  const path = Deno.makeTempFileSync();
  const terminal = dup(STANDARD_ERROR);
  const file = creat(new TextEncoder().encode(`${path}\0`), 0o600);
  dup2(file, STANDARD_ERROR);
  try {
    return call();
  } finally {
    dup2(terminal, STANDARD_ERROR);
    close(terminal);
    close(file);
    system.close();
    const rest = Deno.readTextFileSync(path).replaceAll(NOTICE, "");
    Deno.removeSync(path);
    if (rest) Deno.stderr.writeSync(new TextEncoder().encode(rest));
  }
}
