/** Tokens that a model reads, and those of its predictions that count. N tokens read, R predicted. */
export interface TrainingSequence {
  /** [N] */
  readonly tokens: Uint32Array;
  /** [R] what positions `first`, `first + 1`, … predict; without any, the sequence is passed over */
  readonly targets: Uint32Array;
  /** Position of the first prediction. */
  readonly first: number;
}

/** A prompt and a response, each of whose tokens is predicted by the one before it. Neither may be empty. */
export function promptedSequence(prompt: Uint32Array, response: Uint32Array): TrainingSequence {
  const tokens = new Uint32Array(prompt.length + response.length);
  tokens.set(prompt);
  tokens.set(response, prompt.length);
  return { tokens, targets: response, first: prompt.length - 1 };
}
