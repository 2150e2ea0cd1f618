import { LineConnection } from "./line_connection.ts";
import type { FollowerMessage, LeaderMessage } from "./watch_messages.ts";

/** Where rank 0 is found. */
export interface MeetingPoint {
  /** Addresses of its interfaces: which of them another host reaches is not known. */
  readonly addresses: readonly string[];
  readonly port: number;
  /** Tells this run's ranks from whoever else finds the port. */
  readonly token: string;
}

/** A connection to rank 0. */
export type LeaderConnection = LineConnection<FollowerMessage, LeaderMessage>;

/** Who takes a connection over. */
export interface LeaderListener {
  hear(message: LeaderMessage): void;
  /** The connection has ended. */
  ended(): void;
}

/** Listens on a free port of all interfaces. */
export function openMeetingPoint(): {
  readonly point: MeetingPoint;
  readonly door: Deno.TcpListener;
} {
  const door = listenEverywhere();
  const addresses = Deno.networkInterfaces()
    .map(({ address }) => address)
    .filter((address) => !address.startsWith("fe80:")); // means nothing without an interface's name
  return { point: { addresses, port: door.addr.port, token: crypto.randomUUID() }, door };
}

function listenEverywhere(): Deno.TcpListener {
  try {
    return Deno.listen({ hostname: "::", port: 0 }); // IPv4 too
  } catch {
    return Deno.listen({ hostname: "0.0.0.0", port: 0 }); // a system without IPv6
  }
}

/**
 * Connects to rank 0 by whichever of its addresses answers first.
 *
 * @throws Error that names the addresses when none does within the time
 */
export async function join(
  { addresses, port, token }: MeetingPoint,
  rank: number,
  listener: LeaderListener,
  seconds = 20,
): Promise<LeaderConnection> {
  const attempts = addresses.map((address) => knock(address, port, { rank, token }, listener));
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("late")), 1000 * seconds);
  });
  try {
    return await Promise.race([Promise.any(attempts), late]);
  } catch {
    throw new Error(`port ${port} of none of these addresses answers: ${addresses.join(", ")}`);
  } finally {
    clearTimeout(timer);
  }
}

/** Rank 0 welcomes the first of a rank's connections and closes the others. */
async function knock(
  address: string,
  port: number,
  hello: { readonly rank: number; readonly token: string },
  listener: LeaderListener,
): Promise<LeaderConnection> {
  const connection = new LineConnection<FollowerMessage, LeaderMessage>(
    await Deno.connect({ hostname: address, port }),
  );
  const welcome = Promise.withResolvers<void>();
  let isWelcome = false;
  const hear = (message: LeaderMessage) => {
    if (isWelcome) return listener.hear(message);
    isWelcome = message.type === "welcome";
    if (isWelcome) welcome.resolve();
  };
  connection.listen(hear).then(() => {
    if (isWelcome) listener.ended();
    else welcome.reject(new Error(`${address} is not rank 0 of this run`));
  });
  connection.send({ type: "hello", ...hello });
  await welcome.promise;
  return connection;
}
