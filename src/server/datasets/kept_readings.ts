import { join } from "node:path";
import { z } from "@hono/zod-openapi";
import { exists, writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { formats } from "../../data/files/formats.ts";
import { columnsSchema } from "../../run/config/data_schema.ts";

/** A mapping as a configuration has it. */
export const mappingSchema = z.object({
  format: z.string().nullable(),
  columns: columnsSchema.nullable().describe("Which columns hold what."),
});

/** How a data set is read. */
export type Mapping = z.infer<typeof mappingSchema>;

const keptSchema = z.record(z.string(), z.record(z.string(), mappingSchema));

/** How people have said that data sets are read, in a hidden file among them. */
export class KeptReadings {
  readonly #path: string;

  /** @param folder of the data sets */
  constructor(private readonly folder: string) {
    this.#path = join(folder, ".readings.json");
  }

  /**
   * How a file is read, or the whole of a data set; null: nobody has said.
   *
   * @param file null: all of them together, whose reading is that of each that has none of its own
   */
  of(name: string, file: string | null): Mapping | null {
    const kept = this.#all()[name] ?? {};
    const found = (file === null ? undefined : kept[file]) ?? kept[""];
    // Formats may go with a version.
    const isKnown = found?.format == null || formats.some((one) => one.name === found.format);
    return found !== undefined && isKnown ? found : null;
  }

  keep(name: string, file: string | null, mapping: Mapping): void {
    const all = this.#all();
    this.#write({ ...all, [name]: { ...all[name], [file ?? ""]: mapping } });
  }

  /** Forgets what is gone: a file, or the whole of a data set. */
  forget(name: string, file: string | null): void {
    const { [name]: kept, ...others } = this.#all();
    if (kept === undefined) return;
    if (file === null) return this.#write(others);
    const { [file]: _, ...rest } = kept;
    this.#write({ ...others, [name]: rest });
  }

  #write(all: z.infer<typeof keptSchema>): void {
    Deno.mkdirSync(this.folder, { recursive: true });
    writeFileAtomically(this.#path, `${JSON.stringify(all, null, 1)}\n`);
  }

  /** Nothing where the file is not as it was written: what was said can be said again. */
  #all(): z.infer<typeof keptSchema> {
    if (!exists(this.#path)) return {};
    try {
      return keptSchema.parse(JSON.parse(Deno.readTextFileSync(this.#path)));
    } catch (error) {
      console.error(`${this.#path} is left out: ${(error as Error).message}`);
      return {};
    }
  }
}
