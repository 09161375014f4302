/** Which of the models that sherpa-onnx knows a set of files is: pure. Kinds and file names: its releases of `asr-models`. */

/** How its recognizer is told of a model: the name in `modelConfig`, and its files by the names there. */
export interface SpeechModel {
  kind: 'whisper' | 'transducer' | 'moonshine' | 'senseVoice' | 'paraformer' | 'nemoCtc' | 'zipformerCtc' | 'wenetCtc'
  files: Readonly<Record<string, string>>
  tokens: string
}

/** `model_type` in the metadata of a model of one file: sherpa-onnx's offline-recognizer-impl.cc, and its export scripts. */
const KINDS: Readonly<Record<string, SpeechModel['kind']>> = {
  EncDecCTCModelBPE: 'nemoCtc',
  EncDecCTCModel: 'nemoCtc',
  EncDecHybridRNNTCTCBPEModel: 'nemoCtc',
  zipformer2_ctc: 'zipformerCtc',
  wenet_ctc: 'wenetCtc',
  paraformer: 'paraformer',
  sense_voice_ctc: 'senseVoice',
}

/** Null: none that is known here. `typeOf`: `model_type` in the metadata of a file, or null. */
export async function speechModelIn(
  names: readonly string[],
  typeOf: (name: string) => Promise<string | null>,
): Promise<SpeechModel | null> {
  const tokens = names.find((name) => name.endsWith('tokens.txt'))
  if (tokens === undefined) return null
  const models = names.filter((name) => name.endsWith('.onnx'))
  /** The smaller one where there are two: a processor reads it faster, and hardly worse. */
  const pick = (like: RegExp): string | undefined => {
    const fit = models.filter((name) => like.test(name))
    return fit.find((name) => name.includes('int8')) ?? fit[0]
  }
  const moonshine = {
    preprocessor: pick(/^preprocess/),
    encoder: pick(/^encode/),
    uncachedDecoder: pick(/^uncached_decode/),
    cachedDecoder: pick(/^cached_decode/),
  }
  if (areThere(moonshine)) return { kind: 'moonshine', files: moonshine, tokens }
  const transducer = { encoder: pick(/encoder/), decoder: pick(/decoder/), joiner: pick(/joiner/) }
  if (areThere(transducer)) return { kind: 'transducer', files: transducer, tokens }
  const whisper = { encoder: pick(/encoder/), decoder: pick(/decoder/) }
  if (areThere(whisper)) {
    const type = await typeOf(whisper.encoder)
    return type?.startsWith('whisper') ? { kind: 'whisper', files: whisper, tokens } : null
  }
  const model = pick(/./)
  const kind = model === undefined ? undefined : KINDS[(await typeOf(model)) ?? '']
  return kind === undefined ? null : { kind, files: { model: model! }, tokens }
}

const areThere = <K extends string>(files: Record<K, string | undefined>): files is Record<K, string> =>
  Object.values(files).every((name) => name !== undefined)
