/** The smallest policy that begins with random weights: for tests that want a run, not what it learns. */
export const tinyArchitecture = {
  hidden_size: 16,
  layers: 1,
  attention_heads: 2,
  key_value_heads: 1,
  intermediate_size: 32,
  max_position_embeddings: 256,
};
