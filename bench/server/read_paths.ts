import type { Arm } from "./arms.ts";
import type { ManyRows } from "./many_rows.ts";

/** What is asked for next, by kind. Of curves no two are the same. */
export function readPaths(
  many: string,
  trained: string,
  { lastStep, names }: ManyRows,
): Record<Arm["what"], () => string> {
  const whole = (count: number) => Math.floor(Math.random() * count);
  let turn = 0;
  const ofPage = [
    "/api/runs",
    `/api/runs/${trained}/metric-names`,
    `/api/runs/${trained}/metrics?points=600&names=${encodeURIComponent(names.join(","))}`,
  ];
  return {
    health: () => "/healthz",
    page: () => ofPage[turn++ % ofPage.length],
    curves() {
      const first = whole(names.length);
      const asked = Array.from(
        { length: 1 + whole(4) },
        (_, place) => names[(first + place) % names.length],
      );
      const from = whole(lastStep / 2);
      const query = new URLSearchParams({
        names: asked.join(","),
        points: String(100 + whole(900)),
        from: String(from),
        to: String(from + 1000 + whole(lastStep - from)),
      });
      return `/api/runs/${many}/metrics?${query}`;
    },
  };
}
