import { create, toBinary } from "@bufbuild/protobuf";
import { arrayBytes } from "./wire/arrays.ts";
import { DType, ForwardBackwardOutputSchema } from "./wire/tinker_pb.ts";

/**
 * What a client reads of a loss.
 *
 * @param logProbs of each datum
 * @param loss the sum over all of them
 */
export function encoded(logProbs: readonly Float32Array[], loss: number): Uint8Array {
  const offsets = new BigInt64Array(logProbs.length + 1);
  logProbs.forEach(({ byteLength }, d) => offsets[d + 1] = offsets[d] + BigInt(byteLength));
  const data = new Uint8Array(Number(offsets[logProbs.length]));
  logProbs.forEach((values, d) => data.set(arrayBytes(values), Number(offsets[d])));
  return toBinary(
    ForwardBackwardOutputSchema,
    create(ForwardBackwardOutputSchema, {
      lossFnOutputType: "ArrayRecord",
      lossFnOutputs: [{
        fields: {
          logprobs: {
            ...{ data, offsets: arrayBytes(offsets), dtype: DType.FLOAT32 },
          },
        },
        numDatums: BigInt(logProbs.length),
      }],
      metrics: { "loss:sum": loss },
    }),
  );
}
