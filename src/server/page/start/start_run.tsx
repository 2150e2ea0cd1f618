import { runPath } from "../live/api.ts";
import { go, useRoute } from "../live/route.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { Choice, optionsOf } from "../parts/choice.tsx";
import { Failure } from "../parts/failure.tsx";
import { Link } from "../parts/link.tsx";
import { EMPTY_FORM, KINDS } from "../url_state.ts";
import { choosePreset } from "./choose_preset.ts";
import { filledKeys } from "./filled_keys.ts";
import { type RunBase, StartForm } from "./start_form.tsx";
import type { Preset } from "../../launches/presets.ts";
import type { ModelList } from "../../models/model_schemas.ts";
import type { RunAgain } from "../../routes/runs.ts";

/** Starts a run: of a preset, or as an earlier one was. */
export function StartRun() {
  const { again } = useRoute();
  return (
    <article class="start" aria-labelledby="start-title">
      <h1 id="start-title">{again === "" ? "New run" : `${again}, again`}</h1>
      {again === "" ? <FromPreset /> : <Again id={again} />}
    </article>
  );
}

function FromPreset() {
  const route = useRoute();
  const { kind, preset: wanted } = route;
  // A verifier tells as much of what fits as a generator does.
  const verifier = filledKeys("train", route).keys["verifier.model"];
  const model = route.model || (typeof verifier === "string" ? verifier : "");
  const { answer, error } = useLoaded<{ presets: Preset[] }>("/api/presets");
  const { answer: found, error: unlisted } = useLoaded<ModelList>(
    model === "" ? null : "/api/models",
  );
  // A form whose preset changed later would lose what is typed.
  const isKnown = model === "" || found !== null || unlisted !== null;
  const all = answer?.presets ?? [];
  const named = all.find(({ name }) => name === wanted);
  const shownKind = kind === "" && named?.kind === "sft" ? "sft" : kind;
  const presets = all.filter((one) => one.kind === (shownKind === "sft" ? "sft" : "train"));
  const preset = presets.find(({ name }) => name === wanted) ??
    (isKnown ? choosePreset(presets, model, found?.models ?? []) : undefined);
  return (
    <>
      <Failure error={error ?? unlisted} />
      <div class="fields">
        <Choice
          class="field"
          label="What to do"
          value={shownKind}
          options={optionsOf(KINDS)}
          onChange={(kind) => go({ kind, preset: "" }, { replace: true })}
        />
        {preset !== undefined && (
          <Choice
            class="field"
            label="Preset"
            value={preset.name}
            options={presets.map(({ name }) => [name, name])}
            onChange={(name) => go({ preset: name }, { replace: true })}
          />
        )}
      </div>
      {answer !== null && isKnown && preset === undefined && (
        <p class="notice">The server has no presets for this.</p>
      )}
      {preset !== undefined && (
        <Filled base={{ ...preset, kind: shownKind === "" ? "train" : shownKind }} />
      )}
    </>
  );
}

function Again({ id }: { id: string }) {
  const { answer, error } = useLoaded<RunAgain>(runPath(id, "request"));
  return (
    <>
      <p class="quiet">
        With the settings that were in force last; what you change is marked.{" "}
        <Link to={{ ...EMPTY_FORM, screen: "start" }}>Begin with a preset instead</Link>
      </p>
      <Failure error={error} />
      {answer !== null && <Filled base={{ ...answer, name: null, description: "" }} />}
    </>
  );
}

/** The form with what the address fills in; another address is another form. */
function Filled({ base }: { base: RunBase }) {
  const { model, data, change, again } = useRoute();
  const filled = filledKeys(base.kind, { model, data, change });
  return (
    <>
      <Failure error={filled.problem} />
      <StartForm
        base={base}
        filled={filled.keys}
        key={JSON.stringify([base.kind, base.name, again, filled.keys])}
      />
    </>
  );
}
