import { useState } from "preact/hooks";
import { send } from "../live/api.ts";
import { useSending } from "../live/use_sending.ts";
import { Choice } from "../parts/choice.tsx";
import { Failure } from "../parts/failure.tsx";
import { useProblem } from "../parts/problem_of.tsx";
import { TextField } from "../parts/text_field.tsx";
import type { ListedModel } from "./listed_models.ts";

const POLICIES: ["generator" | "verifier", string][] = [
  ["generator", "generator: its own answers"],
  ["verifier", "verifier: its judgments"],
];

/** Measures a model on problems that training never sees. */
export function EvaluateForm(
  { model: { path, policy, kind, name }, problems, generators, onBegun }: {
    model: ListedModel;
    problems: [string, string][];
    generators: string[];
    onBegun: () => void;
  },
) {
  // A checkpoint says itself what it is, and has a generator beside its verifier.
  const checkpoint = kind === "checkpoint" ? name : null;
  const isVerifier = policy === "verifier" || /verifier[^/]*$/.test(path);
  const [asked, setAsked] = useState({
    policy: isVerifier ? "verifier" as const : "generator" as "generator" | "verifier",
    generator: checkpoint === null ? generators.find((one) => /generator$/.test(one)) ?? "" : "",
    on: "",
    ...{ problems: "", k: "1" },
  });
  const { error, isBusy, sending } = useSending();
  const { form, wrong, elsewhere } = useProblem(error);
  const change = (changes: Partial<typeof asked>) =>
    setAsked((known) => ({ ...known, ...changes }));
  const submit = sending(async () => {
    const [, kind, name] = /^(preset|data) (.+)$/.exec(asked.on) ?? [];
    const body = {
      ...{ model: checkpoint ?? path, policy: asked.policy, k: Number(asked.k) },
      generator: asked.policy === "verifier" && asked.generator !== ""
        ? asked.generator
        : undefined,
      preset: kind === "preset" ? name : undefined,
      data: kind === "data" ? [name] : undefined,
      problems: asked.problems === "" ? undefined : Number(asked.problems),
    };
    await send("POST", "/api/evaluations", { body });
    onBegun();
  });
  return (
    <form class="panel" onSubmit={submit} ref={form} aria-label={`Evaluate ${checkpoint ?? path}`}>
      <div class="fields">
        {checkpoint === null && (
          <Choice
            class="field"
            label="As a"
            value={asked.policy}
            options={POLICIES}
            onChange={(policy) => change({ policy })}
          />
        )}
        {asked.policy === "verifier" && (
          <Choice
            class="field"
            label="Judges the solutions of"
            value={asked.generator}
            options={[
              ...(checkpoint === null ? [] : [["", "its own generator"] as [string, string]]),
              ...generators.map((one): [string, string] => [one, one]),
            ]}
            onChange={(generator) => change({ generator })}
          />
        )}
        <Choice
          class="field"
          label="On the problems of"
          value={asked.on}
          options={[["", "its run, else the first preset"], ...problems]}
          onChange={(on) =>
            change({ on })}
        />
        <TextField
          id="evaluate-problems"
          label="Problems"
          hint="how many; empty: as many as the preset measures"
          inputMode="numeric"
          name="problems"
          wrong={wrong}
          value={asked.problems}
          onText={(problems) =>
            change({ problems })}
        />
        <TextField
          id="evaluate-k"
          label="Responses to each"
          hint="1 is the likeliest; more are sampled"
          inputMode="numeric"
          name="k"
          wrong={wrong}
          value={asked.k}
          onText={(k) =>
            change({ k })}
        />
      </div>
      <Failure error={elsewhere} />
      <button type="submit" class="primary" disabled={isBusy}>Measure</button>
    </form>
  );
}
