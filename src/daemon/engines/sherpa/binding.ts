/**
 * The part of `sherpa-onnx-node` 1.13.8 that is used, which is installed on the computer by itself: see its own types
 * for the rest.
 */
export interface Binding {
  OfflineRecognizer: { createAsync(config: RecognizerConfig): Promise<Recognizer> }
}

export interface RecognizerConfig {
  featConfig: { sampleRate: number; featureDim: number }
  modelConfig: {
    tokens: string
    numThreads: number
    provider: 'cpu'
    debug: 0
  } & Readonly<Record<string, unknown>>
}

export interface Recognizer {
  createStream(): RecognizerStream
  decodeAsync(stream: RecognizerStream): Promise<Recognized>
}

export interface RecognizerStream {
  acceptWaveform(sound: { sampleRate: number; samples: Float32Array }): void
}

/** `timestamps`: seconds at which each token begins; empty where the model does not tell. `lang`: `en`, `<|en|>`, or empty. */
export interface Recognized {
  text: string
  lang?: string
  tokens: readonly string[]
  timestamps: readonly number[]
}
