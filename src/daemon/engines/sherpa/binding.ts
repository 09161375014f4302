/** The types used of `sherpa-onnx-node` 1.13.8, which isn't a dependency but installed on the computer. */
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

/**
 * `timestamps`: the start of each token in seconds; empty if the model doesn't report them. `lang`: `en`, `<|en|>`
 * or empty.
 */
export interface Recognized {
  text: string
  lang?: string
  tokens: readonly string[]
  timestamps: readonly number[]
}
