/** One who follows a run's events, goes away and comes again, and looks whether each comes once. */
export class Watcher {
  #last = 0;
  #connection: Deno.Conn | null = null;
  isWrong = false;

  constructor(private readonly address: Deno.ConnectOptions, private readonly run: string) {}

  open(): void {
    if (this.#connection === null) void this.#follow();
  }

  close(): void {
    this.#connection?.close();
    this.#connection = null;
  }

  /** Waits for an event of a number. */
  async until(number: number): Promise<void> {
    while (this.#last < number) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  async #follow(): Promise<void> {
    const { hostname, port } = this.address;
    const connection = await Deno.connect(this.address);
    this.#connection = connection;
    const request = `GET /api/runs/${this.run}/events HTTP/1.1\r\nhost: ${hostname}:${port}\r\n` +
      `last-event-id: ${this.#last}\r\n\r\n`;
    await connection.write(new TextEncoder().encode(request));
    const decoder = new TextDecoder();
    const bytes = new Uint8Array(1 << 16);
    let rest = "";
    try {
      for (;;) {
        const count = await connection.read(bytes);
        if (count === null) throw new Error("the server hung up");
        // Where pieces of the answer meet there are their lengths, lines of their own.
        const lines = (rest + decoder.decode(bytes.subarray(0, count), { stream: true })).split(
          "\n",
        );
        rest = lines.pop() ?? "";
        for (const line of lines) if (line.startsWith("id: ")) this.#take(Number(line.slice(4)));
      }
    } catch (error) {
      if (this.#connection === connection) throw error;
      // It was closed here.
    }
  }

  #take(number: number): void {
    if (number !== this.#last + 1) this.isWrong = true;
    this.#last = number;
  }
}
