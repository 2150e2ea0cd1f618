import { Failure } from "../../base/failure.ts";
import { UserError } from "../../base/user_error.ts";
import { type Communicator, ExchangeFailure } from "../communicator.ts";
import { FailureElsewhere, MistakeElsewhere } from "../outcomes.ts";
import { broadcastValue, gatherValues } from "../values.ts";
import type { MeetingPoint } from "./meeting_point.ts";
import { ownProcess } from "../../platform/process/process_identity.ts";
import type { MainMessage, ToldFailure, WatchMessage } from "./watch_messages.ts";
import type { WatchedRank, WatchLimits } from "./watched_rank.ts";

/** How often a main thread shows that it is not stuck. */
const TICK_MS = 1000;

/**
 * Watches over the ranks of a run from a thread of its own. When one of them fails, dies, falls silent or is stuck, one
 * message says which and why, and all processes end.
 *
 * Rank 0's watch prints that message. A host that is cut off from it has its lowest rank print another.
 */
export class RunWatch {
  readonly #worker: Worker;
  readonly #counter: Int32Array;
  readonly #ticking: ReturnType<typeof setInterval>;
  #readsUnderWay = 0;

  /**
   * Begins to watch. All ranks call it together.
   *
   * @param gpu this rank's, in a few words
   * @throws Failure on all ranks when one of them does not reach rank 0
   */
  static async open(
    communicator: Communicator,
    gpu: string,
    limits: WatchLimits,
  ): Promise<RunWatch> {
    const { rank } = communicator;
    const own: WatchedRank = { rank, host: Deno.hostname(), gpu, process: ownProcess() };
    const ranks = await gatherValues(communicator, own);
    return await RunWatch.among(ranks, rank, limits, {
      agree: (point) => broadcastValue(communicator, point),
      gather: (problem) => gatherValues(communicator, problem),
    });
  }

  /** Opens the watch of ranks that know each other already. */
  static async among(
    ranks: readonly WatchedRank[],
    rank: number,
    limits: WatchLimits,
    { agree, gather }: {
      readonly agree: (point: MeetingPoint | null) => Promise<MeetingPoint | null>;
      readonly gather: (problem: string | null) => Promise<readonly (string | null)[]>;
    },
  ): Promise<RunWatch> {
    const progress = new SharedArrayBuffer(4);
    const watch = new RunWatch(ranks[rank], progress);
    const opening = { type: "open", rank, ranks, limits, progress } as const;
    let problem: string | null = null;
    if (rank === 0) {
      const { point } = await watch.#ask({ ...opening, point: null }, "listening");
      await agree(point);
    } else {
      const point = await agree(null);
      ({ problem } = await watch.#ask({ ...opening, point }, "joined"));
    }
    const problems = await gather(problem);
    const cutOff = problems.findIndex((each) => each !== null);
    if (cutOff >= 0) {
      watch.#stop();
      const { host } = ranks[cutOff];
      throw new Failure(
        `Rank ${cutOff} on ${host} cannot reach rank 0 on ${ranks[0].host} over TCP: ${
          problems[cutOff]
        }. The ranks ` +
          `watch each other that way. Let the hosts' firewalls pass it, or do without: ` +
          `--set distributed.silence_seconds=null`,
      );
    }
    return watch;
  }

  private constructor(
    /** This process, as the others know it. */
    readonly own: WatchedRank,
    progress: SharedArrayBuffer,
  ) {
    const module = new URL("./watch_worker.ts", import.meta.url);
    this.#worker = new Worker(module, { type: "module", name: "watch" });
    this.#counter = new Int32Array(progress);
    this.#ticking = setInterval(() => {
      if (this.#readsUnderWay === 0) this.#getOn();
    }, TICK_MS);
    Deno.unrefTimer(this.#ticking);
  }

  /** Says what this rank is at, such as `in the rollout of step 12`. */
  doing(doing: string): void {
    this.#post({ type: "doing", doing });
  }

  /** Says what the run has kept and how to go on with it, should it end now. Rank 0 says it for all. */
  hint(hint: string): void {
    this.#post({ type: "hint", hint });
  }

  /** The main thread begins to wait for its GPU: until that answers it does not count as getting on. */
  readBegins(): void {
    this.#readsUnderWay++;
  }

  /** The GPU has answered. */
  readEnds(): void {
    this.#readsUnderWay--;
    this.#getOn();
  }

  /**
   * Runs what all ranks do together. When it fails here, the others are told, and rank 0 says why: on rank 0 the error
   * is thrown, on another the process ends.
   */
  async guard<Result>(body: () => Promise<Result>): Promise<Result> {
    try {
      const result = await body();
      await this.#ask({ type: "close" }, "closed");
      return result;
    } catch (error) {
      await this.#ask({ type: "failed", ...describe(error, this.own.rank) }, "speak");
      throw error;
    } finally {
      this.#stop();
    }
  }

  #getOn(): void {
    Atomics.add(this.#counter, 0, 1);
  }

  #stop(): void {
    clearInterval(this.#ticking);
  }

  #post(message: MainMessage): void {
    this.#worker.postMessage(message);
  }

  /** Sends a message and waits for the answer to it. */
  #ask<Type extends WatchMessage["type"]>(
    message: MainMessage,
    type: Type,
  ): Promise<WatchMessage & { readonly type: Type }> {
    return new Promise((resolve, reject) => {
      this.#worker.onmessage = ({ data }: MessageEvent<WatchMessage>) => {
        if (isOf(data, type)) resolve(data);
      };
      this.#worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(`the watch over the ranks failed: ${event.message}`));
      };
      this.#post(message);
    });
  }
}

function isOf<Type extends WatchMessage["type"]>(
  message: WatchMessage,
  type: Type,
): message is WatchMessage & { readonly type: Type } {
  return message.type === type;
}

/** Characters of a failure that are told; a kernel's whole text may stand in it. */
const LONGEST_WORDS = 20_000;

/** The words and the exit code that the command line has for an error, and whose it is. */
function describe(error: unknown, rank: number): ToldFailure {
  return {
    message: wordsOf(error).slice(0, LONGEST_WORDS),
    code: error instanceof UserError ? 2 : 1,
    culprit: isElsewhere(error) ? error.culprit : error instanceof ExchangeFailure ? null : rank,
  };
}

function isElsewhere(error: unknown): error is FailureElsewhere | MistakeElsewhere {
  return error instanceof FailureElsewhere || error instanceof MistakeElsewhere;
}

function wordsOf(error: unknown): string {
  if (isElsewhere(error)) return error.words;
  if (error instanceof UserError || error instanceof Failure) return error.message;
  return error instanceof Error ? error.stack ?? error.message : String(error);
}
