/** Losses and log-probs in the binary form that the server reads and writes. */

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { arrayBytes } from "../server/tinker/wire/arrays.ts";
import {
  DType,
  ForwardBackwardOutputSchema,
  ForwardBackwardRequestSchema,
  type Tensor,
} from "../server/tinker/wire/tinker_pb.ts";

/** What a model is trained on, or asked about. N tokens. */
export interface Datum {
  /** [N] */
  readonly tokens: ArrayLike<number>;
  /** [N] what each position predicts */
  readonly targets: ArrayLike<number>;
  /** [N] each: `weights`, or `logprobs` and `advantages`, as the loss has them */
  readonly arrays?: Readonly<Record<string, ArrayLike<number>>>;
}

/** What a loss came to. */
export interface LossOutput {
  /** A sum over all predictions. */
  readonly loss: number;
  /** [N] of each datum's targets */
  readonly logProbs: readonly Float32Array[];
}

/** What `encodeLoss` writes. */
export interface LossRequest {
  readonly modelId: string;
  /** The model's how manieth request it is, from 1. */
  readonly number: number;
  readonly data: readonly Datum[];
  readonly loss: string;
  /** Only log-probs, no gradient. */
  readonly forwardOnly: boolean;
  /** The loss's numbers, such as `clip_low_threshold`. */
  readonly numbers?: Readonly<Record<string, number>>;
}

/** A request for a loss. */
export function encodeLoss(
  { modelId, number, data, loss, forwardOnly, numbers = {} }: LossRequest,
): Uint8Array<ArrayBuffer> {
  const request = create(ForwardBackwardRequestSchema, {
    ...{ modelId, seqId: number, lossFn: loss, forwardOnly, lossFnConfig: { ...numbers } },
    data: data.map(({ tokens, targets, arrays = {} }) => ({
      modelInput: [{
        chunk: {
          case: "encodedText" as const,
          value: { tokens: arrayBytes(Int32Array.from(tokens)) },
        },
      }],
      lossFnInputs: {
        target_tokens: tensor(
          arrayBytes(BigInt64Array.from(targets, (token) => BigInt(token))),
          DType.INT64,
          targets.length,
        ),
        ...Object.fromEntries(
          Object.entries(arrays).map(([name, values]) => [
            name,
            tensor(arrayBytes(Float32Array.from(values)), DType.FLOAT32, values.length),
          ]),
        ),
      },
    })),
  });
  return Uint8Array.from(toBinary(ForwardBackwardRequestSchema, request));
}

const tensor = (bytes: Uint8Array, dtype: DType, length: number): Omit<Tensor, "$typeName"> => ({
  encoding: { case: "dense", value: bytes },
  ...{ dtype, shape: [BigInt(length)] },
});

/** What the server answers. */
export function decodeLoss(bytes: Uint8Array): LossOutput {
  const { lossFnOutputs, metrics } = fromBinary(ForwardBackwardOutputSchema, bytes);
  const [{ fields: { logprobs }, numDatums }] = lossFnOutputs;
  const offsets = new BigInt64Array(Uint8Array.from(logprobs.offsets).buffer);
  const logProbs = Array.from(
    { length: Number(numDatums) },
    (_, d) => floatsOf(logprobs.data.subarray(Number(offsets[d]), Number(offsets[d + 1]))),
  );
  return { loss: metrics["loss:sum"], logProbs };
}

/** f32 numbers that lie anywhere in a message. */
export const floatsOf = (bytes: Uint8Array): Float32Array =>
  new Float32Array(Uint8Array.from(bytes).buffer);
/** Token ids that do. */
export const idsOf = (bytes: Uint8Array): Int32Array =>
  new Int32Array(Uint8Array.from(bytes).buffer);
