/**
 * A model of speech that is small enough to be made by a test: of each moment of sound it writes `low` where deep tones are
 * loudest, `high` where high ones are, and nothing where it is quiet. ONNX by onnx.proto, in the shape of NeMo's CTC models
 * as sherpa-onnx reads them (`model_type` EncDecCTCModelBPE).
 */
import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'

const BANDS = 80
const FLOAT = 1
const INT64 = 7
const LIST_OF_INTS = 7
/** Sound that is less loud than this, as a mean of the logarithms of its bands, is quiet. */
const QUIET = -14

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest])
    bytes.push((rest % 128) | 128)
  }
}

const field = (number: number, value: number | string | Buffer): Buffer => {
  if (typeof value === 'number') return Buffer.concat([varint(number * 8), varint(value)])
  const bytes = Buffer.from(value)
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes])
}
const message = (...fields: Buffer[]): Buffer => Buffer.concat(fields)

const value = (name: string, type: number, dimensions: readonly (number | string)[]): Buffer => {
  const shape = dimensions.map((each) => field(1, field(typeof each === 'number' ? 1 : 2, each)))
  return message(field(1, name), field(2, field(1, message(field(1, type), field(2, message(...shape))))))
}

const tensor = (name: string, dimensions: readonly number[], floats: readonly number[]): Buffer =>
  message(
    ...dimensions.map((each) => field(1, each)),
    field(2, FLOAT),
    field(8, name),
    field(9, Buffer.from(Float32Array.from(floats).buffer)),
  )

const node = (type: string, inputs: readonly string[], output: string, ...attributes: Buffer[]): Buffer =>
  message(
    ...inputs.map((name) => field(1, name)),
    field(2, output),
    field(3, output),
    field(4, type),
    ...attributes.map((each) => field(5, each)),
  )

function modelOf(): Buffer {
  const weights = Array.from({ length: BANDS }, (_, band) =>
    band < BANDS / 2 ? [2 / BANDS, 0, 0] : [0, 2 / BANDS, 0],
  ).flat()
  const turned = message(field(1, 'perm'), ...[0, 2, 1].map((each) => field(8, each)), field(20, LIST_OF_INTS))
  const graph = message(
    field(1, node('Transpose', ['audio_signal'], 'moments', turned)),
    field(1, node('MatMul', ['moments', 'weights'], 'loudness')),
    field(1, node('Add', ['loudness', 'quiet'], 'logprobs')),
    field(2, 'tiny'),
    field(5, tensor('weights', [BANDS, 3], weights)),
    field(5, tensor('quiet', [3], [0, 0, QUIET])),
    field(11, value('audio_signal', FLOAT, ['N', BANDS, 'T'])),
    field(11, value('length', INT64, ['N'])),
    field(12, value('logprobs', FLOAT, ['N', 'T', 3])),
  )
  const facts = { vocab_size: '3', subsampling_factor: '1', normalize_type: '', model_type: 'EncDecCTCModelBPE' }
  return message(
    field(1, 8),
    field(8, field(2, 13)),
    field(7, graph),
    ...Object.entries(facts).map(([name, said]) => field(14, message(field(1, name), field(2, said)))),
  )
}

/** As it is released: a folder with the model, its tokens, and a recording to try it with; `.tar.gz`. */
export async function tinySpeechArchive(
  files: Record<string, Buffer | string> = {},
): Promise<{ bytes: Buffer; sha256: string }> {
  const archive = pack()
  const all = {
    'model.int8.onnx': modelOf(),
    'tokens.txt': '▁low 0\n▁high 1\n<blk> 2\n',
    'test_wavs/0.wav': toneWave([300]),
    ...files,
  }
  for (const [name, bytes] of Object.entries(all)) archive.entry({ name: `sherpa-tiny/${name}` }, bytes)
  archive.finalize()
  const bytes = gzipSync(await buffer(archive))
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') }
}

/** WAV, 16 bit, mono: half a second of each tone, in Hz; 0 is silence. */
export function toneWave(tones: readonly number[], sampleRate = 16_000): Buffer {
  const each = sampleRate / 2
  const samples = Buffer.alloc(tones.length * each * 2)
  for (const [place, hertz] of tones.entries()) {
    for (let i = 0; i < each; i++) {
      const loudness = hertz === 0 ? 0 : Math.sin((2 * Math.PI * hertz * i) / sampleRate)
      samples.writeInt16LE(Math.round(loudness * 16_000), (place * each + i) * 2)
    }
  }
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  for (const [at, number] of [
    [16, 16],
    [24, sampleRate],
    [28, sampleRate * 2],
  ] as const)
    head.writeUInt32LE(number, at)
  for (const [at, number] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    head.writeUInt16LE(number, at)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}
