/** Lines of JSON over a connection. */

/** Bytes of a line; a longer one is no request. */
export const LONGEST_REQUEST = 1 << 16;

/** The lines that arrive, without their ends; null in place of one that is too long, which is the last. */
export async function* receivedLines(
  connection: Deno.UnixConn,
): AsyncGenerator<string | null, void> {
  const decoder = new TextDecoder();
  const part = new Uint8Array(4096);
  let text = "";
  for (;;) {
    const count = await connection.read(part);
    if (count === null) return;
    const lines = (text + decoder.decode(part.subarray(0, count), { stream: true })).split("\n");
    text = lines.pop() ?? "";
    yield* lines;
    if (text.length <= LONGEST_REQUEST) continue;
    yield null;
    return;
  }
}

/** Closes a connection that may be closed already. */
export function close(connection: Deno.UnixConn): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

/** Sends a value as one line. */
export async function sendLine(connection: Deno.UnixConn, value: object): Promise<void> {
  const bytes = new TextEncoder().encode(`${JSON.stringify(value)}\n`);
  for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent));
}
