import { EncodedPacketSink, type InputAudioTrack } from 'mediabunny'

/** Bytes per second of low-rate speech. Files with more per declared second are measured. */
const PLAIN_BYTES = 8_000
/** Tolerance for the measured length, because containers trim the ends of recordings. */
const [TIMES, SECONDS] = [1.25, 1]

/**
 * A recording's length in seconds: as declared by the container or, if that is far too short, as measured from its
 * packets. Container times are arbitrary, but decoders play every packet.
 */
export async function soundLength(track: InputAudioTrack, declaredSeconds: number, sizeBytes: number): Promise<number> {
  if (sizeBytes <= declaredSeconds * PLAIN_BYTES) return declaredSeconds
  const codec = await track.getCodec()
  const secondsOf = packetLength(codec, await track.getSampleRate())
  if (secondsOf === null) return declaredSeconds
  let seconds = 0
  // Only Opus packets state their length.
  const packets = new EncodedPacketSink(track).packets(undefined, undefined, { metadataOnly: codec !== 'opus' })
  for await (const { data } of packets) seconds += secondsOf(data)
  return seconds > declaredSeconds * TIMES + SECONDS ? Math.round(seconds * 1_000) / 1_000 : declaredSeconds
}

function packetLength(codec: string | null, sampleRate: number): ((packet: Uint8Array) => number) | null {
  switch (codec) {
    // 1,024 samples, or 960 (ISO/IEC 14496-3, 4.5.2).
    case 'aac':
      return () => 960 / sampleRate
    // MPEG 1 has twice as many (ISO/IEC 11172-3, 13818-3).
    case 'mp3':
      return () => (sampleRate >= 32_000 ? 1_152 : 576) / sampleRate
    case 'opus':
      return opusSeconds
    default:
      return null
  }
}

/** Frame count and length: RFC 6716, 3.1 and 3.2. */
function opusSeconds(packet: Uint8Array): number {
  const [toc = 0, frames = 0] = packet
  const config = toc >> 3
  const ms =
    config < 12 ? [10, 20, 40, 60][config & 3]! : config < 16 ? [10, 20][config & 1]! : [2.5, 5, 10, 20][config & 3]!
  const code = toc & 3
  return (ms * (code === 0 ? 1 : code < 3 ? 2 : frames & 63)) / 1_000
}
