/**
 * The messages of tinker.proto: the descriptor, as protoc-gen-es makes it of that file, and types that say the same,
 * where a field is what its name there says in camel case.
 */

import type { Message } from "@bufbuild/protobuf";
import { fileDesc, type GenMessage, messageDesc } from "@bufbuild/protobuf/codegenv2";

const FILE = fileDesc(
  "Cgx0aW5rZXIucHJvdG8SDXRpbmtlcl9wdWJsaWMiuAMKFkZvcndhcmRCYWNrd2FyZFJlcXVlc3QSEAoIbW9kZWxfaWQYASABKAkSDgoGc2VxX2lkGAIgASgFEiIKBGRhdGEYAyADKAsyFC50aW5rZXJfcHVibGljLkRhdHVtEg8KB2xvc3NfZm4YBCABKAkSTwoObG9zc19mbl9jb25maWcYBSADKAsyNy50aW5rZXJfcHVibGljLkZvcndhcmRCYWNrd2FyZFJlcXVlc3QuTG9zc0ZuQ29uZmlnRW50cnkSFAoMZm9yd2FyZF9vbmx5GAYgASgIElQKEWxvc3NfZm5fY29uZmlnX3YyGAcgAygLMjkudGlua2VyX3B1YmxpYy5Gb3J3YXJkQmFja3dhcmRSZXF1ZXN0Lkxvc3NGbkNvbmZpZ1YyRW50cnkaMwoRTG9zc0ZuQ29uZmlnRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgBOgI4ARpVChNMb3NzRm5Db25maWdWMkVudHJ5EgsKA2tleRgBIAEoCRItCgV2YWx1ZRgCIAEoCzIeLnRpbmtlcl9wdWJsaWMuTG9zc0NvbmZpZ1ZhbHVlOgI4ASI8Cg9Mb3NzQ29uZmlnVmFsdWUSEAoGbnVtYmVyGAEgASgBSAASDgoEdGV4dBgCIAEoCUgAQgcKBXZhbHVlIr4BCgVEYXR1bRIpCgttb2RlbF9pbnB1dBgBIAMoCzIULnRpbmtlcl9wdWJsaWMuQ2h1bmsSPgoObG9zc19mbl9pbnB1dHMYAiADKAsyJi50aW5rZXJfcHVibGljLkRhdHVtLkxvc3NGbklucHV0c0VudHJ5GkoKEUxvc3NGbklucHV0c0VudHJ5EgsKA2tleRgBIAEoCRIkCgV2YWx1ZRgCIAEoCzIVLnRpbmtlcl9wdWJsaWMuVGVuc29yOgI4ASKgAQoFQ2h1bmsSNwoMZW5jb2RlZF90ZXh0GAEgASgLMh8udGlua2VyX3B1YmxpYy5FbmNvZGVkVGV4dENodW5rSAASKgoFaW1hZ2UYAiABKAsyGS50aW5rZXJfcHVibGljLk90aGVyQ2h1bmtIABIpCgRkbWVsGAMgASgLMhkudGlua2VyX3B1YmxpYy5PdGhlckNodW5rSABCBwoFY2h1bmsiIgoQRW5jb2RlZFRleHRDaHVuaxIOCgZ0b2tlbnMYASABKAwiDAoKT3RoZXJDaHVuayKJAQoGVGVuc29yEg8KBWRlbnNlGAEgASgMSAASLgoKc3BhcnNlX2NzchgCIAEoCzIYLnRpbmtlcl9wdWJsaWMuU3BhcnNlQ3NySAASIwoFZHR5cGUYAyABKA4yFC50aW5rZXJfcHVibGljLkRUeXBlEg0KBXNoYXBlGAQgAygDQgoKCGVuY29kaW5nIkYKCVNwYXJzZUNzchIOCgZ2YWx1ZXMYASABKAwSFAoMY3Jvd19pbmRpY2VzGAIgASgMEhMKC2NvbF9pbmRpY2VzGAMgASgMIt0BChVGb3J3YXJkQmFja3dhcmRPdXRwdXQSGwoTbG9zc19mbl9vdXRwdXRfdHlwZRgBIAEoCRIzCg9sb3NzX2ZuX291dHB1dHMYAiADKAsyGi50aW5rZXJfcHVibGljLkFycmF5UmVjb3JkEkIKB21ldHJpY3MYAyADKAsyMS50aW5rZXJfcHVibGljLkZvcndhcmRCYWNrd2FyZE91dHB1dC5NZXRyaWNzRW50cnkaLgoMTWV0cmljc0VudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoAToCOAEiuAEKC0FycmF5UmVjb3JkEhAKCHR5cGVfdGFnGAEgASgJEjYKBmZpZWxkcxgCIAMoCzImLnRpbmtlcl9wdWJsaWMuQXJyYXlSZWNvcmQuRmllbGRzRW50cnkSEgoKbnVtX2RhdHVtcxgDIAEoAxpLCgtGaWVsZHNFbnRyeRILCgNrZXkYASABKAkSKwoFdmFsdWUYAiABKAsyHC50aW5rZXJfcHVibGljLkJhdGNoZWRUZW5zb3I6AjgBImsKDUJhdGNoZWRUZW5zb3ISDAoEZGF0YRgBIAEoDBIPCgdvZmZzZXRzGAIgASgMEiMKBWR0eXBlGAMgASgOMhQudGlua2VyX3B1YmxpYy5EVHlwZRIWCg50cmFpbGluZ19zaGFwZRgEIAMoAyLvAQoOU2FtcGxlUmVzcG9uc2USMQoJc2VxdWVuY2VzGAEgAygLMh4udGlua2VyX3B1YmxpYy5TYW1wbGVkU2VxdWVuY2USHAoPcHJvbXB0X2xvZ3Byb2JzGAIgASgMSACIAQESPgoUdG9wa19wcm9tcHRfbG9ncHJvYnMYAyABKAsyGy50aW5rZXJfcHVibGljLlRvcGtMb2dwcm9ic0gBiAEBEh8KF3Byb21wdF9jYWNoZV9oaXRfdG9rZW5zGAQgASgFQhIKEF9wcm9tcHRfbG9ncHJvYnNCFwoVX3RvcGtfcHJvbXB0X2xvZ3Byb2JzItABCg9TYW1wbGVkU2VxdWVuY2USLgoLc3RvcF9yZWFzb24YASABKA4yGS50aW5rZXJfcHVibGljLlN0b3BSZWFzb24SDgoGdG9rZW5zGAIgASgMEhUKCGxvZ3Byb2JzGAMgASgMSACIAQESPwoVdG9wa19zYW1wbGVkX2xvZ3Byb2JzGAQgASgLMhsudGlua2VyX3B1YmxpYy5Ub3BrTG9ncHJvYnNIAYgBAUILCglfbG9ncHJvYnNCGAoWX3RvcGtfc2FtcGxlZF9sb2dwcm9icyJOCgxUb3BrTG9ncHJvYnMSEQoJdG9rZW5faWRzGAEgASgMEhAKCGxvZ3Byb2JzGAIgASgMEgkKAWsYAyABKA0SDgoGbGVuZ3RoGAQgASgNKjoKClN0b3BSZWFzb24SFAoQU1RPUF9SRUFTT05fU1RPUBAAEhYKElNUT1BfUkVBU09OX0xFTkdUSBABKmwKBURUeXBlEhYKEkRfVFlQRV9VTlNQRUNJRklFRBAAEhIKDkRfVFlQRV9GTE9BVDMyEAESEAoMRF9UWVBFX0lOVDY0EAISEAoMRF9UWVBFX0lOVDMyEAMSEwoPRF9UWVBFX0JGTE9BVDE2EARiBnByb3RvMw",
);

/** One of several fields, of which none is there. */
type Unset = { case: undefined; value?: undefined };

/** What a loss or log-probs are asked of. */
export type ForwardBackwardRequest = Message<"tinker_public.ForwardBackwardRequest"> & {
  modelId: string;
  seqId: number;
  data: Datum[];
  lossFn: string;
  /** Numbers alone, as older clients send them. */
  lossFnConfig: { [key: string]: number };
  forwardOnly: boolean;
  /** Wins over those. */
  lossFnConfigV2: { [key: string]: LossConfigValue };
};

export const ForwardBackwardRequestSchema: GenMessage<ForwardBackwardRequest> = messageDesc(
  FILE,
  0,
);

export type LossConfigValue = Message<"tinker_public.LossConfigValue"> & {
  value: { case: "number"; value: number } | { case: "text"; value: string } | Unset;
};

export type Datum = Message<"tinker_public.Datum"> & {
  modelInput: Chunk[];
  lossFnInputs: { [key: string]: Tensor };
};

export type Chunk = Message<"tinker_public.Chunk"> & {
  chunk:
    | { case: "encodedText"; value: EncodedTextChunk }
    | { case: "image" | "dmel"; value: OtherChunk }
    | Unset;
};

export type EncodedTextChunk = Message<"tinker_public.EncodedTextChunk"> & {
  /** int32 */
  tokens: Uint8Array;
};

/** Of a kind that no text model reads. */
export type OtherChunk = Message<"tinker_public.OtherChunk">;

export type Tensor = Message<"tinker_public.Tensor"> & {
  /** Dense: in the dtype below. */
  encoding: { case: "dense"; value: Uint8Array } | { case: "sparseCsr"; value: SparseCsr } | Unset;
  dtype: DType;
  shape: bigint[];
};

export type SparseCsr = Message<"tinker_public.SparseCsr"> & {
  values: Uint8Array;
  /** int64 */
  crowIndices: Uint8Array;
  /** int64 */
  colIndices: Uint8Array;
};

export type ForwardBackwardOutput = Message<"tinker_public.ForwardBackwardOutput"> & {
  lossFnOutputType: string;
  lossFnOutputs: ArrayRecord[];
  metrics: { [key: string]: number };
};

export const ForwardBackwardOutputSchema: GenMessage<ForwardBackwardOutput> = messageDesc(FILE, 8);

export type ArrayRecord = Message<"tinker_public.ArrayRecord"> & {
  typeTag: string;
  fields: { [key: string]: BatchedTensor };
  numDatums: bigint;
};

export type BatchedTensor = Message<"tinker_public.BatchedTensor"> & {
  /** Of all datums, one after another. */
  data: Uint8Array;
  /** int64 [num_datums + 1], in bytes */
  offsets: Uint8Array;
  dtype: DType;
  trailingShape: bigint[];
};

export type SampleResponse = Message<"tinker_public.SampleResponse"> & {
  sequences: SampledSequence[];
  /** float32, NaN where there is none */
  promptLogprobs?: Uint8Array | undefined;
  topkPromptLogprobs?: TopkLogprobs | undefined;
  promptCacheHitTokens: number;
};

export const SampleResponseSchema: GenMessage<SampleResponse> = messageDesc(FILE, 11);

export type SampledSequence = Message<"tinker_public.SampledSequence"> & {
  stopReason: StopReason;
  /** int32 */
  tokens: Uint8Array;
  /** float32 */
  logprobs?: Uint8Array | undefined;
  topkSampledLogprobs?: TopkLogprobs | undefined;
};

export type TopkLogprobs = Message<"tinker_public.TopkLogprobs"> & {
  /** int32 [length, k] */
  tokenIds: Uint8Array;
  /** float32 [length, k]; a row without any is 0 and -99999 */
  logprobs: Uint8Array;
  k: number;
  length: number;
};

export enum StopReason {
  STOP = 0,
  LENGTH = 1,
}

export enum DType {
  UNSPECIFIED = 0,
  FLOAT32 = 1,
  INT64 = 2,
  INT32 = 3,
  BFLOAT16 = 4,
}
