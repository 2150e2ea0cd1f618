import { RequestProblem } from "../http/problem.ts";
import { UserError } from "../../base/user_error.ts";
import type { FutureResult, Futures } from "./futures.ts";

/** A number that never came is passed over after so long, in milliseconds: its request was refused on the way. */
const GAP_MS = 60_000;

/** Of the requests of one model that wait. */
const MOST_BYTES = 2 ** 28;

/**
 * The numbered requests of one model, begun in the order of their numbers, in whatever order they come. A number that
 * comes again is the same request again.
 */
export class Ordered {
  readonly #waiting = new Map<number, () => void>();
  readonly #known = new Map<number, { readonly content: string; readonly id: string }>();
  #next = 1;
  #bytes = 0;
  #gap: ReturnType<typeof setTimeout> | undefined;

  /** @param owner whose results they are */
  constructor(
    private readonly futures: Futures,
    private readonly owner: string,
    private readonly gapMs = GAP_MS,
  ) {}

  /**
   * Takes a request.
   *
   * @param content tells two requests apart
   * @param bytes that it takes while it waits
   * @param run begins it when all with lower numbers have begun; what it sends is done in that order
   * @returns the request's id
   * @throws RequestProblem when another request had the number: 409, or too much waits: 429
   */
  submit(number: number, content: string, bytes: number, run: () => Promise<FutureResult>): string {
    const known = this.#known.get(number);
    if (known) {
      if (known.content === content) return known.id;
      throw new RequestProblem(409, `seq_id ${number} was another request before.`, "seq_id");
    }
    if (this.#bytes + bytes > MOST_BYTES) {
      const detail = `${this.#bytes} bytes of requests wait for this model already.`;
      throw new RequestProblem(429, detail, undefined, { "retry-after": "2" });
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const late = number < this.#next;
    const id = this.futures.add(
      this.owner,
      late
        ? Promise.reject(new UserError(`seq_id ${number} came after later ones had begun.`))
        : promise.then(run).finally(() => this.#bytes -= bytes),
    );
    this.#known.set(number, { content, id });
    if (late) return id;
    this.#bytes += bytes;
    this.#waiting.set(number, resolve);
    this.#advance();
    return id;
  }

  /** Begins nothing any more. */
  end(): void {
    clearTimeout(this.#gap);
    this.#waiting.clear();
  }

  #advance(): void {
    for (
      let begin = this.#waiting.get(this.#next);
      begin;
      begin = this.#waiting.get(this.#next)
    ) {
      this.#waiting.delete(this.#next++);
      begin();
    }
    clearTimeout(this.#gap);
    if (this.#waiting.size > 0) this.#gap = setTimeout(() => this.#passOver(), this.gapMs);
  }

  #passOver(): void {
    this.#next = Math.min(...this.#waiting.keys());
    this.#advance();
  }
}
