import type { Communicator } from "./communicator.ts";

/** A message on its way, as one of its two ends saw it. */
export interface Transfer {
  readonly kind: "send" | "receive";
  /** The rank at the other end. */
  readonly peer: number;
  readonly channel: number;
  readonly bytes: number;
  /** When the call began and when it returned, by the clock that was given. */
  readonly begin: number;
  readonly end: number;
}

/**
 * A communicator that tells `hear` of every message once it has been sent or received.
 *
 * @param clock milliseconds
 */
export function timedCommunicator(
  communicator: Communicator,
  hear: (transfer: Transfer) => void,
  clock: () => number,
): Communicator {
  const timed = async (
    { kind, peer, bytes, channel }: Omit<Transfer, "begin" | "end">,
    message: () => Promise<void>,
  ) => {
    const begin = clock();
    await message();
    hear({ kind, peer, channel, bytes, begin, end: clock() });
  };
  const on = (inner: Communicator, channel: number): Communicator => ({
    rank: inner.rank,
    size: inner.size,
    members: inner.members,
    get bytesSent() {
      return inner.bytesSent;
    },
    send: (bytes, peer) =>
      timed(
        { kind: "send", peer, bytes: bytes.length, channel },
        () => inner.send(bytes, peer),
      ),
    receive: (bytes, peer) =>
      timed(
        { kind: "receive", peer, bytes: bytes.length, channel },
        () => inner.receive(bytes, peer),
      ),
    channel: (channel) => on(communicator.channel(channel), channel),
  });
  return on(communicator, 0);
}
