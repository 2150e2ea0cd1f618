import { UserError } from "../../base/user_error.ts";
import type { SampleRequest } from "../../engine/sampling/request.ts";
import type { Sampler } from "../../engine/sampling/sampler.ts";
import type { Model } from "../../model/decoder/model.ts";
import { loadAdapterWeights, openAdapterFolder } from "../../model/weights/adapter_folder.ts";
import { NOTHING_SAMPLED } from "./nothing_sampled.ts";
import type { ServingMemory } from "./serving_memory.ts";

/** Adapters that stay on the GPU though nobody asks for them. */
const MOST_IDLE = 8;
/** Windows that one policy decodes while others wait. */
const TURN = 64;

/** A response that somebody waits for. */
export interface PolicyRequest {
  readonly id: number;
  readonly request: SampleRequest;
  /** Told that it cannot be had. */
  readonly refuse: (message: string) => void;
}

/** What is sampled from: the base or an adapter on it. */
interface Policy {
  readonly folder: string | null;
  /** Null before it is on the GPU. */
  sampler: Sampler | null;
  /** Asked for, not with the sampler yet. */
  waiting: PolicyRequest[];
}

/**
 * Samples from a base and from adapters in folders, each loaded when it is asked for. One of them at a time has the
 * cache; where several are asked for they take turns.
 */
export class Policies {
  /** By folder, who was asked for last at the end. */
  readonly #policies = new Map<string | null, Policy>();
  readonly #places = new Map<number, { readonly sampler: Sampler; readonly id: number }>();
  #current: Policy | null = null;
  #windows = 0;

  constructor(
    private readonly base: Model,
    private readonly basePath: string,
    private readonly makeSampler: (model: Model) => Sampler,
    private readonly memory: ServingMemory,
  ) {}

  add(folder: string | null, asked: PolicyRequest): void {
    const policy = this.#policies.get(folder) ?? { folder, sampler: null, waiting: [] };
    this.#policies.delete(folder);
    this.#policies.set(folder, policy);
    policy.waiting.push(asked);
  }

  /** Pages of the cache that no response has; null while none has it. */
  get availablePages(): number | null {
    return this.#current?.sampler?.availablePages ?? null;
  }

  /** Adapters that are on the GPU. */
  get adapters(): number {
    return [...this.#policies.values()].filter(({ folder, sampler }) => folder && sampler).length;
  }

  /** Ends a response where it is. */
  abort(id: number): void {
    const place = this.#places.get(id);
    if (place) return place.sampler.abort(place.id);
    for (const policy of this.#policies.values()) {
      const at = policy.waiting.findIndex((one) => one.id === id);
      if (at < 0) continue;
      const [{ request }] = policy.waiting.splice(at, 1);
      return request.listener.end(NOTHING_SAMPLED);
    }
  }

  /** Decodes one window of the policy whose turn it is; false when nobody waits for anything. */
  async step(): Promise<boolean> {
    const policy = this.#turn();
    if (policy === null) return false;
    const sampler = await this.#open(policy);
    if (sampler === null) return true;
    for (const asked of policy.waiting.splice(0)) this.#hand(sampler, asked);
    await sampler.step();
    return true;
  }

  #turn(): Policy | null {
    const asked = [...this.#policies.values()].filter(isAsked);
    const current = this.#current;
    if (current && isAsked(current) && (asked.length === 1 || this.#windows < TURN)) {
      this.#windows++;
      return current;
    }
    const [next = null] = asked.filter((policy) => policy !== current);
    if (next === null) return null;
    // The next one takes the cache.
    current?.sampler?.release();
    this.#current = next;
    this.#windows = 1;
    // Behind those that wait.
    this.#policies.delete(next.folder);
    this.#policies.set(next.folder, next);
    return next;
  }

  #hand(sampler: Sampler, { id, request, refuse }: PolicyRequest): void {
    const end: SampleRequest["listener"]["end"] = (response) => {
      this.#places.delete(id);
      request.listener.end(response);
    };
    const tokens = request.listener.tokens?.bind(request.listener);
    try {
      const added = sampler.add({ ...request, listener: tokens ? { tokens, end } : { end } });
      this.#places.set(id, { sampler, id: added });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      refuse(error.message);
    }
  }

  /** Null when it cannot be had, which those who wait for it are told. */
  async #open(policy: Policy): Promise<Sampler | null> {
    const { folder } = policy;
    if (policy.sampler) return policy.sampler;
    try {
      policy.sampler = this.makeSampler(folder === null ? this.base : await this.#load(folder));
      return policy.sampler;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      this.#policies.delete(folder);
      for (const { refuse } of policy.waiting) refuse(error.message);
      return null;
    }
  }

  async #load(folder: string): Promise<Model> {
    this.#evict(MOST_IDLE);
    using adapter = openAdapterFolder(folder);
    const { config } = adapter;
    try {
      await this.memory.take(folder, { config, trainer: null });
    } catch (error) {
      if (!(error instanceof UserError) || this.#evict(0) === 0) throw error;
      await this.memory.take(folder, { config, trainer: null });
    }
    const model = this.base.adapted({ config, basePath: this.basePath, trained: false });
    try {
      await loadAdapterWeights(model, adapter);
      return model;
    } catch (error) {
      model.release();
      this.memory.free(folder);
      throw error;
    }
  }

  /** Takes adapters off the GPU that nobody asks for, those first that were last asked for longest ago. */
  #evict(kept: number): number {
    const idle = [...this.#policies.values()].filter((policy) =>
      policy.folder !== null && !isAsked(policy)
    );
    const gone = idle.slice(0, Math.max(0, idle.length - kept));
    for (const policy of gone) this.#drop(policy);
    return gone.length;
  }

  #drop(policy: Policy): void {
    const { folder, sampler } = policy;
    this.#policies.delete(folder);
    if (this.#current === policy) this.#current = null;
    if (sampler === null || folder === null) return;
    sampler.close();
    sampler.model.release();
    this.memory.free(folder);
  }

  /** Gives up what is told of a folder, whose content may be another from now on. */
  forget(folder: string): void {
    const policy = this.#policies.get(folder);
    if (policy && !isAsked(policy)) this.#drop(policy);
  }
}

const isAsked = ({ sampler, waiting }: Policy): boolean => waiting.length > 0 || !!sampler?.busy;
