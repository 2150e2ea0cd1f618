/** What happens in a run, as it happens. */

import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi";
import { MOST_WATCHERS, tooMany } from "../http/limits.ts";
import { problems } from "../http/problem.ts";
import { numberBeforeLast, phaseSpans } from "../index/read_events.ts";
import { EventMessages } from "../index/event_messages.ts";
import type { RunList } from "../runs/run_list.ts";
import { json, MOST_STEPS, newApi, numberParameter, requireRun, runParameter } from "./api.ts";

/** Events that a watcher without Last-Event-ID is told first. */
const FIRST_EVENTS = 1000;
/** A comment after so long, so that a broken connection is noticed. */
const HEARTBEAT_MS = 15_000;

const events = createRoute({
  method: "get",
  path: "/api/runs/{id}/events",
  summary: "Events as they happen (server-sent), after Last-Event-ID or the last thousand",
  request: {
    params: runParameter,
    headers: z.object({
      "last-event-id": z.string().regex(/^\d{1,15}$/).optional().describe(
        "The last event's number.",
      ),
    }),
  },
  responses: {
    200: {
      description: "Each message is a line of events.jsonl, its id the event's number.",
      content: { "text/event-stream": { schema: z.string() } },
    },
    ...problems(404, 422, 429),
  },
});

const stepNumber = numberParameter(0, MOST_STEPS).optional();

const timeline = createRoute({
  method: "get",
  path: "/api/runs/{id}/timeline",
  summary: "When the run was in which phase",
  request: { params: runParameter, query: z.object({ from: stepNumber, to: stepNumber }) },
  responses: {
    200: json(
      "Spans in seconds since the run began; of several ranks the first one's.",
      z.object({
        ranks: z.array(z.object({
          rank: z.int(),
          name: z.string(),
          spans: z.array(
            z.object({ name: z.string(), step: z.int(), begin: z.number(), end: z.number() }),
          ),
        })),
      }),
    ),
    ...problems(404, 422, 429),
  },
});

/** Routes of events. */
export function eventsRoutes(runs: RunList): OpenAPIHono {
  const api = newApi();
  const messages = new EventMessages(runs.index.database);
  let watchers = 0;
  api.openapi(events, (context) => {
    const { name, indexed } = requireRun(runs, context.req.valid("param").id);
    if (watchers >= MOST_WATCHERS) return tooMany("event streams") as never;
    const { database } = runs.index;
    const last = context.req.valid("header")["last-event-id"];
    const after = last === undefined
      ? numberBeforeLast(database, indexed.id, FIRST_EVENTS)
      : Number(last);
    watchers++;
    const stream = followEvents(runs, messages, name, after, () => void watchers--);
    return context.body(stream, 200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
    });
  });
  api.openapi(timeline, (context) => {
    const { indexed } = requireRun(runs, context.req.valid("param").id);
    const { from = 0, to = MOST_STEPS } = context.req.valid("query");
    const spans = phaseSpans(runs.index.database, indexed.id, from, to);
    return context.json({ ranks: [{ rank: 0, name: "rank 0", spans }] }, 200);
  });
  return api;
}

/** A stream that ends when the run is deleted, or who reads it goes away. */
function followEvents(
  runs: RunList,
  messages: EventMessages,
  name: string,
  after: number,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  const ending = new AbortController();
  const encoder = new TextEncoder();
  let last = after;
  ending.signal.addEventListener("abort", onEnd, { once: true });
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(": here\n\n"));
    },
    async pull(controller) {
      const run = runs.find(name);
      if (run === null) {
        ending.abort();
        return controller.close();
      }
      const found = messages.after(run.indexed.id, last);
      if (found === null) {
        await runs.feed.next(name, HEARTBEAT_MS, ending.signal);
        // A comment: whoever is gone is noticed by it.
        if (!ending.signal.aborted) controller.enqueue(encoder.encode(":\n\n"));
        return;
      }
      last = found.last;
      controller.enqueue(found.bytes.slice());
    },
    cancel() {
      ending.abort();
    },
  });
}
