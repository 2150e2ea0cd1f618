import { useState } from "preact/hooks";
import { send } from "../live/api.ts";
import { useSending } from "../live/use_sending.ts";
import { Choice } from "../parts/choice.tsx";
import { Failure } from "../parts/failure.tsx";
import { useProblem } from "../parts/problem_of.tsx";
import { TextField } from "../parts/text_field.tsx";
import type { ListedModel } from "./listed_models.ts";

const FORMS: ["merged" | "adapter", string][] = [
  ["merged", "a whole model"],
  ["adapter", "the adapter alone, as PEFT has it"],
];
/** Of a folder, and of a GGUF file. */
const FOLDER_TYPES = ["bfloat16", "float16", "float32"];
const FILE_TYPES = ["F16", "BF16", "Q8_0", "Q4_K", "Q4_0"];
const TYPES = [
  ...FOLDER_TYPES.map((one): [string, string] => [one, one]),
  ...FILE_TYPES.map((one): [string, string] => [one, `${one}, a GGUF file for llama.cpp`]),
];

/** Writes what a checkpoint, an adapter or a file has as a model of its own. */
export function ExportForm({ model, onBegun }: { model: ListedModel; onBegun: () => void }) {
  const [asked, setAsked] = useState({
    output: suggested(model),
    form: "merged" as "merged" | "adapter",
    dtype: "bfloat16",
  });
  const { error, isBusy, sending } = useSending();
  const { form, wrong, elsewhere } = useProblem(error);
  const change = (changes: Partial<typeof asked>) =>
    setAsked((known) => ({ ...known, ...changes }));
  const submit = sending(async () => {
    const { output, dtype } = asked;
    const adapter = asked.form === "adapter";
    const numbers = !adapter && FILE_TYPES.includes(dtype) ? { gguf: dtype } : { dtype };
    await send("POST", "/api/exports", {
      body: { model: model.name, output, adapter, ...(adapter ? {} : numbers) },
    });
    onBegun();
  });
  return (
    <form class="panel" onSubmit={submit} ref={form} aria-label={`Export ${model.name}`}>
      <div class="fields">
        <TextField
          id="export-output"
          label="Name of the new model"
          name="output"
          wrong={wrong}
          value={asked.output}
          onText={(output) => change({ output })}
        />
        {model.kind !== "gguf" && (
          <Choice
            class="field"
            label="As"
            value={asked.form}
            options={FORMS}
            onChange={(form) => change({ form })}
          />
        )}
        {asked.form === "merged" && (
          <Choice
            class="field"
            label="Numbers"
            value={asked.dtype}
            options={TYPES}
            onChange={(dtype) => change({ dtype })}
          />
        )}
      </div>
      <Failure error={elsewhere} />
      <button type="submit" class="primary" disabled={isBusy}>Write it</button>
    </form>
  );
}

function suggested({ run, policy, step, path }: ListedModel): string {
  const words = step === null ? path.split("/").slice(-2).join("-") : `${run}-${policy}-${step}`;
  return words.replace(/\.gguf$/, "").replace(/[^A-Za-z0-9_.-]+/g, "-").replace(
    /^[^A-Za-z0-9]+/,
    "",
  );
}
