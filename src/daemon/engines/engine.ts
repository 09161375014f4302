import type { z } from 'zod'
import type { Input, InstallProgress, Output } from '#daemon-protocol/operations.ts'

export type EngineName = EngineRow['name']
export type EngineRow = Output<'engine.control'>['engines'][number]
export type ModelRow = Output<'engine.models'>['models'][number]

/** `auto`: llama.cpp uses a graphics card if it finds one. */
export type Gpu = 'auto' | 'off'

export const DEFAULT_CONTEXT = 8_192

export interface Answer {
  status: number
  type: string
  body: AsyncIterable<Uint8Array>
}

export interface Call {
  model: string
  path: Input<'engine.call'>['path']
  body: Buffer
  signal: AbortSignal
}

export type Phase = z.output<typeof InstallProgress>['phase']

/** Bytes completed of `total`; 0 if unknown. */
export type Progress = (phase: Phase, completed: number, total: number) => void

export interface Engine {
  readonly name: EngineName
  row(): Promise<EngineRow>
  start(progress: Progress, signal: AbortSignal): Promise<void>
  stop(): Promise<void>
  models(): Promise<ModelRow[]>
  /** Frees a model's memory. Null: all models. */
  unload(model: string | null): Promise<void>
  remove(model: string): Promise<void>
  call(call: Call): Promise<Answer>
}
