/** Tinker's API as its SDK asks it, for tests that must run without Python. */

import assert from "node:assert/strict";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  DType,
  type ForwardBackwardOutput,
  ForwardBackwardOutputSchema,
  ForwardBackwardRequestSchema,
  type SampleResponse,
  SampleResponseSchema,
} from "../../../src/server/tinker/wire/tinker_pb.ts";
import { bytesOf } from "../../../src/server/tinker/wire/arrays.ts";

/** A datum as a user writes it: ids, and arrays of floats by name. */
export interface PlainDatum {
  readonly tokens: readonly number[];
  readonly targets: readonly number[];
  readonly arrays?: Readonly<Record<string, readonly number[] | Float32Array>>;
}

/** What is told of a refused request. */
export class Refused extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

const floatsOf = (bytes: Uint8Array) => new Float32Array(Uint8Array.from(bytes).buffer);
const idsOf = (bytes: Uint8Array) => new Int32Array(Uint8Array.from(bytes).buffer);

/** A session. */
export class TinkerClient {
  #models = 0;
  #samplings = 0;

  private constructor(readonly url: string, readonly session: string) {}

  static async begin(url: string): Promise<TinkerClient> {
    const { session_id } = await post(url, "create_session", { tags: [], sdk_version: "0.38.0" });
    return new TinkerClient(url, session_id);
  }

  post(path: string, body: object) {
    return post(this.url, path, body);
  }

  /** A result, when it is there; raised as the SDK raises it. */
  async result(requestId: string) {
    for (;;) {
      const response = await fetch(`${this.url}/api/v1/retrieve_future`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/x-protobuf" },
        body: JSON.stringify({ request_id: requestId, allow_metadata_only: false }),
      });
      if (response.headers.get("content-type") === "application/x-protobuf") {
        return new Uint8Array(await response.arrayBuffer());
      }
      const answer = await response.json();
      if (!response.ok) throw new Refused(response.status, answer.detail);
      if (answer.error !== undefined) throw new Refused(200, answer.error);
      if (answer.type !== "try_again") return answer;
    }
  }

  async model(base: string, rank = 8, seed = 3): Promise<TinkerModel> {
    const { request_id } = await this.post("create_model", {
      ...{ session_id: this.session, model_seq_id: this.#models++, base_model: base },
      ...{ lora_config: { rank, seed }, optimizer_config: { type: "adamw" } },
    });
    return new TinkerModel(this, (await this.result(request_id)).model_id);
  }

  async loaded(path: string, optimizer: boolean): Promise<TinkerModel> {
    const { request_id } = await this.post("load_weights", {
      ...{ session_id: this.session, model_seq_id: this.#models++, path, optimizer },
    });
    return new TinkerModel(this, (await this.result(request_id)).model_id);
  }

  async sampler(from: { readonly base_model?: string; readonly model_path?: string }) {
    const { sampling_session_id } = await this.post("create_sampling_session", {
      ...{ session_id: this.session, sampling_session_seq_id: this.#samplings++, ...from },
    });
    return new TinkerSampler(this, sampling_session_id);
  }

  nextSampling(): number {
    return this.#samplings++;
  }

  finish() {
    return this.post(`sessions/${this.session}/finish`, { reason: { type: "success" } });
  }
}

/** A model in training. */
export class TinkerModel {
  /** Of the next request. */
  seq = 1;

  constructor(readonly client: TinkerClient, readonly id: string) {}

  /** The body of a request, which can be sent again. */
  encode(
    seq: number,
    data: readonly PlainDatum[],
    loss: string,
    forwardOnly = false,
    config: Readonly<Record<string, number>> = {},
  ): Uint8Array<ArrayBuffer> {
    const request = create(ForwardBackwardRequestSchema, {
      ...{ modelId: this.id, seqId: seq, lossFn: loss, forwardOnly, lossFnConfig: { ...config } },
      data: data.map(({ tokens, targets, arrays = {} }) => ({
        modelInput: [{
          chunk: {
            case: "encodedText" as const,
            value: { tokens: bytesOf(Int32Array.from(tokens)) },
          },
        }],
        lossFnInputs: {
          target_tokens: {
            encoding: {
              case: "dense" as const,
              value: bytesOf(BigInt64Array.from(targets, (token) => BigInt(token))),
            },
            ...{ dtype: DType.INT64, shape: [BigInt(targets.length)] },
          },
          ...Object.fromEntries(
            Object.entries(arrays).map(([name, values]) => [name, {
              encoding: { case: "dense" as const, value: bytesOf(Float32Array.from(values)) },
              ...{ dtype: DType.FLOAT32, shape: [BigInt(values.length)] },
            }]),
          ),
        },
      })),
    });
    return Uint8Array.from(toBinary(ForwardBackwardRequestSchema, request));
  }

  async send(body: Uint8Array<ArrayBuffer>): Promise<string> {
    const response = await fetch(`${this.client.url}/api/v1/forward_backward`, {
      method: "POST",
      headers: { "content-type": "application/x-protobuf" },
      body,
    });
    const answer = await response.json();
    if (!response.ok) throw new Refused(response.status, answer.detail);
    return answer.request_id;
  }

  async forwardBackward(
    data: readonly PlainDatum[],
    loss: string,
    forwardOnly = false,
    config: Readonly<Record<string, number>> = {},
  ) {
    const id = await this.send(this.encode(this.seq++, data, loss, forwardOnly, config));
    return outputs(await this.client.result(id));
  }

  forward(data: readonly PlainDatum[], loss = "cross_entropy") {
    return this.forwardBackward(data, loss, true);
  }

  async optimStep(adam_params: object) {
    return await this.numbered("optim_step", { adam_params });
  }

  /** @returns its address */
  async save(route: "save_weights" | "save_weights_for_sampler", path: string): Promise<string> {
    return (await this.numbered(route, { path })).path;
  }

  /** What it is now, to sample from. */
  async snapshot(): Promise<TinkerSampler> {
    const sampling_session_seq_id = this.client.nextSampling();
    const answer = await this.numbered("save_weights_for_sampler", {
      sampling_session_seq_id,
      kind: "snapshot",
    });
    return new TinkerSampler(this.client, answer.sampling_session_id);
  }

  async numbered(path: string, body: object) {
    const asked = { model_id: this.id, seq_id: this.seq++, ...body };
    const { request_id } = await this.client.post(path, asked);
    return await this.client.result(request_id);
  }
}

/** Something to sample from. */
export class TinkerSampler {
  #seq = 0;

  constructor(readonly client: TinkerClient, readonly id: string) {}

  async sample(
    prompt: readonly number[],
    sampling_params: object,
    others: object = {},
  ) {
    const { request_id, sample_sequence_ids } = await this.client.post("asample", {
      ...{ sampling_session_id: this.id, seq_id: this.#seq++, num_samples: 1, sampling_params },
      prompt: { chunks: [{ type: "encoded_text", tokens: prompt }] },
      ...others,
    });
    const message: SampleResponse = fromBinary(
      SampleResponseSchema,
      await this.client.result(request_id),
    );
    assert.equal(new Set(sample_sequence_ids).size, message.sequences.length);
    return {
      message,
      sequences: message.sequences.map(({ tokens, logprobs, stopReason }) => ({
        ...{ tokens: Array.from(idsOf(tokens)), stopReason },
        logProbs: floatsOf(logprobs ?? new Uint8Array()),
      })),
      promptLogProbs: message.promptLogprobs && floatsOf(message.promptLogprobs),
    };
  }
}

function outputs(bytes: Uint8Array) {
  const message: ForwardBackwardOutput = fromBinary(ForwardBackwardOutputSchema, bytes);
  const [{ fields: { logprobs }, numDatums }] = message.lossFnOutputs;
  const offsets = new BigInt64Array(Uint8Array.from(logprobs.offsets).buffer);
  const logProbs = Array.from(
    { length: Number(numDatums) },
    (_, d) => floatsOf(logprobs.data.subarray(Number(offsets[d]), Number(offsets[d + 1]))),
  );
  return { loss: message.metrics["loss:sum"], logProbs };
}

async function post(url: string, path: string, body: object) {
  const response = await fetch(`${url}/api/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Refused(response.status, answer.detail);
  return answer;
}
