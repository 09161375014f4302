/**
 * A minimal H.264 encoder (ITU-T H.264, 08/2024) for a still image with a moving bar: constrained baseline, changed
 * blocks as raw samples (I_PCM), others skipped (P_Skip). Written here because every packaged encoder has license or
 * installation requirements.
 */
import { setImmediate } from 'node:timers/promises'

const BLOCK = 16

export interface Frame {
  /** MP4 format: each unit after its 4-byte length. */
  data: Uint8Array
  type: 'key' | 'delta'
}

export interface Encoder {
  /** `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15, 5.3.3.1). */
  description: Uint8Array
  /** RFC 6381, such as `avc1.42C028`. */
  codec: string
  columns: number
  /** A full image: RGB bytes, line by line. */
  still(samples: Uint8Array): Promise<Frame>
  /** The previous image with white blocks in the lowest row from `from` up to `to`. */
  bar(from: number, to: number): Frame
}

/** Width and height are even, because chroma has half the samples in each direction. */
export function createEncoder(width: number, height: number): Encoder {
  const [columns, rows] = [Math.ceil(width / BLOCK), Math.ceil(height / BLOCK)]
  // Table A-1: level 4.0 allows 8,192 blocks per image, 5.1 allows 36,864.
  const level = columns * rows <= 8_192 ? 40 : 51
  const sps = unit(0x67, sequenceOf(width, height, level))
  const pps = unit(0x68, pictureSet())
  let frames = 0

  return {
    codec: `avc1.42C0${level.toString(16)}`,
    columns,
    description: Buffer.concat([
      Buffer.from([1, 66, 0xc0, level, 0xff, 0xe1, sps.length >> 8, sps.length & 0xff]),
      sps,
      Buffer.from([1, pps.length >> 8, pps.length & 0xff]),
      pps,
    ]),
    async still(samples) {
      const head = new Bits()
      sliceHead(head, { type: 7, frame: 0 })
      // idr_pic_id, no_output_of_prior_pics_flag, long_term_reference_flag, slice_qp_delta, disable_deblocking_filter_idc
      head.ue(0).put(0, 2).se(0).ue(1)
      const parts: Buffer[] = []
      for (let row = 0; row < rows; row++) {
        parts.push(rowOf(samples, width, height, row, row === 0 ? head : null))
        // Yields, because a large image takes some hundred milliseconds.
        if (row % 4 === 3) await setImmediate()
      }
      // rbsp_trailing_bits: the last block ends on a byte boundary.
      parts.push(Buffer.from([0x80]))
      frames = 1
      return { type: 'key', data: withLength(unit(0x65, Buffer.concat(parts))) }
    },
    bar(from, to) {
      const bits = new Bits()
      sliceHead(bits, { type: 5, frame: frames++ % 256 })
      // num_ref_idx_active_override_flag, ref_pic_list_modification_flag_l0, adaptive_ref_pic_marking_mode_flag
      bits.put(0, 3).se(0).ue(1)
      const before = (rows - 1) * columns + from
      bits.ue(to > from ? before : columns * rows)
      for (let block = from; block < to; block++) {
        // mb_type I_PCM in a P slice; the next block isn't skipped either.
        bits.ue(30).align().bytes(WHITE)
        if (block < to - 1) bits.ue(0)
      }
      if (to > from && to < columns) bits.ue(columns - to)
      return { type: 'delta', data: withLength(unit(0x61, bits.end())) }
    },
  }
}

/** Maximum luma, neutral chroma. */
const WHITE = Buffer.concat([Buffer.alloc(256, 235), Buffer.alloc(128, 128)])

/** 7.3.2.1.1 */
function sequenceOf(width: number, height: number, level: number): Buffer {
  const [columns, rows] = [Math.ceil(width / BLOCK), Math.ceil(height / BLOCK)]
  const bits = new Bits().put(66, 8).put(0xc0, 8).put(level, 8)
  // id, log2_max_frame_num_minus4, pic_order_cnt_type, max_num_ref_frames, gaps_in_frame_num_value_allowed_flag
  bits.ue(0).ue(4).ue(2).ue(1).put(0, 1)
  // frame_mbs_only_flag, direct_8x8_inference_flag
  bits
    .ue(columns - 1)
    .ue(rows - 1)
    .put(3, 2)
  const [right, bottom] = [(columns * BLOCK - width) / 2, (rows * BLOCK - height) / 2]
  if (right + bottom === 0) bits.put(0, 1)
  else bits.put(1, 1).ue(0).ue(right).ue(0).ue(bottom)
  // vui_parameters_present_flag
  return bits.put(0, 1).end()
}

/** 7.3.2.2: one slice group, one reference, deblocking per slice. */
const pictureSet = (): Buffer =>
  new Bits().ue(0).ue(0).put(0, 2).ue(0).ue(0).ue(0).put(0, 3).se(0).se(0).se(0).put(4, 3).end()

function sliceHead(bits: Bits, { type, frame }: { type: number; frame: number }): void {
  // first_mb_in_slice, slice_type, pic_parameter_set_id, frame_num
  bits.ue(0).ue(type).ue(0).put(frame, 8)
}

/** A row of blocks as raw samples in BT.601 YCbCr; the first row follows the slice header. */
function rowOf(samples: Uint8Array, width: number, height: number, row: number, head: Bits | null): Buffer {
  const columns = Math.ceil(width / BLOCK)
  // mb_type I_PCM has 9 bits, and samples start on a byte boundary.
  const lead = head === null ? Buffer.from([0x0d, 0x00]) : head.ue(25).align().whole()
  const size = 2 + 384
  const out = Buffer.alloc(lead.length + 384 + (columns - 1) * size)
  for (let column = 0; column < columns; column++) {
    const at = column === 0 ? 0 : lead.length + 384 + (column - 1) * size
    if (column === 0) lead.copy(out)
    else out.writeUInt16BE(0x0d00, at)
    block(samples, width, height, column, row, out, at + (column === 0 ? lead.length : 2))
  }
  return out
}

function block(
  samples: Uint8Array,
  width: number,
  height: number,
  column: number,
  row: number,
  out: Buffer,
  start: number,
): void {
  for (let y = 0; y < BLOCK; y++) {
    const line = Math.min(height - 1, row * BLOCK + y) * width
    for (let x = 0; x < BLOCK; x++) {
      const at = (line + Math.min(width - 1, column * BLOCK + x)) * 3
      const [r, g, b] = [samples[at]!, samples[at + 1]!, samples[at + 2]!]
      out[start + y * BLOCK + x] = 16 + ((66 * r + 129 * g + 25 * b + 128) >> 8)
      if ((x | y) & 1) continue
      const colour = start + 256 + (y / 2) * 8 + x / 2
      out[colour] = 128 + ((-38 * r - 74 * g + 112 * b + 128) >> 8)
      out[colour + 64] = 128 + ((112 * r - 94 * g - 18 * b + 128) >> 8)
    }
  }
}

/** A unit: header and payload with start-code emulation prevented (7.4.1). */
function unit(head: number, payload: Buffer): Buffer {
  const out = Buffer.alloc(1 + payload.length + Math.ceil(payload.length / 2))
  out[0] = head
  let [size, zeros] = [1, 0]
  for (const byte of payload) {
    if (zeros === 2 && byte <= 3) {
      out[size++] = 3
      zeros = 0
    }
    out[size++] = byte
    zeros = byte === 0 ? zeros + 1 : 0
  }
  return out.subarray(0, size)
}

function withLength(bytes: Buffer): Buffer {
  const head = Buffer.alloc(4)
  head.writeUInt32BE(bytes.length)
  return Buffer.concat([head, bytes])
}

class Bits {
  readonly #done: Buffer[] = []
  readonly #bytes: number[] = []
  #byte = 0
  #count = 0

  put(value: number, bits: number): this {
    for (let i = bits - 1; i >= 0; i--) {
      this.#byte = (this.#byte << 1) | ((value >> i) & 1)
      if (++this.#count === 8) {
        this.#bytes.push(this.#byte)
        this.#byte = this.#count = 0
      }
    }
    return this
  }

  /** Exponential Golomb (9.1). */
  ue(value: number): this {
    const length = 32 - Math.clz32(value + 1)
    return this.put(0, length - 1).put(value + 1, length)
  }

  se(value: number): this {
    return this.ue(value > 0 ? 2 * value - 1 : -2 * value)
  }

  align(): this {
    return this.#count === 0 ? this : this.put(0, 8 - this.#count)
  }

  bytes(more: Buffer): this {
    this.#done.push(Buffer.from(this.#bytes), more)
    this.#bytes.length = 0
    return this
  }

  whole(): Buffer {
    return Buffer.concat([...this.#done, Buffer.from(this.#bytes)])
  }

  /** Ends with rbsp_trailing_bits. */
  end(): Buffer {
    return this.put(1, 1).align().whole()
  }
}
