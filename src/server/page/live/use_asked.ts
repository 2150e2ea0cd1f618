import { useEffect, useState } from "preact/hooks";
import { asError, get } from "./api.ts";

interface Asked<Answer> {
  readonly answer: Answer | null;
  readonly error: Error | null;
}

const NOTHING = { answer: null, error: null };

/**
 * What the server answers at an address, asked for once: for what costs it much, where `useLoaded` would ask again by
 * itself.
 *
 * @param round another one asks again; the last answer stays until then
 */
export function useAsked<Answer>(path: string, round: unknown): Asked<Answer> {
  const [asked, setAsked] = useState<Asked<Answer> & { path: string }>({ path, ...NOTHING });
  useEffect(() => {
    const ending = new AbortController();
    const tell = (one: Asked<Answer>) => {
      if (!ending.signal.aborted) setAsked({ path, ...one });
    };
    get<Answer>(path, { signal: ending.signal }).then(
      (answer) => tell({ answer, error: null }),
      (error) => tell({ answer: null, error: asError(error) }),
    );
    return () => ending.abort();
  }, [path, round]);
  return asked.path === path ? asked : NOTHING;
}
