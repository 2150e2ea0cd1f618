import { LineConnection, type Listener } from "./line_connection.ts";
import { type FollowerMessage, type LeaderMessage, leaderMessageSchema } from "./watch_messages.ts";

/** Seconds in which ranks come together. */
export const JOIN_SECONDS = 20;

/** Where the other ranks find rank 0. */
export interface MeetingPoint {
  /** Addresses of its interfaces: which of them another host reaches is not known. */
  readonly addresses: readonly string[];
  readonly port: number;
  /** Tells this run's ranks from whoever else finds the port. */
  readonly token: string;
}

/** A connection to rank 0. */
export type LeaderConnection = LineConnection<FollowerMessage, LeaderMessage>;

/** Listens on a free port of all interfaces. */
export function openMeetingPoint(): {
  readonly point: MeetingPoint;
  readonly port: Deno.TcpListener;
} {
  const port = listenEverywhere();
  const addresses = Deno.networkInterfaces()
    .map(({ address }) => address)
    .filter((address) => !address.startsWith("fe80:")); // means nothing without an interface's name
  return { point: { addresses, port: port.addr.port, token: crypto.randomUUID() }, port };
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
  listener: Listener<LeaderMessage>,
  seconds = JOIN_SECONDS,
): Promise<LeaderConnection> {
  const enough = new AbortController();
  const attempts = addresses.map((address) =>
    knock(address, port, { rank, token }, listener, enough.signal)
  );
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
    enough.abort();
  }
}

/** Rank 0 welcomes the first of a rank's connections and closes the others; others may answer at its addresses, too. */
async function knock(
  address: string,
  port: number,
  hello: { readonly rank: number; readonly token: string },
  listener: Listener<LeaderMessage>,
  enough: AbortSignal,
): Promise<LeaderConnection> {
  const connection: LeaderConnection = new LineConnection(
    await Deno.connect({ hostname: address, port }),
    leaderMessageSchema,
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
  const leave = () => isWelcome || connection.close();
  if (enough.aborted) leave();
  else enough.addEventListener("abort", leave);
  connection.send({ type: "hello", ...hello });
  await welcome.promise;
  return connection;
}
