import { camelCased } from "../../base/camel_cased.ts";
import { findTask } from "../../data/tasks.ts";
import { characterTokenizer, characterTokenizerConfig } from "../../data/vocabulary.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { ModelConfig } from "../../model/decoder/config.ts";
import { initialise } from "../../model/decoder/initialise.ts";
import { Model } from "../../model/decoder/model.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import { stopTokensOf } from "../../model/tokenizer/stop_tokens.ts";
import { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";

/** A model of random weights with the embedded tasks' character vocabulary and the task's own words. */
export function newModel(gpu: Gpu, { architecture, seed, task }: SftConfig): LoadedModel {
  const definition = characterTokenizer(findTask(task.name).words);
  const tokenizer = Tokenizer.fromJson(
    { ...definition },
    { ...characterTokenizerConfig() },
    "the character vocabulary",
  );
  const { hiddenSize, intermediateSize, layers, ropeTheta, initialDeviation, ...others } =
    camelCased(architecture);
  const { attentionHeads: heads, keyValueHeads: kvHeads, maxPositionEmbeddings } = others;
  const config: ModelConfig = {
    architecture: "llama",
    vocabularySize: Object.keys(definition.model.vocab).length,
    hiddenSize,
    intermediateSize,
    layers,
    heads,
    kvHeads,
    headDim: hiddenSize / heads,
    normEpsilon: 1e-6,
    ropeTheta,
    ropeScaling: null,
    tiedEmbeddings: true,
    qkvBias: false,
    qkNorm: false,
    maxPositions: maxPositionEmbeddings,
  };
  const model = Model.create(gpu, config, { trained: true });
  if (!gpu.isRehearsal) initialise(model, seed, initialDeviation);
  return { model, tokenizer, stopTokens: stopTokensOf(tokenizer, [], "the new model") };
}
