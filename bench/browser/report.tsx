/** The page on which a visitor's GPU is measured. */

import { render } from "preact";
import { useEffect, useReducer, useState } from "preact/hooks";
import { KernelTable } from "../../src/server/page/bench/kernel_table.tsx";
import { saveFile } from "../../src/tab/page/save_file.ts";
import { Top } from "../../src/tab/page/top.tsx";
import { webGpuMissing } from "../../src/tab/page/webgpu_missing.ts";
import { after, NO_REPORT, type ReportState } from "./report_state.ts";

function Report() {
  const [state, hear] = useReducer(after, NO_REPORT);
  const [missing, setMissing] = useState<string | null | undefined>(undefined);
  useEffect(() => void webGpuMissing().then(setMissing), []);
  const measure = () => {
    hear({ type: "starting" });
    // What is asked of this page, `?filter=gemm`, is asked of the worker.
    const worker = new Worker(new URL(`measure.js${location.search}`, document.baseURI), {
      type: "module",
    });
    worker.onmessage = ({ data }) => {
      hear(data);
      if (data.type === "done" || data.type === "failed") worker.terminate();
    };
    worker.onerror = ({ message }) => {
      hear({ type: "failed", message: message || "The worker could not be loaded." });
    };
  };
  return (
    <>
      <Top at="report.html" />
      <main id="main">
        <h1>What this GPU makes of the kernels</h1>
        <p>
          Every kernel is run, what it leaves is compared with numbers found in float64, and its
          time is set beside what this GPU can do at best. It takes about a minute, and nothing is
          sent anywhere: the report is a file, which others would like to have.
        </p>
        {missing === undefined
          ? <p class="quiet">Looking for a GPU …</p>
          : missing !== null
          ? <p class="notice" role="alert">{missing}</p>
          : <Measured state={state} measure={measure} />}
      </main>
    </>
  );
}

function Measured({ state, measure }: { state: ReportState; measure: () => void }) {
  const { phase, adapter, tasks, results, refused, file, name, failure } = state;
  const wrong = results.filter(({ error }) => !(error <= 1)).length;
  const done = results.length + refused.length;
  return (
    <>
      <div class="actions">
        {phase !== "measuring" && (
          <button type="button" class={file === null ? "primary" : undefined} onClick={measure}>
            {file === null ? "Measure this GPU" : "Measure again"}
          </button>
        )}
        {file !== null && (
          <button
            type="button"
            class="primary"
            onClick={() => saveFile(name, `${JSON.stringify(file, null, 2)}\n`, "application/json")}
          >
            Download the report
          </button>
        )}
      </div>
      {failure !== null && <p class="notice" role="alert">{failure}</p>}
      {phase === "measuring" && (
        <div>
          <p role="status">
            {adapter === "" ? "Opening the GPU …" : `${adapter}: ${done} of ${tasks}`}
          </p>
          <progress value={done} max={tasks || 1} aria-label="Kernels measured" />
        </div>
      )}
      {file !== null && (
        <p role="status">
          {adapter}: {wrong === 0
            ? `${
              refused.length === 0 ? "all " : ""
            }${results.length} of ${tasks} gave right numbers.`
            : `${wrong} of ${results.length} gave wrong numbers.`} At best it does{" "}
          {Math.round(file.rates.gflops)} GFLOP/s and copies {Math.round(file.rates.gbps)} GB/s.
        </p>
      )}
      {refused.map((one) => <p class="notice" key={one}>{one}</p>)}
      {results.length > 0 && <KernelTable results={results} comparison={null} />}
    </>
  );
}

const root = document.getElementById("page");
if (root === null) throw new Error("report.html has no element #page");
render(<Report />, root);
