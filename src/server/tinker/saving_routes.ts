/** What is kept of a client's models: to go on from, or to sample from. */

import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { exists } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import { newApi } from "../routes/api.ts";
import { count, post, type Tinker } from "./api.ts";
import { checkpointAddress } from "./checkpoints.ts";
import { numbering, takeNumbered } from "./numbered.ts";

const asksSaving = z.looseObject({
  ...numbering,
  path: z.string().nullish(),
  overwrite: z.boolean().nullish(),
  sampling_session_seq_id: count.nullish(),
});

/** The routes. */
export function savingRoutes(tinker: Tinker): OpenAPIHono {
  const api = newApi();
  const { checkpoints } = tinker;

  post(
    api,
    "save_weights",
    "Saves an adapter with what it takes to go on",
    asksSaving,
    (asked) =>
      takeNumbered(tinker, asked, asked, async ({ id, served: { model } }) => {
        const place = checkpoints.place(id, "weights", asked.path ?? "");
        if (exists(place.folder) && !asked.overwrite) {
          throw new UserError(
            `${checkpointAddress(place)} is there already; say overwrite, or take another name.`,
          );
        }
        const { folder } = place;
        await model.call<"save">({ kind: "save", adapter: id, folder, optimizer: true });
        return { json: { path: checkpointAddress(place), type: "save_weights" } };
      }),
  );

  post(
    api,
    "save_weights_for_sampler",
    "Keeps an adapter as it is, to sample from it",
    asksSaving,
    (asked) =>
      takeNumbered(tinker, asked, asked, async ({ id, served }, session) => {
        const save = (folder: string) =>
          served.model.call<"save">({ kind: "save", adapter: id, folder, optimizer: false });
        if (asked.path != null) {
          const place = checkpoints.place(id, "sampler_weights", asked.path);
          if (exists(place.folder)) {
            throw new UserError(`${checkpointAddress(place)} is there already; take another name.`);
          }
          await save(place.folder);
          return { json: { path: checkpointAddress(place), type: "save_weights_for_sampler" } };
        }
        const sampling = `${session.id}:sample:${
          asked.sampling_session_seq_id ?? `s${asked.seq_id}`
        }`;
        const folder = session.snapshotFolder();
        await save(folder);
        session.samplings.set(sampling, { id: sampling, served, adapter: folder, address: null });
        return { json: { sampling_session_id: sampling, type: "save_weights_for_sampler" } };
      }),
  );

  return api;
}
