import { join } from "../../platform/system/paths.ts";
import { exists } from "../../platform/files/atomic_file.ts";
import { readJson } from "../../model/weights/json_file.ts";
import { UserError } from "../../base/user_error.ts";
import type { JudgmentLabels } from "../config/sft_config_schema.ts";

/** Beside a verifier's weights: where the judgments came from that its warm start imitated. */
const FILE = "judgment_labels.json";

/**
 * Where the judgments came from that a verifier has imitated before; null where its folder does not say, as
 * with a model that was not fine-tuned here.
 *
 * @param model the path of a folder, or of a .gguf file
 * @throws UserError when the folder says something else
 */
export function readJudgmentLabels(model: string): JudgmentLabels | null {
  const path = join(model, FILE);
  if (!exists(path)) return null;
  const written = readJson(path);
  // Earlier versions wrote `verifier_labels`.
  const labels = written.judgment_labels ?? written.verifier_labels;
  if (labels === "gold" || labels === "coin_flip") return labels;
  throw new UserError(
    `${path}: judgment_labels is ${JSON.stringify(labels)}; expected "gold" or "coin_flip". ` +
      `Write which of them the model has imitated, or remove the file if that is not known.`,
  );
}

/** The file that says so, for the folder of a verifier that has learned from them. */
export function judgmentLabelsFile(labels: JudgmentLabels | null): Record<string, string> {
  return labels === null ? {} : { [FILE]: `${JSON.stringify({ judgment_labels: labels })}\n` };
}
