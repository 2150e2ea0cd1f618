/** Stand-ins for a GPU and what is on it: they count bytes and hand out tokens. */

import assert from "node:assert/strict";
import { UserError } from "../../../src/base/user_error.ts";
import type { Response, SampleRequest } from "../../../src/engine/sampling/request.ts";
import type { BetweenPasses } from "../../../src/engine/training/forward.ts";
import type {
  Operation,
  OperationAnswer,
  RemoteRequest,
} from "../../../src/server/serving/messages.ts";
import { NOTHING_SAMPLED } from "../../../src/server/serving/nothing_sampled.ts";
import type { LoadedPolicy, PolicySampler } from "../../../src/server/serving/policy_loader.ts";

/** A request for so many tokens. */
export const requestFor = (maximumResponse: number): RemoteRequest => ({
  ...{ prompt: Uint32Array.of(1), maximumResponse, stopTokens: [] },
  ...{ seed: 0, stream: 1, step: 0, sequenceId: 0 },
  ...{ temperature: 1, topK: 0, topP: 1, minP: 0 },
});

/** Tokens that all say what is sampled from, one a window, for two requests at a time. */
export class StubSampler implements PolicySampler {
  static readonly slots = 2;
  #asked: { readonly id: number; readonly request: SampleRequest; count: number }[] = [];
  #nextId = 1;
  #isClosed = false;

  /** @param content of the folder, which its tokens are */
  constructor(
    private readonly gpu: StubGpu,
    readonly folder: string | null,
    private readonly content = 0,
  ) {}

  get busy(): boolean {
    return this.#asked.length > 0;
  }

  get availablePages(): number | null {
    return this.gpu.cache === this ? 1 : null;
  }

  add(request: SampleRequest): number {
    assert.ok(!this.#isClosed);
    if (request.maximumResponse < 1) throw new UserError("The longest response is 0 tokens.");
    this.#asked.push({ id: this.#nextId, request, count: 0 });
    return this.#nextId++;
  }

  abort(id: number): void {
    const one = this.#asked.find((asked) => asked.id === id);
    this.#asked = this.#asked.filter((asked) => asked !== one);
    one?.request.listener.end(this.#response(one.count, "aborted"));
  }

  async step(): Promise<boolean> {
    if (!this.busy) return false;
    assert.ok(this.gpu.cache === null || this.gpu.cache === this, "one has the cache at a time");
    this.gpu.cache = this;
    await this.gpu.work(this.folder);
    for (const one of this.#asked.slice(0, StubSampler.slots)) {
      one.count++;
      one.request.listener.tokens?.(this.#tokens(1));
      if (one.count < one.request.maximumResponse) continue;
      this.#asked = this.#asked.filter((asked) => asked !== one);
      one.request.listener.end(this.#response(one.count, "length"));
    }
    return this.busy;
  }

  release(): void {
    if (this.gpu.cache === this) this.gpu.cache = null;
  }

  close(): void {
    this.#isClosed = true;
    this.release();
    for (const { id } of this.#asked) this.abort(id);
  }

  #tokens(count: number) {
    return {
      tokens: new Uint32Array(count).fill(this.content),
      logProbs: new Float32Array(count),
      likeliest: null,
    };
  }

  #response(count: number, reason: "length" | "aborted"): Response {
    return { ...NOTHING_SAMPLED, ...this.#tokens(count), end: { reason } };
  }
}

/** Memory for a base and some adapters, of which each takes one. */
export class StubGpu {
  taken = 0;
  cache: StubSampler | null = null;
  /** Of what was worked at, in order: windows of the base (null) and of adapters, and passes. */
  readonly worked: (string | null)[] = [];
  /** Folders that cannot be loaded. */
  readonly broken = new Set<string>();
  readonly trained = new Set<string>();
  /** How often a folder was written. */
  readonly written = new Map<string, number>();
  makeRoom = () => {};

  constructor(readonly room: number) {}

  markOf(folder: string): string | null {
    return this.broken.has(folder) ? null : String(this.written.get(folder) ?? 0);
  }

  /** Takes a while. */
  async work(what: string | null): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await Promise.resolve();
    this.worked.push(what);
  }

  /** @throws UserError when it does not fit */
  take(): void {
    if (this.taken === this.room) this.makeRoom();
    if (this.taken === this.room) throw new UserError("The memory is full.");
    this.taken++;
  }

  async load(folder: string | null): Promise<LoadedPolicy> {
    const sampler = new StubSampler(this, folder, this.written.get(folder ?? ""));
    if (folder === null) return { sampler, release() {} };
    this.take();
    await this.work(`load ${folder}`);
    if (this.broken.has(folder)) {
      this.taken--;
      throw new UserError(`${folder} is not there.`);
    }
    return { sampler, release: () => this.taken-- };
  }

  /** What is done with adapters in training; a forwardBackward has as many passes as sequences. */
  async do(operation: Operation, between: BetweenPasses): Promise<OperationAnswer> {
    const { kind, adapter } = operation;
    if (kind === "drop") {
      if (this.trained.delete(adapter)) this.taken--;
    } else if (kind === "create") {
      if (this.trained.has(adapter)) throw new UserError(`${adapter} is there already.`);
      this.take();
      this.trained.add(adapter);
    } else if (!this.trained.has(adapter)) throw new UserError(`${adapter} is not there any more.`);
    else if (kind === "forwardBackward") {
      for (const pass of operation.sequences.keys()) {
        if (pass > 0) await between();
        await this.work(`pass of ${adapter}`);
      }
      return { loss: 0, logProbs: [] };
    }
    await Promise.resolve();
    return null;
  }
}
