import type { z } from "zod";

/** Characters of a line; a longer one is no message. */
export const LONGEST_LINE = 2 ** 18;

/** Listener to a connection. */
export interface Listener<Received> {
  hear(message: Received): void;
  /** The connection has ended. */
  ended(): void;
}

/**
 * Messages over TCP, a line of JSON each. Sending never waits: what cannot be delivered shows as the connection's end.
 * So does whatever is wrong with what arrives: text that is no message, a line without end, a reset.
 */
export class LineConnection<Sent, Received> {
  readonly #connection: Deno.TcpConn;
  readonly #schema: z.ZodType<Received>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  #isClosed = false;

  /** @param schema what a message looks like */
  constructor(connection: Deno.TcpConn, schema: z.ZodType<Received>) {
    this.#connection = connection;
    this.#schema = schema;
    this.#writer = connection.writable.getWriter();
    connection.setNoDelay(true);
  }

  /** Sends a message. @returns when the system took it, or the connection has ended */
  send(message: Sent): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const line = new TextEncoder().encode(`${JSON.stringify(message)}\n`);
    return this.#writer.write(line).catch(() => this.close());
  }

  /** Calls `hear` with each message until the connection ends. */
  async listen(hear: (message: Received) => void): Promise<void> {
    try {
      for await (const line of this.#lines()) {
        const message = this.#read(line);
        if (message === null) return;
        hear(message);
        if (this.#isClosed) return;
      }
    } finally {
      this.close();
    }
  }

  /** Ends the connection. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      this.#connection.close();
    } catch {
      // The end that this side was told of has closed it already.
    }
  }

  async *#lines(): AsyncGenerator<string, void> {
    let text = "";
    const texts = this.#connection.readable.pipeThrough(new TextDecoderStream()).getReader();
    while (text.length <= LONGEST_LINE) {
      // Reset, or closed from this side: an end like any other.
      const { done, value } = await texts.read().catch(() => ({ done: true, value: undefined }));
      if (done) return;
      const lines = (text + value).split("\n");
      text = lines.pop() ?? "";
      yield* lines;
    }
  }

  /** The message; null when it is none. */
  #read(line: string): Received | null {
    try {
      return this.#schema.parse(JSON.parse(line));
    } catch {
      return null; // the sender is no rank of this run
    }
  }
}
