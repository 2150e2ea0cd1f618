import type { TangoConfigFields } from "./check_together.ts";

/**
 * What a reward model in the verifier's place leaves possible.
 *
 * @param impossible told of each setting that is not, with what is expected instead
 */
export function checkRewardModel(
  { generator, verifier, advantage }: Pick<
    TangoConfigFields,
    "generator" | "verifier" | "advantage"
  >,
  impossible: (path: PropertyKey[], input: unknown, message: string) => unknown,
): void {
  const kind = verifier?.kind ?? "generative";
  const { alpha, judgments, judged, normalisation, process } = advantage;
  if (process === "token-to-go" && verifier && kind !== "implicit") {
    const message =
      "sum-to-go, own-step, until-error, first-error or first-error-soft, because rewards of tokens " +
      "come from a verifier.kind implicit alone";
    impossible(["advantage", "process"], process, message);
  }
  if (process === "token-to-go" && normalisation === "merged") {
    const message =
      "separate, because advantage.process token-to-go has no rewards of steps to merge";
    impossible(["advantage", "normalisation"], normalisation, message);
  }
  if (verifier && kind !== "implicit" && verifier.reference !== null) {
    const message = `null, because verifier.kind is ${kind}`;
    impossible(["verifier", "reference"], verifier.reference, message);
  }
  if (kind === "generative") return;
  if (verifier && verifier.kl_coefficient !== null) {
    const message =
      `null, because verifier.kind ${kind} learns by cross-entropy, without a divergence`;
    impossible(["verifier", "kl_coefficient"], verifier.kl_coefficient, message);
  }
  const writesNone = `because verifier.kind ${kind} judges no steps`;
  if (judged === "wrong") {
    impossible(["advantage", "judged"], judged, `all, ${writesNone}`);
  }
  if (kind === "implicit" && process !== "token-to-go") {
    impossible(["advantage", "process"], process, "token-to-go, because verifier.kind is implicit");
  }
  if (kind === "implicit" && verifier) {
    const reads = "because verifier.kind implicit reads the generator's own prompts";
    if (verifier.maximum_prompt_tokens !== null) {
      const message = `null, ${reads}`;
      impossible(["verifier", "maximum_prompt_tokens"], verifier.maximum_prompt_tokens, message);
    }
    for (const key of ["chat", "system_prompt"] as const) {
      if (verifier[key] === generator[key]) continue;
      const message = `${JSON.stringify(generator[key])} as generator.${key} is, ${reads}`;
      impossible(["verifier", key], verifier[key], message);
    }
  }
  const byVerifier = judgments === "verifier" || judgments === "permuted";
  if (kind === "implicit" && judgments !== "verifier") {
    const message = "verifier, because verifier.kind implicit rewards tokens itself";
    impossible(["advantage", "judgments"], judgments, message);
  }
  if (kind === "outcome" && byVerifier && alpha.initial > 0) {
    const message = `0, ${writesNone} (or advantage.judgments constant, oracle or prefix)`;
    impossible(["advantage", "alpha", "initial"], alpha.initial, message);
  }
  if (alpha.schedule === "earned" && byVerifier && alpha.initial > 0) {
    impossible(
      ["advantage", "alpha", "schedule"],
      alpha.schedule,
      `exp, linear, cosine or none, ${writesNone}, and nothing is earned`,
    );
  }
}
