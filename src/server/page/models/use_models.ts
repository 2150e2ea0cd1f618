import { useLoaded } from "../live/use_loaded.ts";
import { type ServedModel, withServed } from "./listed_models.ts";
import type { ModelList } from "../../models/model_schemas.ts";

/** All models there are, null before that is known. They are asked for again when `version` changes. */
export function useModels(version?: unknown) {
  const { answer, error } = useLoaded<ModelList>("/api/models", version);
  const served = useLoaded<{ data: ServedModel[] }>("/v1/models", version);
  return {
    models: answer && served.answer && withServed(answer.models, served.answer.data),
    unread: answer?.unread ?? [],
    pulls: answer?.pulls ?? [],
    error: error ?? served.error,
  };
}
