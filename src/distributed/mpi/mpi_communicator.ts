import { formatBytes } from "../../base/format_bytes.ts";
import { type Communicator, ExchangeFailure } from "../communicator.ts";
import { MpiError, type MpiLibrary, type Request } from "./mpi_library.ts";
import { type Pending, Poller } from "./poller.ts";

/** MPI counts in 32 bits, and how far a long message is shows only piece by piece. */
const PIECE_BYTES = 2 ** 22;

/**
 * All ranks that were started together, over MPI. A channel is a tag, and MPI keeps the order of messages between two
 * ranks with the same tag. After a failure every call fails with it.
 *
 * @param nameRank names a rank in messages
 * @param timeLimit milliseconds that sending or receiving may take, asked when it begins
 */
export function mpiCommunicator(
  library: MpiLibrary,
  { rank, size }: { readonly rank: number; readonly size: number },
  nameRank: (rank: number) => string,
  timeLimit: () => number,
): Communicator {
  const poller = new Poller(timeLimit);
  const members = Array.from({ length: size }, (_, member) => member);
  let bytesSent = 0;

  /** @param begin has the library begin with a piece */
  const transfer = (
    bytes: Uint8Array,
    purpose: string,
    begin: (piece: Uint8Array) => Request,
    check: (piece: Request) => void = () => {},
  ): Promise<void> => {
    const failed = (problem: string) => new ExchangeFailure(`${nameRank(rank)} ${problem}`);
    const explained = <Result>(call: () => Result): Result => {
      try {
        return call();
      } catch (error) {
        if (!(error instanceof MpiError)) throw error;
        throw failed(`could not ${purpose}: ${error.message}`);
      }
    };
    return poller.wait(() => {
      // The pieces begin all at once, or those of the next message would come between.
      const pieces = explained(() => piecesOf(bytes).map(begin));
      let next = 0;
      const poll = (): ReturnType<Pending["poll"]> => {
        const before = next;
        while (next < pieces.length && library.isDone(pieces[next])) check(pieces[next++]);
        return next === pieces.length ? "done" : next > before ? "moved" : "still";
      };
      return {
        poll: () => explained(poll),
        overdue: (limit) => failed(`waited ${limit / 1000} s to ${purpose}`),
      };
    });
  };

  const on = (channel: number): Communicator => ({
    rank,
    size,
    members,
    get bytesSent() {
      return bytesSent;
    },
    send(bytes, to) {
      bytesSent += bytes.length;
      const purpose = `send ${formatBytes(bytes.length)} to ${nameRank(to)}`;
      return transfer(bytes, purpose, (piece) => library.send(piece, to, channel));
    },
    receive(bytes, from) {
      const purpose = `receive ${formatBytes(bytes.length)} from ${nameRank(from)}`;
      const begin = (piece: Uint8Array) => library.receive(piece, from, channel);
      return transfer(bytes, purpose, begin, ({ bytes: expected }) => {
        const received = library.receivedBytes();
        if (received === expected.length) return;
        throw new ExchangeFailure(
          `rank ${rank} expects ${expected.length} bytes of rank ${from}, not ${received}`,
        );
      });
    },
    channel: on,
  });
  return on(0);
}

function piecesOf(bytes: Uint8Array): Uint8Array[] {
  const count = Math.max(1, Math.ceil(bytes.length / PIECE_BYTES));
  return Array.from(
    { length: count },
    (_, p) => bytes.subarray(p * PIECE_BYTES, (p + 1) * PIECE_BYTES),
  );
}
