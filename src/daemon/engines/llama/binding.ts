/** The types used of `node-llama-cpp` 3.21.1, which isn't a dependency but installed on the computer. */
export interface Binding {
  getLlama(options: {
    gpu: false | 'auto'
    build: 'never'
    skipDownload: true
    maxThreads: number
    logLevel: 'error'
  }): Promise<Llama>
  LlamaChat: new (options: { contextSequence: Sequence; autoDisposeSequence: false }) => LlamaChat
}

export interface Llama {
  gpu: string | false
  loadModel(options: { modelPath: string; loadSignal?: AbortSignal }): Promise<Model>
  createGrammarForJsonSchema(schema: object): Promise<object>
  getGrammarFor(kind: 'json'): Promise<object>
}

export interface Model {
  trainContextSize: number
  tokenize(text: string): readonly number[]
  createContext(options: { sequences: number; contextSize: { max: number }; threads: number }): Promise<LlamaContext>
  createEmbeddingContext(options: { contextSize: { max: number }; threads: number }): Promise<EmbeddingContext>
  dispose(): Promise<void>
}

export interface LlamaContext {
  contextSize: number
  getSequence(): Sequence
}

export interface Sequence {
  contextSize: number
  tokenMeter: { usedOutputTokens: number }
}

export interface EmbeddingContext {
  getEmbeddingFor(text: string): Promise<{ vector: readonly number[] }>
}

export type HistoryItem =
  | { type: 'system'; text: string }
  | { type: 'user'; text: string }
  | { type: 'model'; response: (string | { type: 'functionCall'; name: string; params: unknown; result: unknown })[] }

export interface GenerateOptions {
  signal: AbortSignal
  stopOnAbortSignal: false
  maxTokens?: number
  temperature?: number
  topP?: number
  seed?: number
  customStopTriggers?: readonly string[]
  repeatPenalty?: { frequencyPenalty?: number; presencePenalty?: number }
  onResponseChunk(chunk: { type: 'segment' | undefined; text: string }): void
  grammar?: object
  functions?: Record<string, { description?: string; params?: object }>
  documentFunctionParams?: boolean
}

export interface LlamaChat {
  model: Model
  chatWrapper: {
    generateContextState(state: {
      chatHistory: readonly HistoryItem[]
      availableFunctions?: GenerateOptions['functions']
      documentFunctionParams?: boolean
    }): {
      contextText: { tokenize(tokenizer: Model['tokenize']): readonly number[] }
    }
  }
  generateResponse(
    history: readonly HistoryItem[],
    options: GenerateOptions,
  ): Promise<{
    response: string
    functionCalls?: { functionName: string; params: unknown }[]
    metadata: {
      stopReason: 'eogToken' | 'stopGenerationTrigger' | 'functionCalls' | 'maxTokens' | 'abort' | 'customStopTrigger'
    }
  }>
  dispose(): void
}
