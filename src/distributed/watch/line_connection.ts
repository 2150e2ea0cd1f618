/**
 * Messages over TCP, a line of JSON each. Sending never waits: what cannot be delivered shows as the connection's end.
 */
export class LineConnection<Sent, Received> {
  readonly #connection: Deno.TcpConn;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  #isClosed = false;

  constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
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
    let text = "";
    try {
      for await (const part of this.#connection.readable.pipeThrough(new TextDecoderStream())) {
        const lines = (text + part).split("\n");
        text = lines.pop() ?? "";
        for (const line of lines) hear(JSON.parse(line));
      }
    } catch (error) {
      if (error instanceof SyntaxError) throw error;
      // Reset, or closed from this side.
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
}
