import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '#test/needs.ts'
import { until } from '#test/until.ts'
import { findProgram } from '../programs.ts'
import { createEspeak, readVoices } from './espeak.ts'
import { createFlite, plain } from './flite.ts'
import { piecesOf } from './pieces.ts'
import type { SpeakOptions } from './voice.ts'

const program = await findProgram('espeak-ng')
const optionsOf = (more: Partial<SpeakOptions> = {}): SpeakOptions => ({
  voice: null,
  language: null,
  speed: 1,
  account: 'alice',
  ...more,
})

async function collect(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of bytes) parts.push(part)
  return Buffer.concat(parts)
}
const isLoud = (pcm: Buffer): boolean => new Set(new Int16Array(pcm.buffer, pcm.byteOffset, pcm.length >> 1)).size > 500

test('text is split into pieces at natural pauses, the first one short, without losing anything', () => {
  const text =
    'This first sentence is long enough that nobody would want to wait until all of it is spoken, is it not? Yes. No. ' +
    'Dr. Smith paid 3.50 for it.\n\nA new paragraph. ' +
    'word '.repeat(200)
  const pieces = piecesOf(text)
  assert.ok(pieces[0]!.length <= 60, pieces[0])
  assert.ok(pieces.every(({ length }) => length > 0 && length <= 240))
  assert.equal(pieces.join(' ').replaceAll(/\s+/g, ' '), text.trim().replaceAll(/\s+/g, ' '))
  assert.ok(
    pieces.some((piece) => piece.includes('Yes. No.')),
    'short sentences share a piece',
  )
  assert.deepEqual(piecesOf('   '), [])
  const unbroken = piecesOf('🎺'.repeat(300))
  assert.equal(unbroken.join(''), '🎺'.repeat(300))
  assert.ok(unbroken.every((piece) => piece.isWellFormed()))
  assert.equal(plain('Café “naïve” — 東京'), 'Cafe "naive"  -    ')
})

test('flite speaks with each voice, also words without spaces and at higher speed', async () => {
  await using flite = createFlite()
  for (const { name } of flite.voices) {
    const { sampleRate, bytes } = await flite.speak('Hello.', optionsOf({ voice: name }))
    const pcm = await collect(bytes)
    assert.equal(sampleRate, name === 'kal' ? 8_000 : 16_000)
    assert.ok(pcm.length / 2 / sampleRate > 0.3 && isLoud(pcm), name)
  }
  const text = 'She sells sea shells by the sea shore.'
  const [plainly, fast] = await Promise.all(
    [1, 2].map(async (speed) => collect((await flite.speak(text, optionsOf({ speed }))).bytes)),
  )
  const ratio = plainly!.length / fast!.length
  assert.ok(ratio > 1.7 && ratio < 2.3, `${ratio}`)
  assert.deepEqual(await collect((await flite.speak(text, optionsOf())).bytes), plainly, 'the same twice')
  await assert.rejects(flite.speak(text, optionsOf({ voice: 'alloy' })), { name: 'NoSuchVoice', param: 'voice' })
  await assert.rejects(flite.speak(text, optionsOf({ language: 'fr' })), { name: 'NoSuchVoice', param: 'language' })
  assert.ok(isLoud(await collect((await flite.speak(text, optionsOf({ language: 'en-GB' }))).bytes)))
  for (const unread of ['東京', '— … !'])
    await assert.rejects(flite.speak(unread, optionsOf()), { name: 'NoSuchVoice', param: 'input' })
})

test('one account’s book doesn’t delay another’s word, and speech stops for a departed caller', async () => {
  await using flite = createFlite()
  const leaving = new AbortController()
  const book = 'It was a dark and stormy night, and the rain fell in torrents upon the roofs of the town. '.repeat(200)
  const hers = await flite.speak(book, optionsOf({ signal: leaving.signal }))
  let parts = 0
  const reading = (async () => {
    for await (const _ of hers.bytes) parts++
  })()
  const bob = await collect((await flite.speak('Hello.', optionsOf({ account: 'bob' }))).bytes)
  assert.ok(isLoud(bob))
  assert.ok(parts < 6, `${parts} pieces of hers came before`)
  leaving.abort(new Error('alice left'))
  await assert.rejects(reading, { message: 'alice left' })
  assert.ok(isLoud(await collect((await flite.speak('Once more.', optionsOf())).bytes)))
})

test('espeak-ng’s voice table is parsed: English first, BCP 47 tags, no duplicates', () => {
  const table = [
    'Pty Language       Age/Gender VoiceName          File                 Other Languages',
    ' 5  af              --/M      Afrikaans          gmw/af',
    ' 5  cmn             --/M      Chinese_(Mandarin,_latin_as_English) sit/cmn  (zh-cmn 5)(zh 5)',
    ' 2  en-gb           --/F      English_(Great_Britain) gmw/en        (en 2)',
    ' 5  en-gb-x-rp      --/M      English_(Received_Pronunciation) gmw/en-GB-x-rp (en-gb 4)(en 5)',
    ' 5  en-us-nyc       --/M      English_(America,_New_York_City) gmw/en-US-nyc',
    ' 2  en-us           --/M      English_(America)  gmw/en-US            (en 3)',
    ' 2  en-us           --/M      English_(America)  gmw/en-US            (en 3)',
    '',
  ].join('\n')
  assert.deepEqual(
    readVoices(table).map(({ name, languages, gender }) => [name, languages[0], gender]),
    [
      ['en-us', 'en-US', 'male'],
      ['en-gb', 'en-GB', 'female'],
      ['af', 'af', 'male'],
      ['cmn', 'zh', 'male'],
      ['en-gb-x-rp', 'en-GB-x-rp', 'male'],
      ['en-us-nyc', 'en-US', 'male'],
    ],
  )
})

test(
  'espeak-ng speaks many languages, never gets text as an argument, and ends when its caller leaves',
  {
    ...needs(program !== null, 'espeak-ng'),
  },
  async () => {
    using espeak = createEspeak(program!)
    assert.ok((await espeak.voices()).length > 80)
    for (const [language, text] of [
      ['de', 'Guten Tag, wie geht es?'],
      ['fr', 'Bonjour tout le monde'],
      ['en-GB', '--version; `id` $(id) "quoted"'],
    ] as const) {
      const { sampleRate, bytes } = await espeak.speak(text, optionsOf({ language }))
      const pcm = await collect(bytes)
      assert.ok(sampleRate === 22_050 && isLoud(pcm) && pcm.length / 2 / sampleRate < 30, language)
    }
    await assert.rejects(espeak.speak('x', optionsOf({ voice: '../../etc/passwd' })), { name: 'NoSuchVoice' })
    // More than pipes hold, so its processes wait for the reader.
    const leaving = new AbortController()
    const long = 'The quick brown fox jumps over the lazy dog. '.repeat(2_000)
    const sounds = await Promise.all([1, 2].map(() => espeak.speak(long, optionsOf({ signal: leaving.signal }))))
    let isSpoken = false
    const third = espeak.speak('Hello.', optionsOf()).then(async ({ bytes }) => {
      isSpoken = isLoud(await collect(bytes))
    })
    const bob = await collect((await espeak.speak('Hello.', optionsOf({ account: 'bob' }))).bytes)
    assert.ok(isLoud(bob) && !isSpoken, 'two of alice are spoken at a time; bob does not wait for them')
    assert.equal(sounds.length, 2)
    leaving.abort(new Error('left'))
    await third
    await until(
      async () => isSpoken,
      (isDone) => isDone,
    )
  },
)
