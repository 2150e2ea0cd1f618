import { randomUUID } from "node:crypto";
import { UserError } from "../../base/user_error.ts";
import { within } from "../../base/within.ts";
import { RequestProblem } from "../http/problem.ts";

/** What a client fetches. */
export type FutureResult =
  | { readonly json: object }
  | { readonly protobuf: Uint8Array };

/** A finished result that was fetched is kept for so long, in milliseconds: the answer may have been lost. */
const KEPT_MS = 5 * 60_000;

interface Future {
  readonly owner: string;
  readonly result: Promise<FutureResult>;
  isFetched: boolean;
}

/** Results of what clients asked for, who come for them later. Those that nobody has fetched are kept. */
export class Futures {
  readonly #futures = new Map<string, Future>();
  /** In the order in which they were fetched. */
  #fetched: { readonly id: string; readonly time: number }[] = [];

  /**
   * @param owner whose it is
   * @returns the request's id
   */
  add(owner: string, result: Promise<FutureResult>): string {
    const id = randomUUID();
    this.#futures.set(id, { owner, result: result.catch(failed), isFetched: false });
    this.#forget();
    return id;
  }

  /**
   * The result; null when it is not there within some time.
   *
   * @throws RequestProblem when it is unknown: 410
   */
  async wait(id: string, milliseconds: number): Promise<FutureResult | null> {
    const future = this.#futures.get(id);
    if (!future) throw new RequestProblem(410, `The request ${id} is unknown or was forgotten.`);
    const result = await within(future.result, milliseconds);
    if (result !== null && !future.isFetched) {
      future.isFetched = true;
      this.#fetched.push({ id, time: performance.now() });
    }
    return result;
  }

  /** Forgets what somebody will not come for any more. */
  drop(owner: string): void {
    for (const [id, future] of this.#futures) if (future.owner === owner) this.#futures.delete(id);
  }

  #forget(): void {
    const now = performance.now();
    const kept = this.#fetched.findIndex(({ time }) => now - time <= KEPT_MS);
    for (const { id } of this.#fetched.splice(0, kept < 0 ? this.#fetched.length : kept)) {
      this.#futures.delete(id);
    }
  }
}

/** An error as the client raises it. */
function failed(error: unknown): FutureResult {
  if (error instanceof UserError || (error instanceof RequestProblem && error.status < 500)) {
    return { json: { error: (error as Error).message, category: "user" } };
  }
  if (error instanceof RequestProblem) {
    return { json: { error: error.message, category: "server" } };
  }
  console.error(error);
  return {
    json: { error: "The server made a mistake; its output says more.", category: "server" },
  };
}
