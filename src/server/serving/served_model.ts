import { fileURLToPath } from "node:url";
import { UserError } from "../../base/user_error.ts";
import type { Response, SampledTokens } from "../../engine/sampling/request.ts";
import { RequestProblem } from "../http/problem.ts";
import { childEnvironment } from "../launches/child_environment.ts";
import { lastLines } from "../launches/run_process.ts";
import { FairQueue } from "./fair_queue.ts";
import { frameOf, readFrames } from "./frames.ts";
import type {
  FromModel,
  Operation,
  Operations,
  RemoteRequest,
  ServedInfo,
  ServedSource,
  ServedState,
  ToModel,
} from "./messages.ts";
import { NOTHING_SAMPLED } from "./nothing_sampled.ts";

const PROCESS = fileURLToPath(import.meta.resolve("./model_process.ts"));
/** Responses that wait, of all clients; more are refused. */
const MOST_WAITING = 4096;
/** Responses that are with the process before there is a slot for them, as a share of the slots. */
const AHEAD = 0.25;
/** Lines of its standard error that are kept. */
const KEPT_CHARACTERS = 4096;

/** A response that somebody waits for. */
export interface Asked {
  readonly request: RemoteRequest;
  /** Folder of the adapter that is sampled from; by default the model as it is. */
  readonly adapter?: string | null;
  /** Who asks: clients take turns. */
  readonly client: string;
  /** Told its tokens as they come. */
  readonly onTokens?: (next: SampledTokens) => void;
}

interface Pending extends Asked {
  readonly id: number;
  readonly started: number;
  readonly resolve: (response: Response) => void;
  readonly reject: (error: Error) => void;
}

/** A call that somebody waits for. */
interface PendingCall {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
}

/** The process while it lives. */
interface Worker {
  readonly pid: number;
  readonly info: ServedInfo;
  readonly send: (message: ToModel) => void;
}

/**
 * A model in a process of its own, which samples for all who ask. Of a process that has ended all responses fail, and
 * the next request starts it again.
 */
export class ServedModel implements AsyncDisposable {
  readonly #waiting = new FairQueue<Pending>();
  readonly #sampled = new Map<number, Pending>();
  readonly #calls = new Map<number, PendingCall>();
  readonly #ending = new AbortController();
  #worker: Promise<Worker> | null = null;
  #live: Worker | null = null;
  /** Calls that wait for the process. */
  #opening: ToModel[] = [];
  #ended: Promise<unknown> = Promise.resolve();
  #nextId = 1;
  /** Seconds that a response took, as a mean over the last ones. */
  #seconds = 1;

  /** @param program of the process: it takes the source as its argument, and speaks as in messages.ts */
  constructor(readonly source: ServedSource, private readonly program = PROCESS) {}

  /** Of the process; null while there is none. */
  get pid(): number | null {
    return this.#live?.pid ?? null;
  }

  /** Responses that are asked for and have not ended. */
  get pending(): number {
    return this.#waiting.length + this.#sampled.size;
  }

  /**
   * Opens the model, unless it is open.
   *
   * @throws UserError when it cannot be opened
   * @throws RequestProblem when it was closed for good: 503
   */
  async open(): Promise<ServedInfo> {
    if (this.#ending.signal.aborted) {
      throw new RequestProblem(503, "This model was closed meanwhile; ask again.", undefined, {
        "retry-after": "1",
      });
    }
    this.#worker ??= this.#start();
    return (await this.#worker).info;
  }

  /** @throws RequestProblem when too many responses wait: 429, saying when to come again */
  expectRoom(): void {
    if (this.#waiting.length >= MOST_WAITING) throw this.#refusal();
  }

  /**
   * Samples a response.
   *
   * @param signal gives it up; what came so far is the response then
   * @throws RequestProblem when it is refused: 400 by the sampler, 429 since too many wait, 503 when the process ended
   * @throws UserError when the model cannot be opened
   */
  async sample(asked: Asked, signal?: AbortSignal): Promise<Response> {
    this.expectRoom();
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const pending: Pending = {
      ...asked,
      id: this.#nextId++,
      started: performance.now(),
      resolve,
      reject,
    };
    const abort = () => this.#abort(pending);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      this.#waiting.add(asked.client, pending);
      if (signal?.aborted) abort();
      else if (this.#live) this.#fill(this.#live);
      else await Promise.race([this.open(), promise]);
      return await promise;
    } catch (error) {
      this.#waiting.remove(asked.client, pending);
      promise.catch(() => {});
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /**
   * Does something with an adapter in training, after all that was asked for of it before.
   *
   * @throws RequestProblem when it is refused: 400 by the trainer, 503 when the process ended
   * @throws UserError when the model cannot be opened
   */
  async call<Kind extends keyof Operations>(
    operation: Extract<Operation, { kind: Kind }>,
  ): Promise<Operations[Kind]["answer"]> {
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<Operations[Kind]["answer"]>();
    const asked: ToModel = { type: "call", id, operation };
    this.#calls.set(id, { resolve, reject });
    try {
      // Said at once where it can be: what is asked for later comes later.
      if (this.#live) this.#live.send(asked);
      else {
        this.#opening.push(asked);
        await Promise.race([this.open(), promise]);
      }
      return await promise;
    } finally {
      this.#calls.delete(id);
      // No process does later what nobody waits for any more.
      this.#opening = this.#opening.filter((message) => message !== asked);
    }
  }

  /** Says that an adapter will not be sampled from any more: it leaves the GPU after those who wait for it. */
  forget(folder: string): void {
    this.#live?.send({ type: "forget", folder });
  }

  /** How its process is; null while there is none. */
  async look(): Promise<ServedState | null> {
    if (this.#live === null) return null;
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<ServedState>();
    this.#calls.set(id, { resolve, reject });
    this.#live.send({ type: "look", id });
    try {
      return await promise;
    } finally {
      this.#calls.delete(id);
    }
  }

  /** Responses that wait for a slot. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Ends the process, and with it what is being sampled. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#ended;
  }

  #refusal(): RequestProblem {
    const seconds = Math.ceil(
      this.#waiting.length * this.#seconds / (this.#live?.info.slots ?? 1),
    );
    return new RequestProblem(
      429,
      `${this.#waiting.length} responses wait for this model already; try again in ${seconds} s.`,
      undefined,
      { "retry-after": String(Math.max(1, seconds)) },
    );
  }

  #abort(pending: Pending): void {
    if (this.#waiting.remove(pending.client, pending)) pending.resolve(NOTHING_SAMPLED);
    else this.#live?.send({ type: "abort", id: pending.id });
  }

  /** Hands the process what it has room for. */
  #fill({ info, send }: Worker): void {
    const most = Math.ceil(info.slots * (1 + AHEAD));
    while (this.#sampled.size < most) {
      const pending = this.#waiting.take();
      if (!pending) return;
      this.#sampled.set(pending.id, pending);
      const { id, request, adapter = null, onTokens } = pending;
      send({ type: "sample", id, request, adapter, streams: onTokens !== undefined });
    }
  }

  /** @throws UserError when it ends before it is ready */
  #start(): Promise<Worker> {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--node-modules-dir=manual", this.program, JSON.stringify(this.source)],
      env: childEnvironment(),
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      signal: this.#ending.signal,
    }).spawn();
    const input = child.stdin.getWriter();
    // A process that is gone is told of by its end.
    const send = (message: ToModel) => void input.write(frameOf(message)).catch(() => {});
    const { promise, resolve, reject } = Promise.withResolvers<Worker>();
    const errors = lastCharacters(child.stderr);
    const read = async () => {
      for await (const message of readFrames<FromModel>(child.stdout)) {
        if (message.type === "ready") {
          this.#live = { pid: child.pid, info: message.info, send };
          resolve(this.#live);
          for (const call of this.#opening.splice(0)) send(call);
          this.#fill(this.#live);
        } else this.#take(message);
      }
    };
    const follow = async () => {
      // Nobody hears a process whose pipe broke; where it broke by the process's end, that says more.
      const broken = await read().then(() => null, (error: Error) => error);
      if (broken) stop(child);
      const [{ code }, printed] = await Promise.all([child.status, errors]);
      const reason = lastLines(printed) ?? broken?.message ?? `It ended with exit code ${code}.`;
      this.#live = null;
      this.#worker = null;
      reject(new UserError(`${this.source.model} cannot be served: ${reason}`));
      const problem = new RequestProblem(503, `The model's process has ended: ${reason}`);
      const left = [
        ...this.#waiting.clear(),
        ...this.#sampled.values(),
        ...this.#calls.values(),
      ];
      this.#opening = [];
      this.#calls.clear();
      this.#sampled.clear();
      for (const pending of left) pending.reject(problem);
      await input.close().catch(() => {});
    };
    this.#ended = follow();
    return promise;
  }

  /** Tells who waits. A listener that fails gives up its own response; nobody else's. */
  #tell(pending: Pending, next: SampledTokens): void {
    try {
      pending.onTokens?.(next);
    } catch (error) {
      pending.reject(error as Error);
      this.#abort(pending);
    }
  }

  #take(message: Exclude<FromModel, { type: "ready" }>): void {
    const call = this.#calls.get(message.id);
    if (call && message.type === "answer") return call.resolve(message.answer as never);
    if (call && message.type === "state") return call.resolve(message.state as never);
    if (call && message.type === "refused") {
      return call.reject(new RequestProblem(400, message.message));
    }
    if (message.type === "answer" || message.type === "state") return;
    const pending = this.#sampled.get(message.id);
    if (!pending) return;
    if (message.type === "tokens") return this.#tell(pending, message.next);
    this.#sampled.delete(message.id);
    if (this.#live) this.#fill(this.#live);
    if (message.type === "refused") return pending.reject(new RequestProblem(400, message.message));
    const seconds = (performance.now() - pending.started) / 1000;
    this.#seconds += (seconds - this.#seconds) / 16;
    pending.resolve(message.response);
  }
}

/** Ends a process that may have ended. */
function stop(child: Deno.ChildProcess): void {
  try {
    child.kill();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // it has
  }
}

/** The last of what a process prints, once it has ended. */
async function lastCharacters(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream())) {
    text = (text + part).slice(-KEPT_CHARACTERS);
  }
  return text;
}
