import { parentPort } from 'node:worker_threads'
import { OggOpus } from './ogg.ts'
import { Resampler, SampleReader } from './samples.ts'

export type EncodeRequest = { call: number; sound: number } & (
  | { do: 'open'; format: 'mp3' | 'opus'; sampleRate: number; comment: string }
  | { do: 'encode'; pcm: Uint8Array }
  | { do: 'end' }
  | { do: 'drop' }
)
export type EncodeAnswer = { call: number } & ({ bytes: Uint8Array } | { error: string })

interface Encoding {
  head(): Uint8Array
  encode(samples: Int16Array): Uint8Array
  end(): Uint8Array
}

const sounds = new Map<number, { reader: SampleReader; encoding: Encoding }>()
const NOTHING = new Uint8Array()

// Sequential: a part must not overtake its sound's start.
let line = Promise.resolve()
parentPort!.on('message', (request: EncodeRequest) => {
  line = line.then(async () => {
    const answer: EncodeAnswer = await encodeSound(request).then(
      // Copied, because a view would transfer its whole buffer.
      (bytes) => ({ call: request.call, bytes: new Uint8Array(bytes) }),
      (error: unknown) => ({ call: request.call, error: error instanceof Error ? error.message : String(error) }),
    )
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    parentPort!.postMessage(answer)
  })
})

async function encodeSound(request: EncodeRequest): Promise<Uint8Array> {
  if (request.do === 'drop') {
    sounds.delete(request.sound)
    return NOTHING
  }
  if (request.do === 'open') {
    const { format, sampleRate, comment } = request
    const encoding = await (format === 'mp3' ? mp3(sampleRate) : opus(sampleRate, comment))
    sounds.set(request.sound, { reader: new SampleReader(), encoding })
    return encoding.head()
  }
  const { reader, encoding } = sounds.get(request.sound)!
  if (request.do === 'encode') return encoding.encode(reader.read(request.pcm))
  sounds.delete(request.sound)
  return encoding.end()
}

/** Sample rates of MPEG 1, 2, and 2.5 layer III (ISO/IEC 11172-3, 13818-3). */
const MP3_RATES = [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000] as const

/** Constant 64 or 96 kbit/s without a header: frames can be concatenated, and the size gives the length. */
async function mp3(rate: number): Promise<Encoding> {
  const { createMp3Encoder } = await import('wasm-media-encoders')
  const encoder = await createMp3Encoder()
  const sampleRate = MP3_RATES.find((candidate) => candidate >= rate) ?? 48_000
  const resampler = new Resampler(rate, sampleRate)
  encoder.configure({ channels: 1, sampleRate, outputSampleRate: sampleRate, bitrate: sampleRate > 24_000 ? 96 : 64 })
  return {
    head: () => NOTHING,
    encode: (samples) => encoder.encode([Float32Array.from(resampler.read(samples), (sample) => sample / 32_768)]),
    end: () => encoder.finalize(),
  }
}

/** Opus input sample rates (RFC 6716, 2). */
const OPUS_RATES = [8_000, 12_000, 16_000, 24_000, 48_000] as const

async function opus(rate: number, comment: string): Promise<Encoding> {
  const { Encoder } = await import('@evan/opus')
  const sampleRate = OPUS_RATES.find((candidate) => candidate >= rate) ?? 48_000
  const resampler = new Resampler(rate, sampleRate)
  const encoder = new Encoder({ channels: 1, sample_rate: sampleRate, application: 'audio' })
  encoder.bitrate = 32_000
  const ogg = new OggOpus()
  const frame = sampleRate / 50
  let [rest, total] = [new Int16Array(), 0]

  function packets(samples: Int16Array): Buffer[] {
    const pages: Buffer[] = []
    for (let at = 0; at + frame <= samples.length; at += frame) {
      const page = ogg.packet(encoder.encode(samples.slice(at, at + frame)))
      if (page !== null) pages.push(page)
    }
    rest = samples.slice(Math.floor(samples.length / frame) * frame)
    return pages
  }

  return {
    head: () => ogg.head(rate, comment),
    encode(samples) {
      const more = resampler.read(samples)
      total += more.length
      return Buffer.concat(packets(concat(rest, more)))
    },
    end() {
      // Silence flushes the encoder's last samples.
      const pages = packets(concat(rest, new Int16Array(frame * 2 - rest.length)))
      return Buffer.concat([...pages, ogg.end(Math.round((total / sampleRate) * 48_000))])
    },
  }
}

function concat(one: Int16Array, other: Int16Array): Int16Array<ArrayBuffer> {
  const both = new Int16Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}
