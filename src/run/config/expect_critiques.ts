import { UserError } from "../../base/user_error.ts";
import type { TangoConfig } from "./config_schema.ts";

/** @throws UserError where a run's verifier is a reward model, which writes no critiques */
export function expectCritiques({ verifier }: Pick<TangoConfig, "verifier">): void {
  if (verifier === null || verifier.kind === "generative") return;
  throw new UserError(
    `${verifier.model} is the verifier of a run in which it is a reward model (verifier.kind: ${verifier.kind}), and ` +
      "writes no critiques. ./tango eval measures its scores, with --policy verifier or --verifier.",
  );
}
