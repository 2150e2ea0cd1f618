import { camelCased } from "../../base/camel_cased.ts";
import { findTask } from "../../data/tasks.ts";
import { characterTokenizer, characterTokenizerConfig } from "../../data/vocabulary.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { type ModelConfig, plainDecoder, wholeHeads } from "../../model/decoder/config.ts";
import { initialise } from "../../model/decoder/initialise.ts";
import { Model } from "../../model/decoder/model.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import { loneTokenizer } from "../../model/weights/tokenizer_files.ts";
import { stopTokensOf } from "../../model/tokenizer/stop_tokens.ts";
import { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import { trainedStorage } from "../config/frozen_storage.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";

/**
 * A model of random weights with the configured tokenizer, or the embedded tasks' character vocabulary and the
 * task's own words.
 *
 * @throws UserError when a file of the tokenizer is missing or unsound, or it names no token that ends a response
 */
export function newModel(
  gpu: Gpu,
  { architecture, seed, task, tokenizer: path, trained_dtype }: SftConfig,
): LoadedModel {
  const { tokenizer, vocabularySize } = path === null
    ? characters(findTask(task.name).words)
    : loneTokenizer(path);
  const stopTokens = stopTokensOf(tokenizer, [], path ?? "the new model");
  const { hiddenSize, intermediateSize, layers, ropeTheta, initialDeviation, ...others } =
    camelCased(architecture);
  const { attentionHeads: heads, keyValueHeads: kvHeads, maxPositionEmbeddings } = others;
  const headDim = hiddenSize / heads;
  const config: ModelConfig = {
    architecture: "llama",
    vocabularySize,
    hiddenSize,
    intermediateSize,
    layers,
    heads,
    kvHeads,
    headDim,
    kinds: wholeHeads(headDim, ropeTheta),
    normEpsilon: 1e-6,
    tiedEmbeddings: true,
    ...plainDecoder,
    maxPositions: maxPositionEmbeddings,
  };
  const model = Model.create(gpu, config, {
    trained: true,
    storage: trainedStorage(trained_dtype),
  });
  if (!gpu.isRehearsal) initialise(model, seed, initialDeviation);
  return { model, tokenizer, stopTokens };
}

function characters(
  words: readonly string[] | undefined,
): { readonly tokenizer: Tokenizer; readonly vocabularySize: number } {
  const definition = characterTokenizer(words);
  const settings = { ...characterTokenizerConfig() };
  return {
    tokenizer: Tokenizer.fromJson({ ...definition }, settings, "the character vocabulary"),
    vocabularySize: Object.keys(definition.model.vocab).length,
  };
}
