/**
 * Records of a TensorBoard event file: TFRecords, each with an `Event` message of protocol buffers.
 * Fields and numbers are those of TensorFlow's record_writer.cc, event.proto and summary.proto.
 */

import { crc32c } from "../../base/crc32c.ts";

/** When an event was. */
export interface EventTime {
  /** Seconds since 1970. */
  readonly wallTime: number;
  /** The global step. */
  readonly step: number;
}

/** The record that every event file begins with. */
export function fileVersionRecord(wallTime: number): Uint8Array<ArrayBuffer> {
  return record([...double(1, wallTime), ...bytesField(3, UTF8.encode("brain.Event:2"))]);
}

/** Says that logging begins anew with `step`: what earlier files have of it and of later steps holds no more. */
export function restartRecord({ wallTime, step }: EventTime): Uint8Array<ArrayBuffer> {
  const sessionLog = [...tag(1, VARINT), 1]; // its status is START
  return record([...double(1, wallTime), ...wholeNumber(2, step), ...bytesField(7, sessionLog)]);
}

/** Values by name; TensorBoard keeps them in 32 bits. */
export function scalarsRecord(
  { wallTime, step }: EventTime,
  scalars: Iterable<readonly [name: string, value: number]>,
): Uint8Array<ArrayBuffer> {
  const values = [...scalars].flatMap(([name, value]) =>
    bytesField(1, [...bytesField(1, UTF8.encode(name)), ...float(2, value)])
  );
  return record([...double(1, wallTime), ...wholeNumber(2, step), ...bytesField(5, values)]);
}

/** Length in 8 bytes, its checksum, the message, its checksum; least significant byte first. */
function record(message: readonly number[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(message.length + 16);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(message.length), true);
  view.setUint32(8, maskedChecksum(bytes.subarray(0, 8)), true);
  bytes.set(message, 12);
  const end = 12 + message.length;
  view.setUint32(end, maskedChecksum(bytes.subarray(12, end)), true);
  return bytes;
}

/** So that the checksum of data which holds checksums stays a good one. */
function maskedChecksum(bytes: Uint8Array): number {
  const checksum = crc32c(bytes);
  return (((checksum >>> 15) | (checksum << 17)) + 0xa282ead8) >>> 0;
}

const UTF8 = new TextEncoder();

/** How a field's value is written. */
const VARINT = 0, EIGHT_BYTES = 1, LENGTH_AND_BYTES = 2, FOUR_BYTES = 5;

const tag = (field: number, wire: number) => [(field << 3) | wire];

function wholeNumber(field: number, value: number): number[] {
  return [...tag(field, VARINT), ...varint(value)];
}

/** Seven bits in each byte, the least first; the top bit says that more follow. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return [...bytes, rest];
}

function bytesField(field: number, bytes: ArrayLike<number> & Iterable<number>): number[] {
  return [...tag(field, LENGTH_AND_BYTES), ...varint(bytes.length), ...bytes];
}

function double(field: number, value: number): number[] {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value, true);
  return [...tag(field, EIGHT_BYTES), ...bytes];
}

function float(field: number, value: number): number[] {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setFloat32(0, value, true);
  return [...tag(field, FOUR_BYTES), ...bytes];
}
