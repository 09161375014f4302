/** Opus in Ogg (RFC 3533, RFC 7845), written page by page without changing earlier pages. */
export class OggOpus {
  readonly #serial: number
  #page = 0
  /** Samples so far, always counted at 48 kHz in this format. */
  #granule = 0
  #packets: Uint8Array[] = []

  constructor(serial = 0x756b) {
    this.#serial = serial
  }

  head(sampleRate: number, comment: string): Buffer {
    const head = Buffer.alloc(19)
    head.write('OpusHead', 0, 'latin1')
    head[8] = 1
    head[9] = 1
    head.writeUInt16LE(PRE_SKIP, 10)
    head.writeUInt32LE(sampleRate, 12)
    const words = Buffer.from(comment)
    const tags = Buffer.concat([
      Buffer.from('OpusTags', 'latin1'),
      int(5),
      Buffer.from('ukiyo'),
      int(1),
      int(words.length),
      words,
    ])
    return Buffer.concat([this.#write([head], 0, FIRST), this.#write([tags], 0, 0)])
  }

  /**
   * Adds a packet of 20 ms and returns the previous page if it is full. The last page always has a packet, which some
   * readers require.
   */
  packet(packet: Uint8Array): Buffer | null {
    const full = this.#packets.length === PACKETS_PER_PAGE ? this.#flush(this.#granule, 0) : null
    this.#packets.push(packet)
    this.#granule += 960
    return full
  }

  /** The last page. `samples`: the total at 48 kHz; the rest of the last packet isn't played. */
  end(samples: number): Buffer {
    return this.#flush(Math.min(this.#granule, samples + PRE_SKIP), LAST)
  }

  #flush(granule: number, flags: number): Buffer {
    const page = this.#write(this.#packets, granule, flags)
    this.#packets = []
    return page
  }

  #write(packets: readonly Uint8Array[], granule: number, flags: number): Buffer {
    // A packet's length in steps of 255, the last one smaller.
    const lacing = packets.flatMap(({ length }) => [...Array<number>(Math.floor(length / 255)).fill(255), length % 255])
    const head = Buffer.alloc(27)
    head.write('OggS', 0, 'latin1')
    head[5] = flags
    head.writeBigInt64LE(BigInt(granule), 6)
    head.writeUInt32LE(this.#serial, 14)
    head.writeUInt32LE(this.#page++, 18)
    head[26] = lacing.length
    const page = Buffer.concat([head, Buffer.from(lacing), ...packets])
    page.writeUInt32LE(checksum(page), 22)
    return page
  }
}

/** Encoder delay in 48 kHz samples, which players skip. */
export const PRE_SKIP = 312
const PACKETS_PER_PAGE = 5
const [FIRST, LAST] = [2, 4]

const int = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

/** CRC-32 with polynomial 0x04c11db7, neither reflected nor inverted (RFC 3533, 6). */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24
  for (let i = 0; i < 8; i++) value = (value << 1) ^ (value < 0 ? 0x04c1_1db7 : 0)
  return value >>> 0
})
function checksum(bytes: Uint8Array): number {
  let value = 0
  for (const byte of bytes) value = ((value << 8) ^ TABLE[((value >>> 24) ^ byte) & 0xff]!) >>> 0
  return value
}
