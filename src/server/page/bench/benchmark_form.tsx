import { useState } from "preact/hooks";
import type { TargetedEvent } from "preact";
import { send } from "../live/api.ts";
import { go } from "../live/route.ts";
import { useSending } from "../live/use_sending.ts";
import { Failure } from "../parts/failure.tsx";
import { describedBy, ProblemOf, useProblem } from "../parts/problem_of.tsx";
import type { ListedBenchmark } from "../../benchmarks/benchmarks.ts";

/** Starts a benchmark; one goes on at a time. */
export function BenchmarkForm({ isGoing, onBegun }: { isGoing: boolean; onBegun: () => void }) {
  const [asked, setAsked] = useState({ filter: "", seconds: "0.5", gpu: "auto" });
  const { error, sending } = useSending();
  const { form, wrong, elsewhere } = useProblem(error);
  const submit = sending(async () => {
    const body = { ...asked, seconds: Number(asked.seconds) };
    const begun: ListedBenchmark = await (await send("POST", "/api/bench", { body })).json();
    onBegun();
    go({ bench: begun.name, earlier: "" });
  });
  const field = (name: keyof typeof asked, label: string, hint: string | null) => {
    const common = {
      id: `bench-${name}`,
      value: asked[name],
      ...describedBy(wrong, name, hint === null ? null : `bench-${name}-hint`),
      onInput: ({ currentTarget }: TargetedEvent<HTMLInputElement | HTMLSelectElement>) => {
        const { value } = currentTarget;
        setAsked((known) => ({ ...known, [name]: value }));
      },
    };
    return (
      <div class="field">
        <label for={`bench-${name}`}>{label}</label>
        {name === "gpu"
          ? (
            <select {...common}>
              {["auto", "native", "dawn"].map((one) => <option key={one}>{one}</option>)}
            </select>
          )
          : <input {...common} inputMode={name === "seconds" ? "decimal" : "text"} />}
        <ProblemOf wrong={wrong} field={name} />
        {hint !== null && <p class="hint" id={`bench-${name}-hint`}>{hint}</p>}
      </div>
    );
  };
  return (
    <form class="start-form" onSubmit={submit} ref={form}>
      <div class="fields">
        {field(
          "filter",
          "Only kernels with",
          "such as gemm, or /default for whole steps; empty: all",
        )}
        {field("seconds", "Seconds for each", null)}
        {field("gpu", "Engine", null)}
      </div>
      <Failure error={elsewhere} />
      <div class="buttons">
        <button type="submit" class="primary" disabled={isGoing}>
          {isGoing ? "One goes on" : "Start"}
        </button>
      </div>
    </form>
  );
}
