/** Reads TensorBoard event files, as far as runs write them; knows nothing of the code that does. */

import assert from "node:assert/strict";

/** A decoded event; what it has not is left out. */
export interface DecodedEvent {
  readonly wallTime: number;
  readonly step: number;
  readonly version?: string;
  readonly isRestart?: boolean;
  /** By tag. */
  readonly scalars?: Readonly<Record<string, number>>;
}

/** All events of a file; the checksums are those of the tests of the records. */
export function eventsOf(path: string): DecodedEvent[] {
  const bytes = Deno.readFileSync(path);
  const view = new DataView(bytes.buffer);
  const events: DecodedEvent[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = Number(view.getBigUint64(at, true));
    assert.ok(at + 16 + length <= bytes.length, "the last record is whole");
    events.push(decodeEvent(bytes.subarray(at + 12, at + 12 + length)));
    at += 16 + length;
  }
  return events;
}

function decodeEvent(message: Uint8Array): DecodedEvent {
  const fields = fieldsOf(message);
  const [wallTime, step = 0, version, summary, session] = [1, 2, 3, 5, 7].map((field) =>
    fields.get(field)?.[0]
  );
  return {
    wallTime: viewOf(wallTime).getFloat64(0, true),
    step: step as number,
    ...(version === undefined ? {} : { version: textOf(version) }),
    ...(session === undefined ? {} : { isRestart: isStart(session) }),
    ...(summary === undefined ? {} : { scalars: scalarsOf(summary) }),
  };
}

const isStart = (session: FieldValue) => fieldsOf(session).get(1)?.[0] === 1;

function scalarsOf(summary: FieldValue): Record<string, number> {
  const values = fieldsOf(summary).get(1) ?? [];
  return Object.fromEntries(values.map((value) => {
    const fields = fieldsOf(value);
    return [textOf(fields.get(1)?.[0]), viewOf(fields.get(2)?.[0]).getFloat32(0, true)];
  }));
}

type FieldValue = number | Uint8Array;

/** The values of a message by field number: varints as numbers, everything else as bytes. */
function fieldsOf(message: FieldValue): Map<number, FieldValue[]> {
  const bytes = bytesOf(message);
  const fields = new Map<number, FieldValue[]>();
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let scale = 1;; scale *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  const take = (length: number) => bytes.subarray(at, at += length);
  while (at < bytes.length) {
    const key = varint();
    const wire = key & 7;
    const value = wire === 0 ? varint() : take(wire === 1 ? 8 : wire === 5 ? 4 : varint());
    fields.set(key >> 3, [...fields.get(key >> 3) ?? [], value]);
  }
  return fields;
}

function bytesOf(value: FieldValue | undefined): Uint8Array {
  assert.ok(value instanceof Uint8Array);
  return value;
}

function viewOf(value: FieldValue | undefined): DataView {
  const { buffer, byteOffset, byteLength } = bytesOf(value);
  return new DataView(buffer, byteOffset, byteLength);
}

const textOf = (value: FieldValue | undefined) => new TextDecoder().decode(bytesOf(value));
