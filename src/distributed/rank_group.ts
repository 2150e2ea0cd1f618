import type { Communicator } from "./communicator.ts";

/**
 * Some of the ranks as a communicator of their own, numbered from 0 in the order given.
 *
 * @param ranks of `communicator`; this process is among them
 */
export function rankGroup(communicator: Communicator, ranks: readonly number[]): Communicator {
  const rank = ranks.indexOf(communicator.rank);
  if (rank < 0) throw new Error(`rank ${communicator.rank} is not one of ${ranks.join(", ")}`);
  return {
    rank,
    size: ranks.length,
    members: ranks.map((member) => communicator.members[member]),
    get bytesSent() {
      return communicator.bytesSent;
    },
    send: (bytes, to) => communicator.send(bytes, ranks[to]),
    receive: (bytes, from) => communicator.receive(bytes, ranks[from]),
    channel: (channel) => rankGroup(communicator.channel(channel), ranks),
  };
}
