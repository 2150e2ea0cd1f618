/** A thread of its own for the watch: the main one waits for its GPU, and may be stuck in a driver. */

import { ending } from "./ending.ts";
import { Follower } from "./follower.ts";
import { Leader } from "./leader.ts";
import type { MainMessage, WatchMessage } from "./watch_messages.ts";

interface WorkerScope {
  onmessage: ((event: MessageEvent<MainMessage>) => void) | null;
  postMessage(message: WatchMessage): void;
  close(): void;
}

const scope = globalThis as unknown as WorkerScope;
let watch: Leader | Follower | null = null;

scope.onmessage = ({ data }) => {
  switch (data.type) {
    case "open":
      watch = open(data);
      return;
    case "doing":
      if (watch) watch.doing = data.doing;
      return;
    case "hint":
      if (watch instanceof Leader) watch.hint = data.hint;
      return;
    case "failed":
      watch?.failed(data)?.then(() => scope.postMessage({ type: "speak" }));
      return;
    case "close":
      watch?.done().then(() => {
        scope.postMessage({ type: "closed" });
        scope.close();
      });
  }
};

function open(
  { rank, ranks, limits, progress, point }: MainMessage & { readonly type: "open" },
): Leader | Follower {
  if (point === null) {
    const leader = new Leader(ranks, limits, progress, ending);
    scope.postMessage({ type: "listening", point: leader.point });
    return leader;
  }
  const follower = new Follower(rank, ranks, point, limits, progress, ending);
  follower.join().then(
    () => scope.postMessage({ type: "joined", problem: null }),
    (error) => scope.postMessage({ type: "joined", problem: error.message }),
  );
  return follower;
}
