/** Answers that come in pieces, as server-sent events. */

const encoder = new TextEncoder();
const event = (data: string) => encoder.encode(`data: ${data}\n\n`);

/** What is read while it is made. */
export class Feed<Item> {
  readonly #items: Item[] = [];
  #end: { readonly error: Error | null } | null = null;
  #wake = () => {};

  /** @param cancel called when nobody reads any more */
  constructor(readonly cancel: () => void) {}

  add(item: Item): void {
    this.#items.push(item);
    this.#wake();
  }

  /** Nothing more comes. @param error what went wrong */
  close(error: Error | null = null): void {
    this.#end ??= { error };
    this.#wake();
  }

  /**
   * The next item; null when there is none any more.
   *
   * @throws what it was closed with
   */
  async next(): Promise<Item | null> {
    while (this.#items.length === 0 && this.#end === null) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    const item = this.#items.shift();
    if (item !== undefined) return item;
    if (this.#end?.error) throw this.#end.error;
    return null;
  }
}

/**
 * An answer of events, each an item in JSON, and at last `[DONE]`.
 *
 * Nothing is answered before the first item, so that a request that is refused is answered with its status.
 *
 * @param describe an error that comes later, as the client reads it
 */
export async function eventStream(
  feed: Feed<object>,
  describe: (error: Error) => Promise<object>,
): Promise<Response> {
  let next = await feed.next();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (next === null) {
        controller.enqueue(event("[DONE]"));
        controller.close();
        return;
      }
      controller.enqueue(event(JSON.stringify(next)));
      try {
        next = await feed.next();
      } catch (error) {
        controller.enqueue(event(JSON.stringify(await describe(error as Error))));
        next = null;
      }
    },
    cancel: () => feed.cancel(),
  }, { highWaterMark: 0 });
  return new Response(body, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" },
  });
}
