import { useState } from "preact/hooks";
import { eventWords } from "./event_words.ts";
import type { EventLine } from "../../../run/events/told_event.ts";

/** What happened, newest first. */
export function EventLog({ events }: { events: readonly EventLine[] }) {
  const [withSteps, setWithSteps] = useState(false);
  const shown = events.filter(({ type }) => withSteps || type !== "step").reverse();
  return (
    <section aria-label="Events">
      <label class="tools">
        <input type="checkbox" checked={withSteps} onChange={() => setWithSteps(!withSteps)} />with
        every step
      </label>
      {shown.length === 0 && <p class="quiet">Nothing has happened yet.</p>}
      <ol class="events">
        {shown.map((event) => (
          <li key={event.number} class={`event ${event.type}`}>
            <time class="quiet" dateTime={event.time}>{new Date(event.time).toLocaleString()}</time>
            {"step" in event && <span class="quiet">step {event.step}</span>}
            <span class="words">{eventWords(event)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
