import type { Usage } from '#core/usage.ts'
import type { SoundFormat } from '../../../media/adapter.ts'

export const soundTypes: Readonly<Record<SoundFormat, string>> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  pcm: 'audio/pcm',
}

/** `settle` is called once all audio has arrived. */
export async function* soundEvents(
  bytes: AsyncIterable<Uint8Array>,
  settle: () => { usage: Usage } | null,
): AsyncGenerator<Uint8Array> {
  const event = (type: string, more: object) =>
    Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`)
  for await (const part of bytes)
    yield event('speech.audio.delta', {
      audio: Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('base64'),
    })
  const { input_tokens: input = 0, output_tokens: output = 0 } = settle()?.usage ?? {}
  yield event('speech.audio.done', {
    usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
  })
}
