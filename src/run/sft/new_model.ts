import { characterTokenizer, characterTokenizerConfig } from "../../data/vocabulary.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { ModelConfig } from "../../model/decoder/config.ts";
import { initialise } from "../../model/decoder/initialise.ts";
import { Model } from "../../model/decoder/model.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import { stopTokensOf } from "../../model/tokenizer/stop_tokens.ts";
import { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";

/** A model of random weights with the embedded tasks' character vocabulary. */
export function newModel(gpu: Gpu, { architecture, seed }: SftConfig): LoadedModel {
  const definition = characterTokenizer();
  const tokenizer = Tokenizer.fromJson(
    { ...definition },
    { ...characterTokenizerConfig() },
    "the character vocabulary",
  );
  const config: ModelConfig = {
    architecture: "llama",
    vocabularySize: Object.keys(definition.model.vocab).length,
    hiddenSize: architecture.hidden_size,
    intermediateSize: architecture.intermediate_size,
    layers: architecture.layers,
    heads: architecture.attention_heads,
    kvHeads: architecture.key_value_heads,
    headDim: architecture.hidden_size / architecture.attention_heads,
    normEpsilon: 1e-6,
    ropeTheta: architecture.rope_theta,
    ropeScaling: null,
    tiedEmbeddings: true,
    qkvBias: false,
    qkNorm: false,
    maxPositions: architecture.max_position_embeddings,
  };
  const model = Model.create(gpu, config, { trained: true });
  if (!gpu.isRehearsal) initialise(model, seed, architecture.initial_deviation);
  return { model, tokenizer, stopTokens: stopTokensOf(tokenizer, [], "the new model") };
}
