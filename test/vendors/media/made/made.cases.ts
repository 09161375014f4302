import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fileTypeFromBuffer } from 'file-type'
import sharp from 'sharp'
import { picture } from './picture.ts'
import { secondsOf, sound, soundIn, type SoundFormat } from './sound.ts'
import { srt, transcriptOf, vtt, wordsOf } from './transcript.ts'
import { video } from './video.ts'

describe('files that the loopback vendors make', () => {
  test('images of the requested size and format, transparent on request', async () => {
    for (const format of ['png', 'jpeg', 'webp'] as const) {
      const { bytes, type } = await picture('160x96', { format, words: format })
      const { width, height, format: actualFormat } = await sharp(bytes).metadata()
      assert.deepEqual([width, height, actualFormat, type], [160, 96, format, `image/${format}`])
    }
    const clear = await sharp((await picture('16x16', { transparent: true })).bytes).stats()
    assert.equal(clear.isOpaque, false)
    const [one, other] = await Promise.all(['a', 'b'].map(async (words) => (await picture('8x8', { words })).bytes))
    assert.notDeepEqual(one, other)
    assert.deepEqual(one, (await picture('8x8', { words: 'a' })).bytes)
  })

  test('audio whose first bytes show its format, with the requested length', async () => {
    const kinds: [SoundFormat, string][] = [
      ['wav', 'audio/wav'],
      ['mp3', 'audio/mpeg'],
      ['opus', 'audio/ogg; codecs=opus'],
      ['aac', 'audio/aac'],
      ['flac', 'audio/flac'],
    ]
    for (const [format, mime] of kinds) {
      assert.equal((await fileTypeFromBuffer(sound(2.5, format).bytes))?.mime, mime, format)
    }
    assert.equal(secondsOf(sound(2.5, 'wav').bytes), 2.5)
    assert.ok(Math.abs(secondsOf(sound(2.5, 'mp3').bytes) - 2.5) < 0.02)
    assert.equal(sound(2.5, 'pcm', 16_000).bytes.length, 80_000)
    assert.equal(soundIn(Buffer.from('<html>')), undefined)
  })

  test('video with its index at the end, so that half of it has none', async () => {
    const { bytes, type } = video('1280x720', 4)
    assert.equal(type, 'video/mp4')
    assert.equal((await fileTypeFromBuffer(bytes))?.mime, 'video/mp4')
    assert.deepEqual(boxes(bytes), ['ftyp', 'mdat', 'moov'])
    const header = bytes.indexOf('mvhd')
    assert.equal(bytes.readUInt32BE(header + 20) / bytes.readUInt32BE(header + 16), 4)
    const track = bytes.indexOf('tkhd')
    assert.deepEqual(
      [80, 84].map((at) => bytes.readUInt32BE(track + at) / 0x1_0000),
      [1280, 720],
    )
    assert.ok(!bytes.subarray(0, bytes.length >> 1).includes('moov'))
  })

  test('a transcript spread over the audio, sentence by sentence', () => {
    const transcript = transcriptOf(sound(4, 'wav').bytes, { text: 'One two. Three four!' })
    assert.deepEqual(
      transcript.segments.map(({ start, end, text, speaker }) => [start, end, text, speaker]),
      [
        [0, 2, 'One two.', 'A'],
        [2, 4, 'Three four!', 'B'],
      ],
    )
    assert.deepEqual(wordsOf(transcript).at(-1), { word: 'four!', start: 3, end: 4 })
    assert.match(srt(transcript), /^1\n00:00:00,000 --> 00:00:02,000\nOne two\.\n\n2\n/)
    assert.match(vtt(transcript), /^WEBVTT\n\n00:00:00\.000 --> 00:00:02\.000\nOne two\.\n/)
  })
})

function boxes(bytes: Buffer): string[] {
  const foundLines: string[] = []
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at))
    foundLines.push(bytes.toString('latin1', at + 4, at + 8))
  return foundLines
}
