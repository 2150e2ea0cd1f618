/** Paths that OpenAI's and vLLM's clients ask, whose errors they read in their own form. */
export function isOpenAiPath(path: string): boolean {
  return /^\/(v1|inference)(\/|$)/.test(path) ||
    ["/tokenize", "/detokenize", "/tokenizer_info", "/health"].includes(path);
}
