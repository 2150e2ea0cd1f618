import { useEffect, useState } from "preact/hooks";
import { runPath } from "./api.ts";
import type { EventLine } from "../../../run/events/told_event.ts";

const KEPT = 500;
const TRY_AGAIN_MS = 3000;

/** Told so often that nobody reads them, and nothing is to be loaded again for them. */
const PHASES = ["phaseBegan", "phaseEnded"];

/**
 * What happens in a run, as it happens, but for the parts of its steps. The browser itself takes up a broken stream where it was; one that the
 * server refused is asked for again.
 *
 * @returns the newest ones, and the number of the last
 */
export function useEvents(id: string | null): { events: EventLine[]; last: number } {
  const [events, setEvents] = useState<EventLine[]>([]);
  useEffect(() => {
    setEvents([]);
    if (id === null) return;
    let source: EventSource | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waiting: EventLine[] = [];
    let frame: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      frame = undefined;
      const arrived = waiting;
      waiting = [];
      setEvents((known) => {
        const last = known.at(-1)?.number ?? 0;
        return [...known, ...arrived.filter(({ number }) => number > last)].slice(-KEPT);
      });
    };
    const close = () => {
      clearTimeout(timer);
      source?.close();
      source = null;
    };
    const open = () => {
      close();
      source = new EventSource(runPath(id, "events"));
      source.onmessage = ({ data }) => {
        const event: EventLine = JSON.parse(data);
        if (PHASES.includes(event.type)) return;
        waiting.push(event);
        frame ??= setTimeout(flush, 100);
      };
      source.onerror = () => {
        if (source?.readyState === EventSource.CLOSED) timer = setTimeout(open, TRY_AGAIN_MS);
      };
    };
    // A browser has six connections to a server, for all its tabs together: those not looked at hold none.
    const onVisibility = () => document.hidden ? close() : open();
    document.addEventListener("visibilitychange", onVisibility);
    onVisibility();
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      clearTimeout(frame);
      close();
    };
  }, [id]);
  return { events, last: events.at(-1)?.number ?? 0 };
}
