/**
 * Reads `metadata_props` of an ONNX file without loading it. Format: ONNX's onnx.proto, `ModelProto` field 14, of
 * `StringStringEntryProto` (key 1, value 2), encoded as Protocol Buffers.
 */
import { type FileHandle, open } from 'node:fs/promises'

const METADATA = 14
const MAX_ENTRY = 1 << 20
const MAX_ENTRIES = 1_000
const DELIMITED = 2

/** Empty if the file isn't ONNX or has no metadata. */
export async function onnxMetadata(path: string): Promise<Map<string, string>> {
  await using file = await open(path, 'r')
  const { size } = await file.stat()
  const metadata = new Map<string, string>()
  for (let at = 0, entries = 0; at < size && entries < MAX_ENTRIES; entries++) {
    const head = await readBytes(file, at, 20)
    const tag = varint(head, 0)
    const length = tag && (tag.value & 7) === DELIMITED ? varint(head, tag.next) : null
    if (tag === null) return metadata
    if (length === null) {
      const end = afterScalar(head, tag)
      if (end === null) return metadata
      at += end
      continue
    }
    const start = at + length.next
    if (tag.value >> 3 === METADATA && length.value <= MAX_ENTRY) {
      const entry = strings(await readBytes(file, start, length.value))
      if (entry.has(1)) metadata.set(entry.get(1)!, entry.get(2) ?? '')
    }
    at = start + length.value
  }
  return metadata
}

async function readBytes(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
  return buffer.subarray(0, bytesRead)
}

/** A varint and the offset after it. Null if incomplete or larger than any valid length. */
function varint(bytes: Buffer, at: number): { value: number; next: number } | null {
  let value = 0
  for (let n = 0; n < 7; n++) {
    const byte = bytes[at + n]
    if (byte === undefined) return null
    value += (byte & 127) * 2 ** (7 * n)
    if (byte < 128) return { value, next: at + n + 1 }
  }
  return null
}

function afterScalar(head: Buffer, { value, next }: { value: number; next: number }): number | null {
  const type = value & 7
  if (type === 1) return next + 8
  if (type === 5) return next + 4
  if (type !== 0) return null
  // Up to ten bytes; only the last is below 128.
  const end = head.subarray(next, next + 10).findIndex((byte) => byte < 128)
  return end < 0 ? null : next + end + 1
}

function strings(bytes: Buffer): Map<number, string> {
  const fields = new Map<number, string>()
  for (let at = 0; at < bytes.length;) {
    const tag = varint(bytes, at)
    const length = tag && (tag.value & 7) === DELIMITED ? varint(bytes, tag.next) : null
    if (tag === null || length === null) break
    fields.set(tag.value >> 3, bytes.subarray(length.next, length.next + length.value).toString())
    at = length.next + length.value
  }
  return fields
}
