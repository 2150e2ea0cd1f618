import { mostExperts } from "../decoder/config.ts";
import { GGMLQuantizationType, gguf } from "@huggingface/gguf";
import { type OpenFile, SeekMode } from "../../platform/system/files.ts";
import { joinBytes } from "../../base/join_bytes.ts";
import { UserError } from "../../base/user_error.ts";
import { isStoredType, storedBytes, storedTypes } from "../../kernels/parts/stored_type.ts";
import { openForReading, readExactly } from "./file_reading.ts";
import { familyOfGguf } from "./config/families.ts";
import { headsInHeader } from "./gguf_delta.ts";
import {
  areTaps,
  ggufTensorName,
  hasOneAdded,
  isInterleaved,
  isNegatedPower,
  isSharedGate,
  layerInGguf,
  stackedNames,
} from "./gguf_names.ts";
import { type DeltaHeads, type HeadsPlace, headsPlace, stretchesInFile } from "./value_heads.ts";
import type { StoredTensor, WeightFile } from "./weight_file.ts";

/** Values of a GGUF header by key; numbers of 64 bits are bigint. */
export type GgufMetadata = Readonly<Record<string, unknown>>;

/** A GGUF file: its header, and its tensors under their Hugging Face names. */
export interface GgufFile extends WeightFile {
  readonly metadata: GgufMetadata;
}

interface Place {
  readonly name: string;
  readonly tensor: StoredTensor;
  /** First byte in the file. */
  readonly begin: number;
  /** End in the file, exclusive. */
  readonly end: number;
  /** The value heads of a DeltaNet, where its rows lie in another order than the model's; a row's bytes. */
  readonly heads?: { readonly place: HeadsPlace; readonly rowBytes: number };
}

function damaged(path: string, what: string): UserError {
  return new UserError(
    `${path} is not a sound GGUF file: ${what}. Copy or download the file again.`,
  );
}

/**
 * Opens a GGUF file and checks its header: every type readable, every tensor inside the file, none on
 * another.
 *
 * @throws UserError when the file is missing, damaged, or holds a type that cannot be read
 */
export async function openGguf(path: string): Promise<GgufFile> {
  const file = openForReading(path);
  try {
    const size = file.statSync().size;
    const { tensorInfos, tensorDataOffset, littleEndian, ...rest } = await readHeader(path, file);
    const metadata: GgufMetadata = { ...rest.metadata };
    if (!littleEndian) throw new UserError(`${path} is a big-endian file; expected little-endian`);
    const architecture = String(metadata["general.architecture"]);
    const value = (key: string) => metadata[`${architecture}.${key}`];
    const header = {
      ...{ path, size, architecture, headDim: headDimOf(metadata, architecture) },
      delta: headsInHeader(value),
    };
    const layers = layersOf(architecture, value);
    const places = tensorInfos.flatMap(({ name, shape, dtype, offset }): Place[] => {
      if ((layerInGguf(name) ?? -1) >= layers) return [];
      const begin = Number(tensorDataOffset) + Number(offset);
      const place = placeTensor(header, name, shape.map(Number), dtype, begin);
      return expertPlaces(place, stackedNames(architecture, name));
    });
    checkOverlap(path, places);
    const byName = new Map(places.map((place) => [place.name, place]));
    return {
      path,
      metadata,
      tensors: new Map(places.map(({ name, tensor }) => [name, tensor])),
      read(name, begin, bytes) {
        const place = byName.get(name);
        if (!place) throw new Error(`${path} has no tensor ${name}`);
        const readAt = (first: number, count: number) => {
          file.seekSync(place.begin + first, SeekMode.Start);
          return readExactly(file, count, path);
        };
        if (!place.heads) return readAt(begin, bytes);
        const { place: heads, rowBytes } = place.heads;
        return joinBytes(
          Array.from(
            stretchesInFile(heads, rowBytes, begin, bytes),
            (one) => readAt(one.begin, one.size),
          ),
        );
      },
      [Symbol.dispose]: () => file.close(),
    };
  } catch (error) {
    file.close();
    throw error;
  }
}

async function readHeader(path: string, file: OpenFile) {
  try {
    return await gguf("https://file.invalid/", { fetch: rangesOf(path, file) });
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw damaged(path, cause instanceof Error ? cause.message : String(cause));
  }
}

/** A file as the web server that the library asks for ranges of it: by itself it opens files in node alone. */
function rangesOf(path: string, file: OpenFile): typeof fetch {
  return (_address, request) => {
    const range = /^bytes=(\d+)-(\d+)$/.exec(new Headers(request?.headers).get("range") ?? "");
    if (!range) throw new Error("the reader of GGUF files asked for no range of bytes");
    const [begin, last] = range.slice(1).map(Number);
    const { size } = file.statSync();
    file.seekSync(begin, SeekMode.Start);
    const bytes = readExactly(file, Math.max(0, Math.min(last + 1, size) - begin), path);
    const headers = { "content-range": `bytes ${begin}-${last}/${size}` };
    return Promise.resolve(new Response(bytes, { headers }));
  };
}

/** D by the header, or 0 when it does not say; the configuration then names what is missing. */
function headDimOf(metadata: GgufMetadata, architecture: string): number {
  const key = (name: string) => Number(metadata[`${architecture}.${name}`]);
  const own = key("attention.key_length");
  const derived = key("embedding_length") / key("attention.head_count");
  const dim = Number.isNaN(own) ? derived : own;
  return Number.isInteger(dim) && dim > 0 ? dim : 0;
}

/** The layers of the model itself: those behind them, which guess the token after the next one, are left where they are. */
function layersOf(architecture: string, value: (key: string) => unknown): number {
  const guessing = familyOfGguf(architecture)?.gguf.hasDelta
    ? Number(value("nextn_predict_layers") ?? 0)
    : 0;
  return guessing > 0 ? Number(value("block_count")) - guessing : Infinity;
}

/**
 * The shape by which Hugging Face knows it: taps of a convolution, [C, L] in the file, are [C, 1, L], and what a shared expert
 * counts by, [C], is [1, C].
 */
function shapeOf(
  architecture: string,
  name: string,
  shape: readonly number[],
): readonly number[] {
  const family = familyOfGguf(architecture);
  if (family && shape.length === 1 && isSharedGate(family.architecture, name)) {
    return [1, shape[0]];
  }
  return areTaps(name) && shape.length === 2 ? [shape[0], 1, shape[1]] : shape;
}

/** What a file is to its tensors. */
interface Header {
  readonly path: string;
  /** Bytes of the file. */
  readonly size: number;
  readonly architecture: string;
  readonly headDim: number;
  readonly delta: DeltaHeads | null;
}

function placeTensor(
  { path, size, architecture, headDim, delta }: Header,
  ggufName: string,
  dimensions: readonly number[],
  dtype: number,
  begin: number,
): Place {
  const type = GGMLQuantizationType[dtype] ?? `number ${dtype}`;
  if (!isStoredType(type)) {
    throw new UserError(
      `${path}: tensor "${ggufName}" has type ${type}; readable are ${
        Object.keys(storedTypes).join(", ")
      }. Download another quantisation of the model.`,
    );
  }
  const elements = dimensions.reduce((product, n) => product * n, 1);
  const row = dimensions[0] ?? 0;
  if (!(elements > 0 && Number.isSafeInteger(elements)) || row % storedTypes[type].elements !== 0) {
    throw damaged(path, `tensor "${ggufName}" has the impossible shape [${dimensions}]`);
  }
  const end = begin + storedBytes(type, elements);
  if (!(begin >= 0 && end <= size)) {
    throw damaged(
      path,
      `tensor "${ggufName}" ends at byte ${end} of a file of ${size} bytes (was the copy cut short?)`,
    );
  }
  const name = ggufTensorName(architecture, ggufName);
  const shape = shapeOf(architecture, name, dimensions.toReversed());
  const heads = placeOfHeads(delta, name, shape);
  return {
    name,
    tensor: {
      type,
      shape,
      interleavedHead: isInterleaved(architecture, ggufName) ? headDim : 0,
      hasOneAdded: hasOneAdded(architecture, name),
      isNegatedPower: isNegatedPower(name),
      ...(heads?.axis === "columns" ? { columnHeads: heads } : {}),
      file: path,
    },
    begin,
    end,
    ...(heads?.axis === "rows"
      ? { heads: { place: heads, rowBytes: (end - begin) / shape[0] } }
      : {}),
  };
}

/** Where the value heads lie of a tensor that has as many rows or columns as the header says; the others are refused later. */
function placeOfHeads(
  delta: DeltaHeads | null,
  name: string,
  shape: readonly number[],
): HeadsPlace | null {
  const place = headsPlace(delta, name);
  if (!place) return null;
  const { keyHeads, perKey, first, each, axis } = place;
  return shape[axis === "rows" ? 0 : 1] === first + keyHeads * perKey * each ? place : null;
}

/** The matrices of experts that lie one after the other in a tensor [E, rows, columns]; other tensors stay as they are. */
function expertPlaces(place: Place, names: ((expert: number) => string) | null): Place[] {
  const { shape: [count, ...shape], ...tensor } = place.tensor;
  if (!names || shape.length !== 2 || count > mostExperts) return [place];
  const bytes = (place.end - place.begin) / count;
  return Array.from({ length: count }, (_, expert) => {
    const begin = place.begin + expert * bytes;
    return { name: names(expert), tensor: { ...tensor, shape }, begin, end: begin + bytes };
  });
}

function checkOverlap(path: string, places: readonly Place[]): void {
  const names = new Set<string>();
  let previous: Place | null = null;
  for (const place of places.toSorted((a, b) => a.begin - b.begin)) {
    if (previous && place.begin < previous.end) {
      throw damaged(path, `tensors "${previous.name}" and "${place.name}" overlap`);
    }
    if (names.has(place.name)) throw damaged(path, `tensor "${place.name}" appears twice`);
    names.add(place.name);
    previous = place;
  }
}
