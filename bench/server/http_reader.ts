/** A connection that asks for one thing after the other. Its answers say their length. */
export class HttpReader {
  readonly #bytes = new Uint8Array(1 << 20);
  #length = 0;

  private constructor(private readonly connection: Deno.Conn, private readonly host: string) {}

  static async connect(address: Deno.ConnectOptions): Promise<HttpReader> {
    const connection = await Deno.connect(address);
    return new HttpReader(connection, `${address.hostname}:${address.port}`);
  }

  /** @throws Error when it is refused */
  async get(path: string): Promise<void> {
    const request = `GET ${path} HTTP/1.1\r\nhost: ${this.host}\r\n\r\n`;
    await this.connection.write(new TextEncoder().encode(request));
    this.#length = 0;
    let end = -1;
    for (; end < 0; end = this.#head().indexOf("\r\n\r\n")) await this.#more();
    const head = this.#head().slice(0, end);
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1]);
    if (!head.startsWith("HTTP/1.1 200") || !(length >= 0)) throw new Error(`${path}: ${head}`);
    while (this.#length < end + 4 + length) await this.#more();
  }

  #head(): string {
    return new TextDecoder().decode(this.#bytes.subarray(0, Math.min(this.#length, 4096)));
  }

  async #more(): Promise<void> {
    const count = await this.connection.read(this.#bytes.subarray(this.#length));
    if (count === null) throw new Error("the server hung up");
    this.#length += count;
  }
}
