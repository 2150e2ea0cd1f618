/** The lines of a body as they come, each of them JSON; a last one without its end is left out. */
export async function* jsonLines(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  for await (const line of textLines(body)) yield JSON.parse(line);
}

/** What the server-sent events of a body hold, each of them JSON, up to OpenAI's word for the end. */
export async function* jsonEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  for await (const line of textLines(body)) {
    if (line === "data: [DONE]") return;
    if (line.startsWith("data: ")) yield JSON.parse(line.slice("data: ".length));
  }
}

/** Lines that are not empty. */
async function* textLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of chunks(body)) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield line;
  }
}

/** Not every browser can go through a stream with `for await`. */
async function* chunks(body: ReadableStream<Uint8Array>) {
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
