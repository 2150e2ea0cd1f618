import type { Preset } from "../../launches/presets.ts";
import type { ModelList } from "../../models/model_schemas.ts";
import { settingAt } from "./schema_fields.ts";

/** Where a preset says what it begins with. */
const BEGINNINGS = ["generator.model", "initial_model", "verifier.model"];

/** Up to here a model is as small as those that come with the program and are trained from scratch. */
const SMALL_PARAMETERS = 10_000_000;

/**
 * The preset by which a model is trained when none is named: one that begins with it; else the first, or, as the first
 * trains a tiny model at a rate that would ruin a pretrained one, the first that trains an adapter and takes weights of any
 * kind.
 *
 * @param model its path, "" for that of the preset
 * @param models all that are known; one that is not among them, or whose size is not known, counts as large
 */
export function choosePreset(
  presets: readonly Preset[],
  model: string,
  models: ModelList["models"],
): Preset | undefined {
  const first = presets.at(0);
  if (model === "") return first;
  const beginning = BEGINNINGS.flatMap((key) =>
    presets.filter(({ configuration }) => settingAt(configuration, key) === model)
  );
  if (beginning.length > 0) return beginning[0];
  const found = models.find(({ path, kind }) => path === model && kind !== "checkpoint");
  const isSmall = found?.kind === "model" && (found.parameters ?? Infinity) <= SMALL_PARAMETERS;
  return isSmall ? first : presets.find(trainsAdapterOfAny) ?? first;
}

function trainsAdapterOfAny({ configuration }: Preset): boolean {
  if (settingAt(configuration, "frozen_dtype") === "quantised") return false;
  return ["lora", "generator.lora"].some((key) => settingAt(configuration, key) !== undefined);
}
