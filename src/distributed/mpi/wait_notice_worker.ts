/** The thread of a `WaitNotice`. */

import type { Notice } from "./wait_notice.ts";

interface WorkerScope {
  onmessage: ((event: MessageEvent<Notice>) => void) | null;
  postMessage(message: "ready"): void;
}

const scope = globalThis as unknown as WorkerScope;

scope.onmessage = ({ data: { message, seconds } }) => {
  setTimeout(
    () => Deno.stderr.writeSync(new TextEncoder().encode(`${message}\n`)),
    1000 * seconds,
  );
  scope.postMessage("ready");
};
