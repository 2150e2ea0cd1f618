import type { GpuDescription, Link } from "./gpu_description.ts";

/** Cost of an exchange between ranks. */
export interface ExchangeCost {
  readonly seconds: number;
  /** Bytes that each rank sends. */
  readonly bytesSent: number;
}

const noExchange: ExchangeCost = { seconds: 0, bytesSent: 0 };

/** Bytes of the longest message that a slice of a gradient makes. */
const messageBytes = 4 * 2 ** 20;
/** Messages of a rank that are under way at a time. */
const messagesUnderWay = 4;

/**
 * Each rank sends every other one its own share of `bytes`. Peers on the same machine
 * are reached through its memory, the others over the network; the slower way decides. Every peer costs at least a
 * message's latency, four messages at a time.
 *
 * @param bytes of all shares together
 * @param senders ranks that have a share; by default all
 * @returns what it is to each of the senders
 */
export function exchangeCost(
  gpu: GpuDescription,
  ranks: number,
  bytes: number,
  senders = ranks,
): ExchangeCost {
  if (ranks === 1) return noExchange;
  const each = bytes / senders;
  const near = Math.min(ranks, gpu.gpusPerMachine) - 1;
  const far = ranks - 1 - near;
  const seconds = (peers: number, { bytesPerSecond, latency }: Link) => {
    const messages = peers * Math.ceil(each / messageBytes);
    return peers * each / bytesPerSecond + messages * latency / messagesUnderWay;
  };
  return {
    seconds: Math.max(seconds(near, gpu.machine), seconds(far, gpu.network)),
    bytesSent: each * (ranks - 1),
  };
}

/**
 * One update's gradient brought together (ZeRO stage 1): every rank sends the others their slices of its
 * sum, and then its own slice of the new weights. Both go through the host: what is sent is read from the GPU, what
 * is received is written to it, while the slice before is on its way; the slower of the two decides.
 *
 * @param bytes of all gradients, and of all weights
 * @param sums shard sums of a rank (`wholeRanges`), 1 where ranks divide the shards evenly into powers of two
 */
export function reductionCost(
  gpu: GpuDescription,
  ranks: number,
  bytes: { readonly gradients: number; readonly weights: number },
  sums: number,
): ExchangeCost {
  const reduced = exchangeCost(gpu, ranks, sums * bytes.gradients);
  const gathered = exchangeCost(gpu, ranks, bytes.weights);
  const through = (exchange: ExchangeCost) =>
    Math.max(exchange.seconds, 2 * exchange.bytesSent / gpu.hostRate);
  return {
    seconds: through(reduced) + through(gathered),
    bytesSent: reduced.bytesSent + gathered.bytesSent,
  };
}
