import { useState } from "preact/hooks";
import { useLoaded } from "../live/use_loaded.ts";
import { usePolling } from "../live/use_polling.ts";
import type { Job } from "../../models/jobs.ts";

/** What the server was asked to do, as it goes on. */
export function useJobs(what: "exports" | "evaluations") {
  const [version, setVersion] = useState(0);
  const refresh = () => setVersion((number) => number + 1);
  const { answer, error } = useLoaded<{ jobs: Job[] }>(`/api/${what}`, version);
  const jobs = answer?.jobs ?? [];
  usePolling(jobs.some(({ state }) => state === "running"), refresh);
  return { jobs, error, refresh };
}
