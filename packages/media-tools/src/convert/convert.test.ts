// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { needs } from '#test/needs.ts'
import type { Pcm, SoundFormat } from '../facts.ts'
import { createMediaProbe } from '../probe/probe.ts'
import { findProgram } from '../programs.ts'
import { toneOf } from '../simulated/sound.ts'
import { createConverter } from './converter.ts'
import { Resampler, SampleReader } from './samples.ts'

const ffmpeg = await findProgram('ffmpeg')
const skipOptions = { ...needs(ffmpeg !== null, 'ffmpeg') }
const [account, sampleRate, seconds] = ['alice', 24_000, 2.5]

const tone = (rate = sampleRate): Pcm => ({
  sampleRate: rate,
  bytes: (async function* () {
    const parts: Uint8Array[] = []
    for await (const part of toneOf('a tone', seconds)) parts.push(part)
    const all = Buffer.concat(parts)
    for (let at = 0; at < all.length; at += 3_333) yield all.subarray(at, at + 3_333)
  })(),
})

async function converting(program: string | null = ffmpeg) {
  const folder = await mkdtemp(join(tmpdir(), 'uk-convert-'))
  const converter = createConverter({ folder, ffmpeg: program })
  const probe = createMediaProbe()
  return {
    converter,
    left: () => readdir(folder),
    async facts(bytes: Uint8Array) {
      const path = join(folder, 'made')
      await writeFile(path, bytes)
      const facts = await probe.facts(account, path)
      await rm(path)
      return facts
    },
    async [Symbol.asyncDispose]() {
      await converter[Symbol.asyncDispose]()
      await probe[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}

async function all(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = []
  for await (const part of bytes) parts.push(part)
  return parts
}
function power(pcm: Buffer): number {
  let sum = 0
  for (let at = 0; at + 1 < pcm.length; at += 2) sum += pcm.readInt16LE(at) ** 2
  return Math.sqrt(sum / (pcm.length / 2))
}

const cases: readonly [SoundFormat, string, string][] = [
  ['wav', 'audio/wav', 'wav'],
  ['mp3', 'audio/mpeg', 'mp3'],
  ['opus', 'audio/ogg', 'opus'],
]

for (const rate of [8_000, 16_000, 22_050, 24_000])
  test(`sound of ${rate} Hz becomes wav, mp3 and opus of the same length without any program`, async () => {
    await using at = await converting(null)
    const length = (seconds * sampleRate) / rate
    for (const [format, type, extension] of cases) {
      const bytes = Buffer.concat(await all(at.converter.fromPcm(tone(rate), format, { account })))
      const facts = await at.facts(bytes)
      assert.deepEqual([facts.kind, facts.type, facts.extension], ['audio', type, extension])
      assert.ok(Math.abs(facts.durationSeconds! - length) < 0.3, `${format}: ${facts.durationSeconds} s of ${length}`)
    }
    assert.deepEqual(await at.left(), [])
  })

test('encoded sound decodes to the same length and loudness without errors', skipOptions, async () => {
  await using at = await converting()
  const original = Buffer.concat(await all(tone().bytes))
  for (const format of at.converter.formats) {
    if (format === 'pcm') continue
    const bytes = Buffer.concat(await all(at.converter.fromPcm(tone(), format, { account, comment: 'Simulated' })))
    const pcm = execFileSync(
      ffmpeg!,
      ['-v', 'error', '-xerror', '-i', 'pipe:0', '-f', 's16le', '-ar', String(sampleRate), '-ac', '1', 'pipe:1'],
      { input: bytes },
    )
    const length = pcm.length / 2 / sampleRate
    assert.ok(Math.abs(length - seconds) < 0.15, `${format}: ${length} s`)
    assert.ok(Math.abs(power(pcm) / power(original) - 1) < 0.15, `${format}: ${power(pcm)} of ${power(original)}`)
    if (format === 'opus' || format === 'flac') assert.ok(bytes.includes('Simulated'), `${format} says what it is`)
  }
})

test('parts arrive while the sound is being made, and joined they are one file', async () => {
  await using at = await converting(null)
  for (const format of ['mp3', 'opus'] as const) {
    let [requestCount, first] = [0, null as number | null]
    const slow: Pcm = {
      sampleRate,
      bytes: (async function* () {
        for await (const part of toneOf('slow', 20)) {
          requestCount += 1
          yield part
        }
      })(),
    }
    const parts: Uint8Array[] = []
    for await (const part of at.converter.fromPcm(slow, format, { account })) {
      parts.push(part)
      if (parts.length === 2) first = requestCount
    }
    assert.ok(first! < 10, `${format}: after ${first} of ${requestCount} parts`)
    const { durationSeconds } = await at.facts(Buffer.concat(parts))
    assert.ok(Math.abs(durationSeconds! - 20) < 0.3, `${format}: ${durationSeconds}`)
    assert.equal(Buffer.concat(parts).toString('latin1').split('OpusHead').length - 1, format === 'opus' ? 1 : 0)
  }
})

test(
  'ffmpeg decodes other formats, a playlist can’t read local files, and non-audio is an error',
  skipOptions,
  async () => {
    await using at = await converting()
    const mp3 = await all(at.converter.fromPcm(tone(), 'mp3', { account }))
    const stream = (parts: Uint8Array[]) =>
      (async function* () {
        yield* parts
      })()
    const back = Buffer.concat(await all(at.converter.toPcm(stream(mp3), 16_000, { account }).bytes))
    assert.ok(Math.abs(back.length / 2 / 16_000 - seconds) < 0.15)
    const folder = await mkdtemp(join(tmpdir(), 'uk-secret-'))
    const secret = join(folder, 'secret.wav')
    await writeFile(secret, Buffer.concat(await all(at.converter.fromPcm(tone(), 'wav', { account }))))
    for (const words of [
      `#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:2.5,\nfile://${secret}\n#EXT-X-ENDLIST\n`,
      `ffconcat version 1.0\nfile '${secret}'\n`,
      'nothing that sounds',
    ])
      await assert.rejects(all(at.converter.toPcm(stream([Buffer.from(words)]), 16_000, { account }).bytes), {
        name: 'ProgramFailed',
      })
    await rm(folder, { recursive: true })
    assert.deepEqual(await at.left(), [])
  },
)

test('a conversion ends when its caller leaves, without leftovers', skipOptions, async () => {
  await using at = await converting()
  const endless = (): Pcm => ({
    sampleRate,
    bytes: (async function* () {
      for (;;) yield* toneOf('on and on', 10)
    })(),
  })
  for (const format of ['mp3', 'opus', 'flac', 'wav'] as const) {
    const leaving = new AbortController()
    const reading = all(at.converter.fromPcm(endless(), format, { account, signal: leaving.signal }))
    setTimeout(() => leaving.abort(new Error('left')), 100)
    await assert.rejects(reading, { message: 'left' }, format)
  }
  assert.deepEqual(await at.left(), [])
  const mp3 = Buffer.concat(await all(at.converter.fromPcm(tone(), 'mp3', { account })))
  assert.ok((await at.facts(mp3)).durationSeconds! > 2, 'the next is made')
})

test('an unavailable format says what to install', async () => {
  await using at = await converting(null)
  assert.deepEqual(at.converter.formats, ['pcm', 'wav', 'mp3', 'opus'])
  assert.throws(() => at.converter.fromPcm(tone(), 'aac', { account }), {
    name: 'FormatNotMade',
    message: /`ffmpeg` .* aac.*apt-get install ffmpeg/,
  })
  assert.throws(() => at.converter.toPcm(tone().bytes, 16_000, { account }), { name: 'FormatNotMade' })
})

test('samples are read completely from any parts and keep their shape at another rate', () => {
  const reader = new SampleReader()
  const bytes = Buffer.from([1, 0, 2, 0, 0xff, 0xff, 3, 0x80])
  const outputs = [
    bytes.subarray(0, 1),
    bytes.subarray(1, 1),
    bytes.subarray(1, 4),
    bytes.subarray(4, 7),
    bytes.subarray(7),
  ]
  assert.deepEqual(
    outputs.flatMap((part) => [...reader.read(part)]),
    [1, 2, -1, -32_765],
  )
  const wave = Int16Array.from({ length: 4_410 }, (_, i) => Math.sin(i / 20) * 10_000)
  for (const [from, to] of [
    [22_050, 24_000],
    [44_100, 16_000],
  ] as const) {
    const resampler = new Resampler(from, to)
    const out: number[] = []
    for (let at = 0; at < wave.length; at += 317) out.push(...resampler.read(wave.subarray(at, at + 317)))
    assert.ok(Math.abs(out.length - (wave.length * to) / from) <= 2, `${out.length}`)
    const off = Math.max(...out.map((sample, i) => Math.abs(sample - Math.sin((i * from) / to / 20) * 10_000)))
    assert.ok(off < 20, `${off}`)
  }
})
