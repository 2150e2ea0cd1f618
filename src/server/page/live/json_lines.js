/**
 * The lines of a body as they come, each of them JSON; a last one without its end is left out.
 *
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<unknown>}
 */
export async function* jsonLines(body) {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of chunks(body)) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line);
  }
}

/**
 * Not every browser can go through a stream with `for await`.
 *
 * @param {ReadableStream<Uint8Array>} body
 */
async function* chunks(body) {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}
