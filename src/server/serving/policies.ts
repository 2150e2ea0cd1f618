import { UserError } from "../../base/user_error.ts";
import type { SampleRequest } from "../../engine/sampling/request.ts";
import { NOTHING_SAMPLED } from "./nothing_sampled.ts";
import type { LoadedPolicy, PolicySampler } from "./policy_loader.ts";

/** Adapters that stay on the GPU though nobody asks for them. */
const MOST_IDLE = 8;
/** Windows that one policy decodes while others wait. */
export const TURN = 64;

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
  /** Of what the folder held when it was first asked for; null when it was not there. */
  readonly mark: string | null;
  /** Its place in the line for a turn. */
  place: number;
  /** Null before it is on the GPU. */
  loaded: LoadedPolicy | null;
  /** Asked for, not with the sampler yet. */
  waiting: PolicyRequest[];
  /** Goes as soon as nobody asks for it; who comes later is another's. */
  isRetired: boolean;
}

/**
 * Samples from a base and from adapters in folders, each loaded when it is asked for. One of them at a time has the
 * cache; where several are asked for they take turns. One that cannot be loaded fails its own requests alone.
 */
export class PolicyTurns {
  /** Who was asked for last at the end; of a folder one at most that is not retired. */
  readonly #policies = new Set<Policy>();
  readonly #places = new Map<number, { readonly sampler: PolicySampler; readonly id: number }>();
  /** Whose turn it is. */
  #current: Policy | null = null;
  /** Who has the cache. */
  #holder: Policy | null = null;
  /** Of the current turn. */
  #windows = 0;
  /** The last place in the line for turns. */
  #line = 0;

  /**
   * @param load puts the base (null) or an adapter on the GPU; see `PolicyLoader.load`
   * @param markOf tells what a folder holds apart from what it held before; null when it is not there
   */
  constructor(
    private readonly load: (folder: string | null) => Promise<LoadedPolicy>,
    private readonly markOf: (folder: string) => string | null,
  ) {}

  /**
   * Takes a request. A folder that holds another adapter than the one on the GPU is read anew for it; the earlier one
   * stays for those who asked before. Of a folder that is gone, what is on the GPU is as good as ever.
   */
  add(folder: string | null, asked: PolicyRequest): void {
    const mark = folder === null ? null : this.markOf(folder);
    const known = this.#find(folder);
    const isOther = known !== undefined && mark !== null && mark !== known.mark;
    if (isOther) known.isRetired = true;
    const policy = known && !isOther
      ? known
      : { folder, mark, place: 0, loaded: null, waiting: [], isRetired: false };
    this.#policies.delete(policy);
    this.#policies.add(policy);
    if (!isAsked(policy)) policy.place = ++this.#line;
    policy.waiting.push(asked);
  }

  /** Pages of the cache that no response has; null while none has it. */
  get availablePages(): number | null {
    return this.#holder?.loaded?.sampler.availablePages ?? null;
  }

  /** Adapters that are on the GPU. */
  get adapters(): number {
    return [...this.#policies].filter(({ folder, loaded }) => folder && loaded).length;
  }

  /** Ends a response where it is. */
  abort(id: number): void {
    const place = this.#places.get(id);
    if (place) return place.sampler.abort(place.id);
    for (const policy of this.#policies) {
      const at = policy.waiting.findIndex((one) => one.id === id);
      if (at < 0) continue;
      const [{ request }] = policy.waiting.splice(at, 1);
      // One that is being loaded is taken off the GPU like any other that nobody asks for.
      const isLoading = policy === this.#current;
      if (!isLoading && !policy.loaded && !isAsked(policy)) this.#policies.delete(policy);
      return request.listener.end(NOTHING_SAMPLED);
    }
  }

  /** Takes an adapter off the GPU as soon as nobody samples from it; who asks for it later has it read anew. */
  forget(folder: string): void {
    const policy = this.#find(folder);
    if (policy) policy.isRetired = true;
  }

  /** Whether there is anything to do. */
  get busy(): boolean {
    return [...this.#policies].some((policy) => isAsked(policy) || policy.isRetired);
  }

  /** Decodes one window of the policy whose turn it is, if anybody waits for anything. */
  async step(): Promise<void> {
    for (const policy of this.#policies) {
      if (policy.isRetired && !isAsked(policy)) this.#drop(policy);
    }
    const policy = this.#current = this.#next();
    if (policy === null) return;
    const sampler = await this.#open(policy);
    if (sampler === null) return;
    if (this.#holder !== policy) {
      this.#holder?.loaded?.sampler.release();
      this.#holder = policy;
    }
    this.#windows++;
    for (const asked of policy.waiting.splice(0)) this.#hand(sampler, asked);
    await sampler.step();
  }

  /** Whose turn it is; null when nobody waits for anything. */
  #next(): Policy | null {
    const asked = [...this.#policies].filter(isAsked);
    const current = this.#current;
    if (current && isAsked(current) && (asked.length === 1 || this.#windows < TURN)) return current;
    // Behind those that wait.
    if (current) current.place = ++this.#line;
    this.#windows = 0;
    return asked.reduce<Policy | null>(
      (first, policy) => first && first.place < policy.place ? first : policy,
      null,
    );
  }

  #hand(sampler: PolicySampler, { id, request, refuse }: PolicyRequest): void {
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
  async #open(policy: Policy): Promise<PolicySampler | null> {
    try {
      if (policy.loaded === null) {
        this.#evict(MOST_IDLE);
        policy.loaded = await this.load(policy.folder);
      }
      return policy.loaded.sampler;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      this.#drop(policy);
      for (const { refuse } of policy.waiting.splice(0)) refuse(error.message);
      return null;
    }
  }

  /** Takes all adapters off the GPU that nobody asks for. */
  makeRoom(): void {
    this.#evict(0);
  }

  /** Takes adapters off the GPU that nobody asks for, those first that were last asked for longest ago. */
  #evict(kept: number): void {
    const idle = [...this.#policies].filter((policy) =>
      policy.folder !== null && policy.loaded && !isAsked(policy)
    );
    for (const policy of idle.slice(0, Math.max(0, idle.length - kept))) this.#drop(policy);
  }

  #drop(policy: Policy): void {
    const { loaded } = policy;
    this.#policies.delete(policy);
    if (this.#current === policy) this.#current = null;
    if (this.#holder === policy) this.#holder = null;
    loaded?.sampler.close();
    loaded?.release();
  }

  #find(folder: string | null): Policy | undefined {
    return [...this.#policies].find((one) => one.folder === folder && !one.isRetired);
  }
}

const isAsked = ({ loaded, waiting }: Policy): boolean =>
  waiting.length > 0 || !!loaded?.sampler.busy;
