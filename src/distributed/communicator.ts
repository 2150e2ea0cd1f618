import { Failure } from "../base/failure.ts";

/** A message from or to another rank did not come through: most often that rank has failed, and knows why. */
export class ExchangeFailure extends Failure {
  override name = "ExchangeFailure";
}

/**
 * Processes that compute one run together, each with a GPU of its own. All of them run the same program, and
 * what they exchange arrives in the order in which it was sent, per sender, receiver and channel.
 */
export interface Communicator {
  /** Number of this process among all, from 0. */
  readonly rank: number;
  readonly size: number;
  /** The numbers that its ranks have among all of the run: in a group of some of them, others than here. */
  readonly members: readonly number[];
  /** Bytes that this process has sent so far, on all channels. */
  readonly bytesSent: number;

  /**
   * Sends bytes to another rank.
   *
   * @returns when the bytes may be overwritten; the receiver need not have them yet, but long ones may wait until it
   *   asks for them: two ranks that send to each other do not wait for that before they receive
   */
  send(bytes: Uint8Array, to: number): Promise<void>;

  /**
   * Receives what a rank sent next: exactly as many bytes.
   *
   * @throws ExchangeFailure when it does not come within the time that is allowed, or other bytes come
   */
  receive(bytes: Uint8Array, from: number): Promise<void>;

  /** The same ranks' communicator whose messages keep apart from those of other channels. 0 is the first channel. */
  channel(channel: number): Communicator;
}

/** The communicator of a process by itself. */
export const alone: Communicator = {
  rank: 0,
  size: 1,
  members: [0],
  bytesSent: 0,
  send: () => Promise.reject(new Error("there is no other rank to send to")),
  receive: () => Promise.reject(new Error("there is no other rank to receive from")),
  channel: () => alone,
};
