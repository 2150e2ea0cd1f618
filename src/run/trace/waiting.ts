import type { Transfer } from "../../distributed/timed_communicator.ts";
import { type TimeInterval, union, without } from "./intervals.ts";

/** Work of a rank's communicator and GPU in a step, all times on one clock. */
export interface RankWork {
  readonly transfers: readonly Transfer[];
  /** When its GPU had something to do. */
  readonly busy: readonly TimeInterval[];
}

/** Times in which a rank did not compute. */
export interface RankWaiting {
  /** Times in which it waited for a message that nobody had begun to send, and its GPU had nothing to do. */
  readonly idle: readonly TimeInterval[];
  /** Times in which bytes were on their way from or to it, and its GPU had nothing to do. */
  readonly communicating: readonly TimeInterval[];
}

/** Messages between two ranks on a channel arrive in the order in which they were sent. */
const lane = (from: number, to: number, channel: number) => `${from} ${to} ${channel}`;

/**
 * Tells waiting from communicating: a message is on its way once its sender has begun to send it. The n-th message
 * that a rank receives from another on a channel is the n-th that this one sent.
 */
export class Waiting {
  /** When messages were sent that are not yet known to be received, in their order. */
  readonly #sent = new Map<string, number[]>();
  /** Messages known to be received of which nobody has said yet that they were sent. */
  readonly #ahead = new Map<string, number>();

  /** @param ranks what each did since the last call */
  find(ranks: readonly RankWork[]): RankWaiting[] {
    // Messages are sent and received in the order in which one began to.
    const begun = ranks.map(({ transfers }) => transfers.toSorted((a, b) => a.begin - b.begin));
    begun.forEach((transfers, rank) => {
      for (const { kind, peer, channel, begin } of transfers) {
        if (kind === "send") this.#send(lane(rank, peer, channel), begin);
      }
    });
    return ranks.map(({ busy }, rank) => {
      const waiting: TimeInterval[] = [];
      const moving: TimeInterval[] = [];
      for (const { kind, peer, channel, begin, end } of begun[rank]) {
        if (kind === "send") {
          moving.push([begin, end]);
          continue;
        }
        const sent = this.#receive(lane(peer, rank, channel)) ?? begin;
        waiting.push([begin, end]);
        moving.push([Math.max(begin, sent), end]);
      }
      return {
        idle: without(waiting, [...moving, ...busy]),
        communicating: without(union(moving), busy),
      };
    });
  }

  #send(key: string, begin: number): void {
    const ahead = this.#ahead.get(key) ?? 0;
    if (ahead > 1) return void this.#ahead.set(key, ahead - 1);
    if (ahead === 1) return void this.#ahead.delete(key);
    const sent = this.#sent.get(key);
    if (sent) sent.push(begin);
    else this.#sent.set(key, [begin]);
  }

  #receive(key: string): number | undefined {
    const sent = this.#sent.get(key);
    if (!sent) {
      this.#ahead.set(key, (this.#ahead.get(key) ?? 0) + 1);
      return undefined;
    }
    const first = sent.shift();
    // There are many channels, most of which are used once.
    if (sent.length === 0) this.#sent.delete(key);
    return first;
  }
}
