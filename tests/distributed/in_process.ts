/** Ranks that are tasks of one process: what is sent is copied into a queue that the receiver empties. */

import type { Communicator } from "../../src/distributed/communicator.ts";

/** Communicators of `size` ranks; each is to be used by one task. */
export function inProcess(size: number): Communicator[] {
  const queues = new Map<string, Queue>();
  const queue = (channel: number, from: number, to: number): Queue => {
    const key = `${channel} ${from} ${to}`;
    const found = queues.get(key) ?? new Queue();
    queues.set(key, found);
    return found;
  };
  return Array.from({ length: size }, (_, rank) => {
    const counted = { bytes: 0 };
    const on = (channel: number): Communicator => ({
      rank,
      size,
      members: Array.from({ length: size }, (_, member) => member),
      get bytesSent() {
        return counted.bytes;
      },
      send(bytes, to) {
        counted.bytes += bytes.length;
        queue(channel, rank, to).put(bytes.slice());
        return Promise.resolve();
      },
      async receive(bytes, from) {
        const message = await queue(channel, from, rank).take();
        if (message.length !== bytes.length) {
          throw new Error(
            `rank ${rank} expects ${bytes.length} bytes of rank ${from}, not ${message.length}`,
          );
        }
        bytes.set(message);
      },
      channel: on,
    });
    return on(0);
  });
}

/** Runs the same task as every rank and waits for all. */
export function onRanks<Result>(
  size: number,
  task: (communicator: Communicator) => Promise<Result>,
): Promise<Result[]> {
  return Promise.all(inProcess(size).map(task));
}

class Queue {
  readonly #messages: Uint8Array[] = [];
  readonly #waiting: ((message: Uint8Array) => void)[] = [];

  put(message: Uint8Array): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(message);
    else this.#messages.push(message);
  }

  take(): Promise<Uint8Array> {
    const message = this.#messages.shift();
    return message
      ? Promise.resolve(message)
      : new Promise((resolve) => this.#waiting.push(resolve));
  }
}
