import { LineConnection, type Listener } from "./line_connection.ts";
import {
  type FollowerMessage,
  followerMessageSchema,
  type Hello,
  type LeaderMessage,
} from "./watch_messages.ts";

/** A connection from another rank, or from whoever else has found the port. */
export type FollowerConnection = LineConnection<LeaderMessage, FollowerMessage>;

/** Limits for connections that have not said who they are. */
export interface DoorLimits {
  /** Most such connections at once; more are turned away. */
  readonly strangers: number;
  /** In which to say it. */
  readonly seconds: number;
}

/** Time for the system to have files again. */
const RECOVERY_MS = 100;

/**
 * Where the other ranks come in. Anyone can connect to the port: who says anything but hello, nothing, or what `admit`
 * does not know, is shown out, and nothing of it reaches the run.
 */
export class Door {
  readonly #strangers = new Set<FollowerConnection>();
  #isClosed = false;

  /** @param admit takes a connection over, or returns null */
  constructor(
    private readonly port: Deno.TcpListener,
    private readonly limits: DoorLimits,
    private readonly admit: (
      hello: Hello,
      connection: FollowerConnection,
    ) => Listener<FollowerMessage> | null,
  ) {
    void this.#open();
  }

  /** Lets nobody in any more. Those who were admitted stay. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.port.close();
    for (const stranger of this.#strangers) stranger.close();
  }

  async #open(): Promise<void> {
    while (!this.#isClosed) {
      try {
        const tcp = await this.port.accept();
        if (this.#isClosed || this.#strangers.size >= this.limits.strangers) tcp.close();
        else void this.#receive(new LineConnection(tcp, followerMessageSchema));
      } catch {
        // Closed by `close`. Or this process has too many files open, or the visitor had left: the next one may do better.
        if (!this.#isClosed) await new Promise((resolve) => setTimeout(resolve, RECOVERY_MS));
      }
    }
  }

  async #receive(connection: FollowerConnection): Promise<void> {
    this.#strangers.add(connection);
    const late = setTimeout(() => connection.close(), 1000 * this.limits.seconds);
    const known = () => {
      clearTimeout(late);
      this.#strangers.delete(connection);
    };
    let listener = null as Listener<FollowerMessage> | null;
    await connection.listen((message) => {
      if (listener) return listener.hear(message);
      known();
      listener = message.type === "hello" ? this.admit(message, connection) : null;
      if (!listener) connection.close();
    });
    known();
    listener?.ended();
  }
}
