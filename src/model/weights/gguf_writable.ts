/** What llama.cpp's format has no place for in a decoder, and readers would ignore or not load. */

import { UserError } from "../../base/user_error.ts";
import {
  type Architecture,
  attends,
  kindOf,
  type ModelConfig,
  type Rotation,
} from "../decoder/config.ts";
import { leadingDense } from "./config/experts.ts";
import { families } from "./config/families.ts";
import type { GgufTraits } from "./config/gguf_traits.ts";
import { attentionInterval, deltaOf } from "./gguf_delta.ts";

const refused = (what: string) =>
  new UserError(`llama.cpp has no place for ${what}; export a folder instead, without --gguf`);

/** What a family's files have otherwise than others. */
export const traitsOf = (architecture: Architecture): GgufTraits => families[architecture].gguf;

/** @throws UserError naming what the format has no place for */
export function expectWritable(config: ModelConfig): void {
  const gguf = traitsOf(config.architecture);
  const { biases, heads, headDim, hiddenSize, layers, scales, caps } = config;
  const others = gguf.biases === undefined && biases.qkv ||
    gguf.biases !== "all" && (biases.attentionOutput || biases.feedForward);
  if (others) throw refused(`these biases in ${gguf.name}`);
  if (gguf.cutsWidth && heads * headDim !== hiddenSize) {
    throw refused(`heads of ${headDim} in ${gguf.name}, but where they make up hidden_size`);
  }
  const { scaling, size } = rotationOf(config);
  if (scaling?.type === "llama3" && !gguf.hasFactors) {
    throw refused(`Llama 3.1's scaling of the rotation in ${gguf.name}`);
  }
  if (scaling?.type === "yarn") {
    const usual = scaling.truncate && scaling.betaFast === 32 && scaling.betaSlow === 1 &&
      Math.abs(scaling.magnitude - (0.1 * Math.log(scaling.factor) + 1)) < 1e-6;
    if (!usual) throw refused("a YaRN rotation with other numbers than factor and context");
  }
  if (scaling?.type === "longrope" && !gguf.hasLongFactors) {
    throw refused(`LongRoPE in ${gguf.name}`);
  }
  if (size > 0 && size < headDim && !gguf.hasParts) {
    throw refused(`a part of a head rotated in ${gguf.name}`);
  }
  if (!config.kinds.some(attends)) {
    throw refused("a model without attention");
  }
  if (gguf.convolves && !convolves(config)) {
    throw refused(`a model without convolutions in ${gguf.name}`);
  }
  expectDeltaWritable(config);
  if (config.kinds.every(({ window }) => window !== null) && !gguf.every) {
    throw refused(`a window of all layers in ${gguf.name}`);
  }
  // Its readers take the scale from the heads.
  const scale = (layers === gguf.scaledByWidth ? hiddenSize / heads : headDim) ** -0.5;
  if (
    scales.attention !== null && !gguf.hasScales && Math.abs(scales.attention / scale - 1) > 1e-6
  ) {
    throw refused(`a query_pre_attn_scalar of its own in ${gguf.name}`);
  }
  if (gguf.isUntied && config.tiedEmbeddings) {
    throw refused(`a head that is the embedding in ${gguf.name}`);
  }
  if (gguf.isTied && !config.tiedEmbeddings) throw refused(`a head of its own in ${gguf.name}`);
  if (gguf.hasCaps && (caps.attention === null || caps.logits === null)) {
    throw refused(`scores and logits without a cap in ${gguf.name}`);
  }
  if (gguf.takesOneKeyPerQuery && config.kvHeads !== heads) {
    throw refused(`key and value heads that queries share in ${gguf.name}`);
  }
  expectExpertsWritable(config);
  const { every } = gguf;
  if (!every) return;
  for (let i = 0; i < config.layers; i++) {
    if (every.is(kindOf(config, i)) !== ((i + 1) % every.nth === 0)) {
      throw refused(`a layer ${i} that is not as layers of its number are in this family`);
    }
  }
}

/** @throws UserError naming what the format has no place for of a family with DeltaNets */
function expectDeltaWritable(config: ModelConfig): void {
  const { name, hasDelta } = traitsOf(config.architecture);
  if (!hasDelta) return;
  const delta = deltaOf(config);
  if (delta === null) throw refused(`a model without DeltaNets in ${name}`);
  if (delta.keyDim !== delta.valueDim) {
    throw refused(
      `heads of ${delta.keyDim} numbers in keys and of ${delta.valueDim} in values of a DeltaNet`,
    );
  }
  if (attentionInterval(config) === null) {
    throw refused("layers of attention other than every nth between DeltaNets");
  }
}

/** @throws UserError naming what the format has no place for of the experts of a family */
function expectExpertsWritable(config: ModelConfig): void {
  const { name, experts: traits } = traitsOf(config.architecture);
  if (!traits) return;
  const { normalised, mayBeLater = false, isBiased = false } = traits;
  const all = Array.from({ length: config.layers }, (_, i) => kindOf(config, i).experts);
  const first = mayBeLater ? leadingDense(config) : 0;
  if (first === config.layers) throw refused(`a model without experts in ${name}`);
  for (const experts of all.slice(first)) {
    if (!experts) throw refused(`layers without experts in ${name}`);
    if (experts.normalised !== normalised) {
      throw refused(`weights of experts that ${normalised ? "do not " : ""}sum to 1 in ${name}`);
    }
    if (experts.biased !== isBiased) {
      throw refused(`a choice of experts ${isBiased ? "without" : "with"} a bias in ${name}`);
    }
    if (experts.scale !== 1) throw refused(`a factor of experts' weights in ${name}`);
  }
}

/** Whether some of its layers convolve. */
export const convolves = ({ kinds }: ModelConfig) => kinds.some(({ taps }) => taps !== undefined);

/** The rotation of the layers that have one, of those with full attention. */
export function rotationOf({ kinds }: ModelConfig): Rotation {
  const [kind] = kinds.filter(({ rotation, window }) => rotation.size > 0 && window === null);
  return (kind ?? kinds[0]).rotation;
}
