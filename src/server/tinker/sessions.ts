import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { removeIfPresent } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import { RequestProblem } from "../http/problem.ts";
import type { Served } from "../serving/served_models.ts";
import { Ordered } from "./ordered.ts";
import type { Futures } from "./futures.ts";

/** A client that says nothing for so long is gone, in milliseconds; it says something every ten seconds. */
const SILENCE_MS = 10 * 60_000;
const MOST_SESSIONS = 1000;
/** Between two looks for them. */
const LOOK_MS = 15_000;

/** A model that a client trains: an adapter on a served one. */
export interface SessionModel {
  readonly id: string;
  readonly served: Served;
  /** Its requests by their numbers. */
  readonly ordered: Ordered;
  /** Known when it is there. */
  rank: number;
}

/** What a client samples from. It stays as it was, whatever is trained meanwhile. */
export interface SamplingSession {
  readonly id: string;
  readonly served: Served;
  /** Folder of the adapter; null: the served model as it is. */
  readonly adapter: string | null;
  /** Where the adapter was saved, for the client; null when it has no address. */
  readonly address: string | null;
}

/** A request that was answered. */
export interface AnsweredFuture {
  readonly content: string;
  readonly answer: object;
  readonly time: number;
}

/** A client and what it has. */
export class Session {
  readonly id = randomUUID();
  readonly models = new Map<string, SessionModel>();
  readonly samplings = new Map<string, SamplingSession>();
  /** Requests that are not numbered by a model, by what tells them apart, that one sent again is no other. */
  readonly once = new Map<string, AnsweredFuture>();
  readonly #ending = new AbortController();
  lastSeen = performance.now();

  /** @param snapshots folder of the adapters that are saved without a name */
  constructor(private readonly snapshots: string, private readonly futures: Futures) {}

  /** Given up what it waits for, once it has ended. */
  get ended(): AbortSignal {
    return this.#ending.signal;
  }

  /** A folder for an adapter that lives as long as the session. */
  snapshotFolder(): string {
    return join(this.snapshots, this.id, randomUUID());
  }

  /**
   * Has a model whose requests are done in the order of their numbers.
   *
   * @param make makes its adapter; when that fails, or the session ends meanwhile, nothing of it stays
   * @throws UserError when it has the model already
   */
  async add(
    id: string,
    served: Served,
    rank: number,
    make: (model: SessionModel) => Promise<void>,
  ): Promise<void> {
    if (this.models.has(id)) throw new UserError(`${id} is there already.`);
    const model = { id, served, rank, ordered: new Ordered(this.futures, this.id) };
    this.models.set(id, model);
    try {
      await make(model);
      if (this.ended.aborted) throw new RequestProblem(410, "The session has ended meanwhile.");
    } catch (error) {
      this.models.delete(id);
      await dropped(model);
      throw error;
    }
  }

  /** Returns all that it has. */
  async end(): Promise<void> {
    this.#ending.abort();
    this.futures.drop(this.id);
    const models = [...this.models.values()];
    this.models.clear();
    for (const { served, adapter } of this.samplings.values()) {
      if (adapter !== null) served.model.forget(adapter);
    }
    this.samplings.clear();
    await Promise.all(models.map(dropped));
    removeIfPresent(join(this.snapshots, this.id));
  }
}

async function dropped({ id, ordered, served: { model } }: SessionModel): Promise<void> {
  ordered.end();
  // A process that has ended has nothing of it any more.
  if (model.pid === null) return;
  await model.call<"drop">({ kind: "drop", adapter: id }).catch(() => null);
}

/** A session whose client has just said something. */
function seen(session: Session): Session {
  session.lastSeen = performance.now();
  return session;
}

/** The clients that are there. */
export class Sessions implements Disposable {
  readonly #sessions = new Map<string, Session>();
  readonly #timer: ReturnType<typeof setInterval>;

  /** @param snapshots folder for adapters that are saved without a name; what is in it is removed */
  constructor(
    private readonly snapshots: string,
    private readonly futures: Futures,
    private readonly silenceMs = SILENCE_MS,
  ) {
    removeIfPresent(snapshots);
    this.#timer = setInterval(() => this.#endSilent(), Math.min(LOOK_MS, silenceMs));
    Deno.unrefTimer(this.#timer as unknown as number);
  }

  get all(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  /** @throws RequestProblem when there are too many: 429 */
  begin(): Session {
    if (this.#sessions.size >= MOST_SESSIONS) {
      throw new RequestProblem(429, `There are ${MOST_SESSIONS} sessions already.`, undefined, {
        "retry-after": "10",
      });
    }
    const session = new Session(this.snapshots, this.futures);
    this.#sessions.set(session.id, session);
    return session;
  }

  /** @throws RequestProblem when there is none, or it has ended */
  get(id: string): Session {
    const session = this.#sessions.get(id);
    if (session) return seen(session);
    throw new RequestProblem(410, `The session ${id} is over; begin another.`, "session_id");
  }

  /** @throws RequestProblem when there is none */
  model(id: string): { readonly session: Session; readonly model: SessionModel } {
    const session = this.all.find(({ models }) => models.has(id));
    const model = session?.models.get(id);
    if (session && model) return { session: seen(session), model };
    throw new RequestProblem(
      404,
      `There is no model ${id}: it was never made, or its session is over. Load it from its last checkpoint.`,
      "model_id",
    );
  }

  /** @throws RequestProblem when there is none */
  sampling(id: string): { readonly session: Session; readonly sampling: SamplingSession } {
    const session = this.all.find(({ samplings }) => samplings.has(id));
    const sampling = session?.samplings.get(id);
    if (session && sampling) return { session: seen(session), sampling };
    throw new RequestProblem(404, `There is no sampler ${id}, or its session is over.`);
  }

  /** Ends a session; one that is over stays so. */
  async end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    await session?.end();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const { models } of this.all) for (const { ordered } of models.values()) ordered.end();
    removeIfPresent(this.snapshots);
  }

  #endSilent(): void {
    const now = performance.now();
    for (const { id, lastSeen } of this.#sessions.values()) {
      if (now - lastSeen <= this.silenceMs) continue;
      // What is left of it on the disk ends nobody else.
      this.end(id).catch((error) => console.error(error));
    }
  }
}
