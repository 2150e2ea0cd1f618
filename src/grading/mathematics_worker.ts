import { Worker } from "node:worker_threads";
import type { AnswerPair, WorkerMessage } from "./answer_worker.ts";
import { GradingFailure } from "./grading_failure.ts";

/** Milliseconds a verdict may still arrive after the limit: this thread may itself have been busy. */
const GRACE_MS = 50;

interface Task {
  readonly pair: AnswerPair;
  readonly resolve: (verdict: boolean) => void;
  readonly reject: (reason: Error) => void;
}

/** Milliseconds a thread is waited for and a pair is given. */
export interface WorkerLimits {
  /** Until the thread has loaded what compares. */
  readonly start: number;
  /** Milliseconds that a pair may take from then on. */
  readonly pair: number;
}

/** A worker thread that compares pairs in order and is replaced when one of them takes too long. */
export class MathematicsWorker {
  /** Pairs counted as unequal because they took too long. */
  timeouts = 0;
  #thread: Worker | undefined;
  #isReady = false;
  /** Asked for in this turn of the event loop; they go to the thread in one message. */
  #unsent: Task[] = [];
  /** At the thread, in the order of their verdicts. */
  #sent: Task[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly limits: WorkerLimits,
    private readonly module = new URL("./answer_worker.ts", import.meta.url),
  ) {}

  /**
   * Whether a pair is equal; false where that takes too long.
   *
   * @throws GradingFailure when the thread itself fails, or does not begin in its time
   */
  compare(pair: AnswerPair): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (this.#unsent.push({ pair, resolve, reject }) === 1) queueMicrotask(() => this.#send());
    });
  }

  /** Ends the thread and rejects what it has not answered. */
  close(): void {
    this.#fail(new Error("the answer judge was closed before it had judged all answers"));
  }

  #send(): void {
    const tasks = this.#unsent.splice(0);
    if (tasks.length === 0) return;
    const isIdle = this.#sent.length === 0;
    const thread = this.#thread ?? this.#start();
    thread.ref();
    this.#sent.push(...tasks);
    thread.postMessage(tasks.map(({ pair }) => pair));
    if (isIdle && this.#isReady) this.#watch();
  }

  #start(): Worker {
    const thread = new Worker(this.module);
    this.#thread = thread;
    this.#isReady = false;
    this.#after(this.limits.start, () => this.#failToStart());
    thread.on("message", (message: WorkerMessage) => {
      if (thread === this.#thread) this.#receive(message);
    });
    thread.on("error", (cause: Error) => {
      if (thread === this.#thread) {
        this.#fail(
          new GradingFailure(`The thread that compares answers failed: ${cause.message}`, {
            cause,
          }),
        );
      }
    });
    thread.on("exit", () => {
      if (thread === this.#thread) {
        this.#fail(new GradingFailure("The thread that compares answers ended by itself."));
      }
    });
    return thread;
  }

  #receive(message: WorkerMessage): void {
    if (message === "ready") this.#isReady = true;
    else this.#sent.shift()?.resolve(message);
    if (this.#sent.length > 0) return this.#watch();
    clearTimeout(this.#timer);
    this.#thread?.unref();
  }

  /** Gives the first pair at the thread the time limit, from now. */
  #watch(): void {
    this.#after(this.limits.pair, () => this.#replace());
  }

  /** Calls `late` when no message has come for so long. */
  #after(milliseconds: number, late: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = setTimeout(late, GRACE_MS);
    }, milliseconds);
  }

  #failToStart(): void {
    this.#fail(
      new GradingFailure(
        `The thread that compares answers has not begun within ${this.limits.start / 1000} s. ` +
          `The machine may be short of memory or of processor time.`,
      ),
    );
  }

  #replace(): void {
    const [late, ...rest] = this.#sent;
    this.#stop();
    this.timeouts++;
    late.resolve(false);
    this.#unsent.unshift(...rest);
    this.#send();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    const thread = this.#thread;
    // Forgotten first: its end is announced at once, and is not to be taken for a failure.
    this.#thread = undefined;
    this.#sent = [];
    thread?.terminate();
  }

  #fail(reason: Error): void {
    const tasks = [...this.#sent, ...this.#unsent.splice(0)];
    this.#stop();
    for (const { reject } of tasks) reject(reason);
  }
}
