import { UserError } from "../../base/user_error.ts";
import type { SampledTokens } from "../../engine/sampling/request.ts";
import { FairQueue } from "./fair_queue.ts";
import type { FromModel, ServedState, ToModel } from "./messages.ts";
import type { PolicyRequest, PolicyTurns } from "./policies.ts";
import type { ProcessPipes } from "./process_pipes.ts";
import type { TrainedAdapters } from "./trained_adapters.ts";

/** What a model's process does. */
export interface Serving {
  readonly policies: PolicyTurns;
  readonly adapters: Pick<TrainedAdapters, "do">;
  readonly state: () => ServedState;
}

/** Samples and trains while anybody waits for it: after each window one call, and a window between two of its passes. */
export class ServingLoop {
  readonly #calls = new FairQueue<Extract<ToModel, { type: "call" }>>();
  #running = false;

  /** @param fail told of what nobody can mend; nothing is done after that */
  constructor(
    private readonly serving: Serving,
    private readonly pipes: Pick<ProcessPipes<ToModel, FromModel>, "tell" | "catchUp">,
    private readonly fail: (error: unknown) => void,
  ) {}

  take(message: ToModel): void {
    const { policies } = this.serving;
    if (message.type === "abort") return policies.abort(message.id);
    if (message.type === "look") {
      return this.pipes.tell({ type: "state", id: message.id, state: this.serving.state() });
    }
    if (message.type === "forget") policies.forget(message.folder);
    else if (message.type === "call") this.#calls.add(message.operation.adapter, message);
    else policies.add(message.adapter, this.#asked(message));
    if (!this.#running) void this.#run();
  }

  #asked({ id, request, streams }: Extract<ToModel, { type: "sample" }>): PolicyRequest {
    const tell = (message: FromModel) => this.pipes.tell(message);
    const tokens = streams
      ? { tokens: (next: SampledTokens) => tell({ type: "tokens", id, next }) }
      : {};
    return {
      id,
      request: {
        ...request,
        listener: { ...tokens, end: (response) => tell({ type: "end", id, response }) },
      },
      refuse: (message) => tell({ type: "refused", id, message }),
    };
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      const { policies } = this.serving;
      while (policies.busy || this.#calls.length > 0) {
        await policies.step();
        const call = this.#calls.take();
        if (call) await this.#do(call);
        // Who has come meanwhile is heard.
        await this.pipes.catchUp();
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.#running = false;
    }
  }

  async #do({ id, operation }: Extract<ToModel, { type: "call" }>): Promise<void> {
    try {
      const answer = await this.serving.adapters.do(operation, this.#between);
      this.pipes.tell({ type: "answer", id, answer });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      this.pipes.tell({ type: "refused", id, message: error.message });
    }
  }

  readonly #between = async (): Promise<void> => {
    await this.pipes.catchUp();
    await this.serving.policies.step();
  };
}
