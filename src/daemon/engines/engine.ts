import type { z } from 'zod'
import type { Input, InstallProgress, Output } from '#daemon-protocol/operations.ts'

export type EngineName = EngineRow['name']
export type EngineRow = Output<'engine.control'>['engines'][number]
export type ModelRow = Output<'engine.models'>['models'][number]

/** `auto`: llama.cpp uses a graphics card where it finds one. */
export type Gpu = 'auto' | 'off'

/** Tokens of context that llama.cpp gives a model, unless told otherwise. */
export const DEFAULT_CONTEXT = 8_192

/** A model's answer to a call: OpenAI's JSON, or its server-sent events. */
export interface Answer {
  status: number
  /** `application/json`, `text/event-stream` */
  type: string
  body: AsyncIterable<Uint8Array>
}

export interface Call {
  /** The engine's name for the model. */
  model: string
  path: Input<'engine.call'>['path']
  /** OpenAI's JSON. */
  body: Buffer
  signal: AbortSignal
}

export type Phase = z.output<typeof InstallProgress>['phase']

/** Bytes done of those to do; a total of 0 cannot be told. */
export type Progress = (phase: Phase, completed: number, total: number) => void

/** A program on this computer that runs models. */
export interface Engine {
  readonly name: EngineName
  row(): Promise<EngineRow>
  start(progress: Progress, signal: AbortSignal): Promise<void>
  stop(): Promise<void>
  models(): Promise<ModelRow[]>
  /** Frees the memory that a model takes; null: all of them. */
  unload(model: string | null): Promise<void>
  remove(model: string): Promise<void>
  call(call: Call): Promise<Answer>
}
