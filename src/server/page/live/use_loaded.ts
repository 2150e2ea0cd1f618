import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "./api.ts";
import { keepLoaded, type Loading } from "./keep_loaded.ts";

interface Loaded<Answer> {
  readonly answer: Answer | null;
  readonly error: Error | null;
}

const PACE = { everyMs: 1500, retryMs: 4000 };

/**
 * What the server answers at an address, loaded again when `version` changes. The last answer stays while the
 * next one is on its way, and when the server is gone.
 *
 * @param path null: nothing
 * @param subject what the answer is about: as long as it is the same, the answer of another
 * address stays until the new one is there
 */
export function useLoaded<Answer>(
  path: string | null,
  version?: unknown,
  subject: string | null = path,
): Loaded<Answer> {
  return useKept(path, (signal) => get(path ?? "", { signal }), version, subject);
}

/** The same at several addresses, in their order. */
export function useAllLoaded<Answer>(
  paths: readonly string[],
  version: unknown,
  subject: string,
): Loaded<Answer[]> {
  const load = (signal: AbortSignal) =>
    Promise.all(paths.map((path) => get<Answer>(path, { signal })));
  return useKept(paths.length === 0 ? null : paths.join(" "), load, version, subject);
}

/** @param key of what is loaded; null: nothing */
function useKept<Answer>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<Answer>,
  version: unknown,
  subject: string | null,
): Loaded<Answer> {
  const [loaded, setLoaded] = useState<Loaded<Answer> & { subject: string | null }>(
    { subject, answer: null, error: null },
  );
  const loading = useRef<Loading | null>(null);
  const lastVersion = useRef(version);
  useEffect(() => {
    if (key === null) return;
    lastVersion.current = version;
    const one = keepLoaded(
      load,
      (answer) => setLoaded({ subject, answer, error: null }),
      (error) =>
        setLoaded((last) => {
          const answer = last.subject === subject ? last.answer : null;
          return { subject, answer, error };
        }),
      PACE,
    );
    loading.current = one;
    return () => {
      one.end();
      loading.current = null;
    };
  }, [key, subject]);
  useEffect(() => {
    if (lastVersion.current !== version) loading.current?.refresh();
    lastVersion.current = version;
  }, [version]);
  return loaded.subject === subject ? loaded : { answer: null, error: null };
}
