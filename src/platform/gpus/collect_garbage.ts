import v8 from "node:v8";
import vm from "node:vm";

let collector: (() => void) | null = null;

/**
 * Runs the garbage collector now; does nothing where it cannot be had. WebGPU objects hold memory of the
 * driver that only the collector returns, and of which it does not know.
 */
export function collectGarbage(): void {
  if (collector === null) {
    v8.setFlagsFromString("--expose-gc");
    const found: unknown = vm.runInNewContext("globalThis.gc");
    collector = typeof found === "function" ? () => found() : () => {};
  }
  collector();
}
