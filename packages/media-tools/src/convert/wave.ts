import type { Pcm } from '../facts.ts'

/** The 44-byte header of a 16-bit mono WAV file (RIFF, Multimedia Programming Interface 1.0). */
export function waveHead(sampleRate: number, soundBytes: number): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(Math.min(0xffff_ffff, 36 + soundBytes), 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(sampleRate, 24)
  head.writeUInt32LE(sampleRate * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(Math.min(0xffff_ffff, soundBytes), 40)
  return head
}

/** The offset and rate (Hz) of a WAV file's samples, or null if the header is incomplete. Throws for other formats. */
export function readWaveHead(head: Buffer): { start: number; sampleRate: number } | null {
  if (head.length < 12) return null
  if (head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE')
    throw new Error('It is not a WAV file.')
  let sampleRate = 0
  for (let at = 12; at + 8 <= head.length;) {
    const name = head.toString('latin1', at, at + 4)
    const length = head.readUInt32LE(at + 4)
    if (name === 'data') return { start: at + 8, sampleRate }
    if (at + 8 + length > head.length) return null
    if (name === 'fmt ') {
      if (head.readUInt16LE(at + 10) !== 1 || head.readUInt16LE(at + 22) !== 16)
        throw new Error('It is not a WAV file of 16 bit mono.')
      sampleRate = head.readUInt32LE(at + 12)
    }
    at += 8 + length + (length % 2)
  }
  return null
}

export async function waveSamples(
  file: AsyncIterable<Uint8Array>,
): Promise<Pcm | { bytes: AsyncIterable<Uint8Array> }> {
  const parts = file[Symbol.asyncIterator]()
  let head: Buffer = Buffer.alloc(0)
  for (let next = await parts.next(); !next.done; next = await parts.next()) {
    head = Buffer.concat([head, next.value])
    try {
      const format = readWaveHead(head)
      if (format !== null) return { sampleRate: format.sampleRate, bytes: chain(head.subarray(format.start), parts) }
    } catch {
      break
    }
  }
  return { bytes: chain(head, parts) }
}

/** The part already read, then the rest. Stopping early also ends the rest, even if unread. */
export function chain(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> {
  let hasStarted = first.length === 0
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        if (hasStarted) return rest.next()
        hasStarted = true
        return { done: false, value: first }
      },
      async return() {
        await rest.return?.()
        return { done: true, value: undefined }
      },
    }),
  }
}
