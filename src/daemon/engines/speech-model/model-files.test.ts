import assert from 'node:assert/strict'
import { test } from 'node:test'
import { speechModelIn } from './model-files.ts'

/** The files of sherpa-onnx's releases, by what their metadata says. */
const released: [names: string[], type: string | null, kind: string | null, files: string[]][] = [
  [
    [
      'tiny.en-encoder.onnx',
      'tiny.en-encoder.int8.onnx',
      'tiny.en-decoder.onnx',
      'tiny.en-decoder.int8.onnx',
      'tiny.en-tokens.txt',
    ],
    'whisper-tiny.en',
    'whisper',
    ['tiny.en-encoder.int8.onnx', 'tiny.en-decoder.int8.onnx'],
  ],
  [
    ['encoder.int8.onnx', 'decoder.int8.onnx', 'joiner.int8.onnx', 'tokens.txt'],
    'EncDecRNNTBPEModel',
    'transducer',
    ['encoder.int8.onnx', 'decoder.int8.onnx', 'joiner.int8.onnx'],
  ],
  [
    ['preprocess.onnx', 'encode.int8.onnx', 'uncached_decode.int8.onnx', 'cached_decode.int8.onnx', 'tokens.txt'],
    null,
    'moonshine',
    ['preprocess.onnx', 'encode.int8.onnx', 'uncached_decode.int8.onnx', 'cached_decode.int8.onnx'],
  ],
  [['model.int8.onnx', 'model.onnx', 'tokens.txt'], 'sense_voice_ctc', 'senseVoice', ['model.int8.onnx']],
  [['model.onnx', 'tokens.txt'], 'EncDecCTCModelBPE', 'nemoCtc', ['model.onnx']],
  [['encoder.onnx', 'decoder.onnx', 'tokens.txt'], 'EncDecMultiTaskModel', null, []],
  [['model.onnx', 'tokens.txt'], 'something_new', null, []],
  [['model.onnx'], 'sense_voice_ctc', null, []],
]

for (const [names, type, kind, files] of released)
  test(`${names.join(', ')} of the type ${type} ${kind === null ? 'is not known' : `is ${kind}`}`, async () => {
    const model = await speechModelIn(names, async () => type)
    assert.equal(model?.kind ?? null, kind)
    assert.deepEqual(Object.values(model?.files ?? {}), files)
  })
