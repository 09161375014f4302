/**
 * Detects which kind of sherpa-onnx model a set of files is. Kinds and file names: sherpa-onnx's `asr-models`
 * releases. Pure.
 */

/** A model as its recognizer expects it: the key in `modelConfig` and the files by their names there. */
export interface SpeechModel {
  kind: 'whisper' | 'transducer' | 'moonshine' | 'senseVoice' | 'paraformer' | 'nemoCtc' | 'zipformerCtc' | 'wenetCtc'
  files: Readonly<Record<string, string>>
  tokens: string
}

/**
 * `model_type` in the metadata of single-file models, from sherpa-onnx's offline-recognizer-impl.cc and export
 * scripts.
 */
const KINDS: Readonly<Record<string, SpeechModel['kind']>> = {
  EncDecCTCModelBPE: 'nemoCtc',
  EncDecCTCModel: 'nemoCtc',
  EncDecHybridRNNTCTCBPEModel: 'nemoCtc',
  zipformer2_ctc: 'zipformerCtc',
  wenet_ctc: 'wenetCtc',
  paraformer: 'paraformer',
  sense_voice_ctc: 'senseVoice',
}

/** Null: unknown. `typeOf`: reads `model_type` from a file's metadata. */
export async function speechModelIn(
  names: readonly string[],
  typeOf: (name: string) => Promise<string | null>,
): Promise<SpeechModel | null> {
  const tokens = names.find((name) => name.endsWith('tokens.txt'))
  if (tokens === undefined) return null
  const models = names.filter((name) => name.endsWith('.onnx'))
  /** Prefers the int8 version: a processor runs it faster and hardly less accurately. */
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
