import { useState } from "preact/hooks";
import { send } from "../live/api.ts";
import { go } from "../live/route.ts";
import { useSending } from "../live/use_sending.ts";
import { Choice } from "../parts/choice.tsx";
import { Failure } from "../parts/failure.tsx";
import { useProblem } from "../parts/problem_of.tsx";
import { TextField } from "../parts/text_field.tsx";
import type { ListedBenchmark } from "../../benchmarks/benchmarks.ts";

const ENGINES = ["auto", "native", "dawn"].map((one): [string, string] => [one, one]);

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
  const change = (changes: Partial<typeof asked>) =>
    setAsked((known) => ({ ...known, ...changes }));
  return (
    <form class="start-form" onSubmit={submit} ref={form}>
      <div class="fields">
        <TextField
          id="bench-filter"
          label="Only kernels with"
          hint="such as gemm, or /default for whole steps; empty: all"
          name="filter"
          wrong={wrong}
          value={asked.filter}
          onText={(filter) => change({ filter })}
        />
        <TextField
          id="bench-seconds"
          label="Seconds for each"
          inputMode="decimal"
          name="seconds"
          wrong={wrong}
          value={asked.seconds}
          onText={(seconds) => change({ seconds })}
        />
        <Choice
          class="field"
          label="Engine"
          value={asked.gpu}
          options={ENGINES}
          onChange={(gpu) => change({ gpu })}
        />
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
