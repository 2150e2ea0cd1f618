import type { HostTime } from "./host_time.ts";
import type { ComparedRate } from "./pairs.ts";
import { type PeerType, peerTypes } from "./transformers_process.ts";

const widths = [18, 14, 12, 7, 12, 7];

/** The table's head: ours and, where it is measured too, transformers' with the speed relative to it. */
export function rateHead(peer: boolean): string {
  const beside = peer ? peerTypes.flatMap((dtype) => [`its ${dtype}`, "speed"]) : [];
  return cells(["", "ours, tokens/s", ...beside]);
}

/** One work as a row; speeds above 1 mean that this engine is faster. */
export function rateRow({ name, ours, peers }: ComparedRate<PeerType>): string {
  const beside = (dtype: PeerType) => {
    const found = peers[dtype];
    return found ? [found.rate.toFixed(1), `${found.ratio.toPrecision(2)}x`] : [];
  };
  return cells([name, ours.toFixed(1), ...peerTypes.flatMap(beside)]);
}

/** What the host does, in words. */
export function hostLine({ launches, microseconds }: HostTime): string {
  return `host: ${microseconds.toFixed(2)} µs of JavaScript for each of ${launches} launches of ` +
    "decoding";
}

function cells(texts: readonly string[]): string {
  return texts.map((text, i) => i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))
    .join(" ");
}
