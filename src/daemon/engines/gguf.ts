/**
 * Reads and validates the header of a GGUF file before an engine loads it, since engines crash on invalid files.
 * Format: ggml's docs/gguf.md, versions 2 and 3.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { refuse } from '#core/errors.ts'

export interface GgufHead {
  architecture: string
  name: string | null
  context_length: number | null
  quantization: string | null
  chat: boolean
}

const MAX_HEAD = 256 * 1024 * 1024
const MAX_KEYS = 100_000
const MAX_TENSORS = 1_000_000

/** Sizes of scalar kinds 0–7 and 10–12: u8 i8 u16 i16 u32 i32 f32 bool … u64 i64 f64. */
const SIZE: Record<number, number> = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 }
const STRING = 8
const ARRAY = 9

/** `[values per block, bytes per block]` by ggml type number, from ggml.c. Null: unknown type. */
const BLOCK: Record<number, readonly [number, number]> = {
  0: [1, 4],
  1: [1, 2],
  2: [32, 18],
  3: [32, 20],
  6: [32, 22],
  7: [32, 24],
  8: [32, 34],
  10: [256, 84],
  11: [256, 110],
  12: [256, 144],
  13: [256, 176],
  14: [256, 210],
  24: [1, 1],
  25: [1, 2],
  26: [1, 4],
  27: [1, 8],
  28: [1, 8],
  30: [1, 2],
}

/** `general.file_type` of llama.cpp's llama.h. */
const FILE_TYPE: Record<number, string> = {
  0: 'F32',
  1: 'F16',
  2: 'Q4_0',
  3: 'Q4_1',
  7: 'Q8_0',
  8: 'Q5_0',
  9: 'Q5_1',
  10: 'Q2_K',
  11: 'Q3_K_S',
  12: 'Q3_K_M',
  13: 'Q3_K_L',
  14: 'Q4_K_S',
  15: 'Q4_K_M',
  16: 'Q5_K_S',
  17: 'Q5_K_M',
  18: 'Q6_K',
  32: 'BF16',
}

/** Throws 400 `invalid_parameter` if the file isn't GGUF or its tensors extend past its end. */
export async function readGguf(path: string): Promise<GgufHead> {
  await using file = await open(path, 'r')
  const size = (await file.stat()).size
  const reader = new Reader(file, size)
  if ((await reader.bytes(4)).toString('latin1') !== 'GGUF') refuseBroken('it doesn’t start with `GGUF`')
  const version = (await reader.bytes(4)).readUInt32LE()
  if (version !== 2 && version !== 3) refuseBroken(`its version is ${version}, and only versions 2 and 3 are supported`)
  const tensors = await reader.count()
  const keys = await reader.count()
  if (tensors > MAX_TENSORS || keys > MAX_KEYS) refuseBroken('its header declares too many entries')
  const metadata = new Map<string, string | number | boolean>()
  for (let n = 0; n < keys; n++) {
    const key = await reader.string()
    const value = await reader.value((await reader.bytes(4)).readUInt32LE())
    if (value !== null) metadata.set(key, value)
  }
  let end = 0
  for (let n = 0; n < tensors; n++) end = Math.max(end, await reader.tensorEnd())
  const alignment = Number(metadata.get('general.alignment') ?? 32)
  if (!(alignment > 0 && alignment <= 1 << 20)) refuseBroken('its alignment is invalid')
  const data = Math.ceil(reader.at / alignment) * alignment
  if (data + end > size)
    refuseBroken(`it has ${size} bytes, but its tensors need ${data + end}. The file is incomplete`)
  const architecture = metadata.get('general.architecture')
  if (typeof architecture !== 'string' || tensors === 0) refuseBroken('it contains no model')
  const number = (key: string): number | null =>
    typeof metadata.get(key) === 'number' ? (metadata.get(key) as number) : null
  const name = metadata.get('general.name')
  return {
    architecture,
    name: typeof name === 'string' ? name : null,
    context_length: number(`${architecture}.context_length`),
    quantization: FILE_TYPE[number('general.file_type') ?? -1] ?? null,
    chat: metadata.has('tokenizer.chat_template'),
  }
}

function refuseBroken(why: string): never {
  return refuse('invalid_parameter', { param: 'source', message: `This model file can’t be loaded: ${why}.` })
}

class Reader {
  readonly #file: FileHandle
  readonly #size: number
  #piece = Buffer.alloc(0)
  #from = 0
  at = 0

  constructor(file: FileHandle, size: number) {
    this.#file = file
    this.#size = size
  }

  async bytes(length: number): Promise<Buffer> {
    if (this.at + length > Math.min(this.#size, MAX_HEAD)) refuseBroken('its header extends past the end of the file')
    if (this.at + length > this.#from + this.#piece.length) {
      const piece = Buffer.allocUnsafe(Math.max(length, 1 << 20))
      const { bytesRead } = await this.#file.read(piece, 0, piece.length, this.at)
      if (bytesRead < length) refuseBroken('it was truncated while it was being read')
      this.#piece = piece.subarray(0, bytesRead)
      this.#from = this.at
    }
    const start = this.at - this.#from
    this.at += length
    return this.#piece.subarray(start, start + length)
  }

  skip(length: number): void {
    if (this.at + length > Math.min(this.#size, MAX_HEAD)) refuseBroken('its header extends past the end of the file')
    this.at += length
    if (this.at > this.#from + this.#piece.length) this.#piece = this.#piece.subarray(0, 0)
    if (this.#piece.length === 0) this.#from = this.at
  }

  async count(): Promise<number> {
    const value = (await this.bytes(8)).readBigUInt64LE()
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) refuseBroken('a number in its header is out of range')
    return Number(value)
  }

  async string(): Promise<string> {
    return (await this.bytes(await this.count())).toString()
  }

  /** Null for arrays, which are skipped. */
  async value(kind: number): Promise<string | number | boolean | null> {
    if (kind === STRING) return this.string()
    if (kind === ARRAY) return this.#array()
    const size = SIZE[kind] ?? refuseBroken(`a header value has the unknown type ${kind}`)
    const bytes = await this.bytes(size)
    if (kind === 7) return bytes[0] !== 0
    if (kind === 6) return bytes.readFloatLE()
    if (kind === 12) return bytes.readDoubleLE()
    if (size === 8) return Number(bytes.readBigUInt64LE())
    return bytes.readUIntLE(0, size)
  }

  async #array(): Promise<null> {
    const kind = (await this.bytes(4)).readUInt32LE()
    const items = await this.count()
    if (kind === ARRAY) refuseBroken('its header contains a nested list')
    if (kind !== STRING) {
      this.skip(items * (SIZE[kind] ?? refuseBroken(`a header value has the unknown type ${kind}`)))
      return null
    }
    for (let n = 0; n < items; n++) this.skip(await this.count())
    return null
  }

  async tensorEnd(): Promise<number> {
    await this.string()
    const dimensions = (await this.bytes(4)).readUInt32LE()
    if (dimensions > 8) refuseBroken('a tensor has too many dimensions')
    let values = 1
    for (let n = 0; n < dimensions; n++) values *= await this.count()
    const type = (await this.bytes(4)).readUInt32LE()
    const offset = await this.count()
    const block = BLOCK[type]
    // For an unknown type, checks only that the tensor starts within the file.
    return offset + (block ? Math.ceil(values / block[0]) * block[1] : 0)
  }
}
