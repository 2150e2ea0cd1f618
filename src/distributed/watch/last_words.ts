/** The message when a run ends on all ranks: who, why, and how to go on. */

import type { WatchedRank } from "./watched_rank.ts";

/** Why a rank ended the run. `doing` is what its main thread was at. */
export const causes = {
  death: (doing: string) =>
    `Its process ended without a word, ${doing}. Something killed it: look for its own messages above, and for the ` +
    `system's (\`dmesg\`), which ends processes when memory runs out.`,
  silence: (seconds: number, doing: string) =>
    `Not a word for ${seconds} s, ${doing}. The process is stopped, or its machine or the network between is down.`,
  stall: (seconds: number, doing: string) =>
    `It has been stuck for ${seconds} s, ${doing}. Its GPU does not answer: the system's messages (\`dmesg\`) may say why.`,
  orphaned: "The program that started it has ended.",
} as const;

/** How the one message begins. */
export const LAST_WORDS = "The run has ended on all ranks because of";

/** The one message. */
export function lastWords(ranks: readonly WatchedRank[], cause: string, hint: string): string {
  return `${LAST_WORDS} ${nameRanks(ranks)}.\n${cause}${hint && `\n${hint}`}`;
}

/** `rank 2 on node-b (GPU 1: NVIDIA L4)` */
function nameRank({ rank, host, gpu }: WatchedRank): string {
  return `rank ${rank} on ${host} (${gpu})`;
}

/** Several with their host said once: `ranks 2 and 3 on node-b (GPU 0: NVIDIA L4, GPU 1: NVIDIA L4)`. */
function nameRanks(ranks: readonly WatchedRank[]): string {
  if (ranks.length === 1) return nameRank(ranks[0]);
  const hosts = [...new Set(ranks.map(({ host }) => host))];
  if (hosts.length > 1) return ranks.map(nameRank).join(", ");
  const numbers = ranks.map(({ rank }) => rank);
  const gpus = [...new Set(ranks.map(({ gpu }) => gpu))].join(", ");
  return `ranks ${numbers.slice(0, -1).join(", ")} and ${numbers.at(-1)} on ${hosts[0]} (${gpus})`;
}
