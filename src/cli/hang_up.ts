import { systemLibrary } from "../platform/process/system_library.ts";

/** The signal's number, and the handler that passes a signal over, on Linux and macOS. */
const SIGHUP = 1, SIG_IGN = 1n;

let known: boolean | null = null;

/**
 * Whether this process was told to outlive its terminal, as `nohup` does. To be asked before the first signal listener:
 * Deno then takes this signal too, and a lost terminal ends a process that does not listen for it.
 */
export function outlivesTerminal(): boolean {
  return known ??= isIgnored();
}

function isIgnored(): boolean {
  if (systemLibrary === null) return false;
  const { symbols: { sigaction } } = Deno.dlopen(systemLibrary, {
    sigaction: { parameters: ["i32", "pointer", "buffer"], result: "i32" },
  });
  // A `struct sigaction`, which is smaller and begins with the handler.
  const action = new BigUint64Array(64);
  return sigaction(SIGHUP, null, action) === 0 && action[0] === SIG_IGN;
}
