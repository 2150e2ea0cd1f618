import { type Address, headersOf, Refused, requireDone } from "./address.ts";
import { ModelSampler } from "./model_sampler.ts";
import { TrainedModel } from "./trained_model.ts";

/** A session that says nothing for ten minutes is ended; it says that it is there so often, in milliseconds. */
const HEARTBEAT_MS = 10_000;

/** A new adapter. */
export interface ModelOptions {
  /** A multiple of 4; 32 unless told. */
  readonly rank?: number;
  /** Of its first weights; a random one unless told. */
  readonly seed?: number;
}

/**
 * Adapters that are trained on a server's models, over the API of Tinker. Finish it: its adapters take memory there
 * as long as it lasts.
 */
export class TrainingSession implements AsyncDisposable {
  #models = 0;
  #samplers = 0;
  #isOver = false;
  readonly #heart: ReturnType<typeof setInterval>;

  private constructor(private readonly address: Address, readonly id: string) {
    this.#heart = setInterval(() => {
      // Whether it was heard, the next request says.
      this.post("session_heartbeat", { session_id: id }).catch(() => {});
    }, HEARTBEAT_MS);
  }

  /** @throws Refused when there are too many */
  static async begin(address: Address): Promise<TrainingSession> {
    const { session_id } = await post(address, "create_session", { tags: [] });
    return new TrainingSession(address, session_id as string);
  }

  /**
   * Makes an adapter that at first changes nothing.
   *
   * @param base name of a served model
   * @throws Refused when there is no such model, or no memory
   */
  async createModel(base: string, { rank = 32, seed }: ModelOptions = {}): Promise<TrainedModel> {
    const { model_id } = await this.done("create_model", {
      ...{ session_id: this.id, model_seq_id: this.#models++, base_model: base },
      lora_config: { rank, seed },
    });
    return new TrainedModel(this, model_id as string);
  }

  /**
   * Makes an adapter of a saved one.
   *
   * @param path its address, `tinker://…`
   * @param optimizer whether the optimizer goes on where it was, too
   * @throws Refused when nothing was saved there
   */
  async loadModel(path: string, optimizer = true): Promise<TrainedModel> {
    const { model_id } = await this.done("load_weights", {
      ...{ session_id: this.id, model_seq_id: this.#models++, path, optimizer },
    });
    return new TrainedModel(this, model_id as string);
  }

  /**
   * Something to sample from: a served model, or an adapter that was saved.
   *
   * @throws Refused when there is none
   */
  async sampler(
    from: { readonly base: string } | { readonly path: string },
  ): Promise<ModelSampler> {
    const { sampling_session_id } = await this.post("create_sampling_session", {
      ...{ session_id: this.id, sampling_session_seq_id: this.nextSampler() },
      ...("base" in from ? { base_model: from.base } : { model_path: from.path }),
    });
    return new ModelSampler(this, sampling_session_id as string);
  }

  /** The number of the next sampler. */
  nextSampler(): number {
    return this.#samplers++;
  }

  /** Ends it and its adapters. What was saved stays. */
  async finish(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#heart);
    await this.post(`sessions/${this.id}/finish`, { reason: { type: "success" } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.finish();
  }

  /** Sends a request and waits for what comes of it. @throws Refused */
  async done(path: string, body: object): Promise<Answer> {
    const { request_id } = await this.post(path, body);
    const result = await this.result(request_id as string);
    if (result instanceof Uint8Array) throw new Error(`${path} was answered in binary form`);
    return result;
  }

  /** Sends a request. @throws Refused */
  post(path: string, body: object): Promise<Answer> {
    return post(this.address, path, body);
  }

  /** Sends a loss. @returns the request's id @throws Refused */
  async postLoss(body: Uint8Array<ArrayBuffer>): Promise<string> {
    const headers = { ...headersOf(this.address), "content-type": "application/x-protobuf" };
    const response = await requireDone(
      await fetch(`${this.address.url}/api/v1/forward_backward`, { method: "POST", headers, body }),
    );
    return (await response.json()).request_id;
  }

  /** What comes of a request, when it is there. @throws Refused when nothing comes of it */
  async result(requestId: string): Promise<Answer | Uint8Array> {
    for (;;) {
      const response = await send(this.address, "retrieve_future", { request_id: requestId });
      if (response.headers.get("content-type") === "application/x-protobuf") {
        return new Uint8Array(await response.arrayBuffer());
      }
      const answer: Answer = await response.json();
      if (typeof answer.error === "string") throw new Refused(response.status, answer.error);
      if (answer.type !== "try_again") return answer;
    }
  }
}

/** An answer in JSON. */
type Answer = Record<string, unknown>;

async function post(address: Address, path: string, body: object): Promise<Answer> {
  return await (await send(address, path, body)).json();
}

async function send(address: Address, path: string, body: object): Promise<Response> {
  const response = await fetch(`${address.url}/api/v1/${path}`, {
    method: "POST",
    headers: { ...headersOf(address), "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return await requireDone(response);
}
