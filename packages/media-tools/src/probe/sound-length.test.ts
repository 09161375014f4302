import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { BufferTarget, EncodedAudioPacketSource, EncodedPacket, Output, WebMOutputFormat } from 'mediabunny'
import { waveHead } from '../convert/wave.ts'
import { createMediaProbe } from './probe.ts'

/** WebM with 20 ms Opus packets that start this many seconds apart. */
async function webm(packets: number, apart: number): Promise<Buffer> {
  const target = new BufferTarget()
  const output = new Output({ format: new WebMOutputFormat(), target })
  const source = new EncodedAudioPacketSource('opus')
  output.addAudioTrack(source)
  await output.start()
  const silence = Buffer.concat([Buffer.from([0xf8, 0xff, 0xfe]), Buffer.alloc(197)])
  for (let at = 0; at < packets; at++)
    await source.add(new EncodedPacket(silence, 'key', at * apart, apart), {
      decoderConfig: { codec: 'opus', sampleRate: 48_000, numberOfChannels: 1 },
    })
  await output.finalize()
  return Buffer.from(target.buffer!)
}

test('sound longer than declared has the length of its packets, and a WAV file with extra data is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sound-length-'))
  await using probe = createMediaProbe()
  const facts = async (bytes: Buffer) => {
    const path = join(folder, 'sound')
    await writeFile(path, bytes)
    return probe.facts('alice', path)
  }
  try {
    // The start of the last packet.
    assert.equal((await facts(await webm(500, 0.02))).durationSeconds, 9.98)
    assert.equal((await facts(await webm(500, 0.001))).durationSeconds, 10)
    const samples = Buffer.alloc(480_000)
    const head = waveHead(24_000, samples.length)
    assert.equal((await facts(Buffer.concat([head, samples]))).durationSeconds, 10)
    const liar = Buffer.concat([head, samples])
    liar.writeUInt32LE(100, 40)
    await assert.rejects(facts(liar), /Its header declares 100 bytes of audio, but 479900 more follow/)
  } finally {
    await rm(folder, { recursive: true })
  }
})
